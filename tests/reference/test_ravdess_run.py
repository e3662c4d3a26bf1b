"""A real run: people's recordings, the two default recognizers, three scenarios."""

from __future__ import annotations

import polars as pl
import pytest

import voxaudit
from voxaudit.corpus import read_corpus

pytestmark = pytest.mark.slow

SCENARIOS = ["gaussian_noise:3", "gain:2"]


@pytest.fixture(scope="module")
def heard(tmp_path_factory, request):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("pocketsphinx")
    shared = request.getfixturevalue("shared_data")
    corpus = read_corpus(shared / "ravdess" / "manifest.csv")
    first = corpus.table.with_columns(nth=pl.int_range(pl.len()).over("speaker")).filter(pl.col("nth") < 2)
    home = tmp_path_factory.mktemp("ravdess")
    small = voxaudit.Corpus(
        corpus.name, corpus.format, first.drop("nth"), source="ravdess, two clips a speaker"
    )
    run = voxaudit.run_trials(
        small,
        ["moonshine", "pocketsphinx"],
        SCENARIOS,
        out=home / "one",
        workers=2,
        cache=home / "cache",
        progress=False,
    )
    voxaudit.score_run(run)
    return small, home


def test_every_trial_has_a_transcript_and_sane_error_rates(heard):
    corpus, home = heard
    run = voxaudit.open_run(home / "one")
    assert run.transcripts.height == len(corpus) * 2 * 3 == 192
    assert run.failures.is_empty()
    rates = {
        (r["recognizer"], r["scenario"]): r["wer"]
        for r in voxaudit.accuracy(run).tables["rates"].iter_rows(named=True)
    }
    print(rates)
    assert rates["moonshine", "clean"] < 0.08
    assert rates["pocketsphinx", "clean"] < 0.5
    for recognizer in ("moonshine", "pocketsphinx"):
        assert rates[recognizer, "gaussian_noise:3"] > rates[recognizer, "clean"]


@pytest.mark.parametrize("out", ["one", "two"], ids=["same folder", "from the cache"])
def test_repeated_it_starts_no_recognizer_and_says_the_same(heard, out):
    corpus, home = heard
    (home / "one" / "workers.log").unlink(missing_ok=True)
    run = voxaudit.run_trials(
        corpus, ["moonshine", "pocketsphinx"], SCENARIOS, out=home / out, cache=home / "cache", progress=False
    )
    assert not (home / out / "workers.log").exists()
    assert run.transcripts.equals(voxaudit.open_run(home / "one").transcripts)


@pytest.mark.parametrize(("workers", "order"), [(1, 1), (3, -1)])
def test_workers_and_order_change_nothing(heard, tmp_path, workers, order):
    corpus, home = heard
    some = voxaudit.Corpus(corpus.name, corpus.format, corpus.table.head(6)[::order], source="some")
    run = voxaudit.run_trials(
        some,
        ["moonshine", "pocketsphinx"],
        SCENARIOS,
        out=tmp_path,
        workers=workers,
        cache=False,
        progress=False,
    )
    whole = voxaudit.open_run(home / "one").transcripts.filter(
        pl.col("utterance").is_in(some.table["id"].implode())
    )
    assert run.transcripts.drop("seconds").equals(whole.drop("seconds"))
