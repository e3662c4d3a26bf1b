"""The black-box attack on a default recognizer: at least as strong as the best of as many random noises."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from voxaudit.audits.attack.audit import attack
from voxaudit.corpus import read_corpus

pytestmark = pytest.mark.slow


def test_eighty_queries_do_no_worse_than_the_best_of_eighty_noises(shared_data, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs voxaudit[moonshine]")
    corpus = read_corpus(shared_data / "ravdess" / "manifest.csv")
    first = pl.int_range(pl.len()).over("speaker") == 0
    some = replace(corpus, table=corpus.table.filter(first).sort("speaker")[10:16])
    found = attack(
        some,
        ["moonshine"],
        method="blackbox",
        snr=[10],
        queries=80,
        out=tmp_path,
        workers=2,
        cache=False,
        progress=False,
    )
    (row,) = found.detail.attacks
    print(row)
    assert row.snr_measured_min >= 10.0
    assert row.queries == 480
    assert row.interval_by == "speaker"
    assert row.werd_over_noise_low <= row.werd_over_noise <= row.werd_over_noise_high
    assert row.wer_attacked >= row.wer_noise
