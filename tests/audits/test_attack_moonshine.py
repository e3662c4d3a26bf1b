"""The black-box attack on a default recogniser: at least as strong as the best of as many random noises."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from voxaudit.audits.attack.audit import attack
from voxaudit.audits.attack.campaign import Plan
from voxaudit.audits.attack.models import open_victim
from voxaudit.corpus import read_corpus

pytestmark = pytest.mark.slow


def test_eighty_queries_do_no_worse_than_the_best_of_eighty_noises(shared_data, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs voxaudit[moonshine]")
    corpus = read_corpus(shared_data / "ravdess" / "manifest.csv")
    first = pl.int_range(pl.len()).over("speaker") == 0
    some = replace(corpus, table=corpus.table.filter(first).sort("speaker")[10:16])
    plan = Plan("blackbox", (10.0,), queries=80)
    found = attack(some, [open_victim("moonshine")], plan, out=tmp_path, workers=2, cache=False)
    (row,) = found.rows
    print(row)
    assert row.snr_measured_min >= 10.0
    assert row.queries == 480
    assert row.interval_by == "speaker"
    assert row.werd_over_noise_low <= row.werd_over_noise <= row.werd_over_noise_high
    assert row.wer_attacked >= row.wer_noise
