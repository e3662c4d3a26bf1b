"""Paired changes of error rates, on counts small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voxaudit.stats.paired import paired_change, sign_flip


def counts(speakers: list[str | None]) -> pl.DataFrame:
    """Return two trials after and one before for an utterance of each speaker: 1 and 3 of 10 words wrong, then 1."""
    rows = [
        (f"u{n}", speaker, after, errors, 10)
        for n, speaker in enumerate(speakers)
        for after, errors in ((True, 1), (True, 3), (False, 1))
    ]
    names = {"utterance": pl.String, "speaker": pl.String, "after": pl.Boolean}
    return pl.DataFrame(rows, schema=names | {"errors": pl.Int64, "words": pl.Int64}, orient="row")


def test_trials_of_an_utterance_are_added_and_speakers_counted():
    found = paired_change(counts(["a", "b", "c", "d", "e"]))
    assert found.werd == pytest.approx(0.2 - 0.1)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.p == pytest.approx(2 / 2**5)  # all five worse: two of 32 arrangements of signs
    assert (found.speakers, found.utterances, found.effect) == (5, 5, 1.0)
    together = paired_change(counts(["a", "a", "b", "c", "d"]))
    assert (together.speakers, together.utterances) == (4, 5)
    assert together.low is together.high is together.p is None


def test_unknown_speakers_carry_no_interval():
    found = paired_change(counts(["a", "b", "c", "d", "e", None]))
    assert found.werd == pytest.approx(0.1)
    assert found.speakers == 6
    assert found.low is found.high is found.p is None


def test_nothing_to_pair_is_nothing():
    table = counts(["a", "b"])
    assert paired_change(table.filter("after")) is None
    assert paired_change(table.with_columns(words=pl.lit(0))) is None


def test_sign_flips_hold_their_level():
    generator = np.random.default_rng(0)
    small = [sign_flip(generator.standard_normal(8)) for _ in range(400)]
    assert np.mean(np.array(small) <= 0.05) < 0.08
    many = sign_flip(np.full(20, 0.1))
    assert many == pytest.approx(1 / 10_001, abs=3e-4)
