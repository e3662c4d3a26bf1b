"""Paired changes of error rates, on counts small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voxaudit.stats.paired import paired_change


def counts(speakers: list[str | None]) -> pl.DataFrame:
    """Return two trials after and one before for an utterance of each speaker: 2 and 2 of 10 words wrong, then 1."""
    rows = [
        (f"u{n}", speaker, after, errors, 10)
        for n, speaker in enumerate(speakers)
        for after, errors in ((True, 2), (True, 2), (False, 1))
    ]
    names = {"utterance": pl.String, "speaker": pl.String, "after": pl.Boolean}
    return pl.DataFrame(rows, schema=names | {"errors": pl.Int64, "words": pl.Int64}, orient="row")


def test_trials_of_an_utterance_are_added_and_speakers_counted():
    found = paired_change(counts(["a", "b", "c", "d", "e"]))
    assert found.werd == pytest.approx(0.2 - 0.1)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.p == pytest.approx(2 / 2**5, abs=0.01)  # nobody is in one half of 32, on either side
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


def drawn(generator, speakers, cases, burst):
    """Return ten recordings a speaker, as they are and as `cases`; some hearings have 80 words that nobody said."""
    size = (speakers, 10, cases + 1)
    errors = generator.poisson(1.0, size) + 80 * (generator.random(size) < burst)
    index = np.indices(size).reshape(3, -1)
    return pl.DataFrame(
        {
            "utterance": [f"{s}-{u}" for s, u in zip(*index[:2], strict=True)],
            "speaker": index[0].astype(str),
            "after": index[2] > 0,
            "errors": errors.ravel(),
            "words": np.full(errors.size, 10),
        }
    )


def test_p_and_limits_agree():
    generator = np.random.default_rng(2)
    for _ in range(30):
        found = paired_change(drawn(generator, 8, 1, 0.0), seed=1)
        assert (found.p <= 0.05) == (not found.low <= 0.0 <= found.high)


def test_what_one_of_many_hearings_has_is_no_cost():
    # Seven of twenty speakers have one loud hearing each, and none of their own clean ones is.
    table = drawn(np.random.default_rng(0), 20, 3, 0.0)
    case = pl.int_range(pl.len()).over("utterance")
    loud = pl.col("utterance").is_in([f"{n}-0" for n in range(7)])
    loud &= case == 1 + pl.col("speaker").cast(pl.Int64) % 3
    table = table.with_columns(errors=pl.when(loud).then(80).otherwise("errors"))
    # Were all three heard at once as one recording, seven hurt and none helped would be a cost.
    together = table.group_by("utterance", "speaker", "after").agg(pl.col("errors", "words").sum())
    assert paired_change(together).low > 0.0
    # But any of the three might have been the original, and it was spared with a chance of one in seven.
    several = paired_change(table)
    assert several.p > 0.05
    assert several.low < 0.0 < several.werd


def test_the_side_with_more_hearings_may_be_either():
    table = drawn(np.random.default_rng(3), 10, 3, 0.02)
    there, back = paired_change(table), paired_change(table.with_columns(~pl.col("after")))
    assert (back.werd, back.low, back.high) == pytest.approx((-there.werd, -there.high, -there.low))
    assert back.p == there.p
