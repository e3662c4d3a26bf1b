import numpy as np
import polars as pl
import pytest

from voxaudit.stats.concentration import concentration, one_makes_much


def test_shares_are_those_of_a_plain_count():
    generator = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "scenario": ["a"] * 250 + ["b"] * 30,
            "utterance": [f"u{n:03}" for n in range(280)],
            "speaker": [f"s{n % 7}" for n in range(280)],
            "errors": generator.poisson(2.0, 280),
        }
    )
    found = concentration(rows.sample(fraction=1.0, shuffle=True, seed=2), ["scenario"])
    for row in found.iter_rows(named=True):
        own = rows.filter(scenario=row["scenario"]).sort(-pl.col("errors"), "utterance")
        total = own["errors"].sum()
        assert row["worst_utterance"] == own["utterance"][0]
        assert row["worst_utterance_share"] == pytest.approx(own["errors"][0] / total)
        top = 3 if row["scenario"] == "a" else 1  # a hundredth of 250 and of 30, rounded up
        assert row["worst_percent_share"] == pytest.approx(own["errors"][:top].sum() / total)
        people = own.group_by("speaker").agg(pl.col("errors").sum()).sort(-pl.col("errors"), "speaker")
        assert (row["worst_speaker"], row["worst_speaker_share"]) == (
            people["speaker"][0],
            pytest.approx(people["errors"][0] / total),
        )


def test_nothing_is_named_where_nothing_is_known():
    rows = pl.DataFrame({"of": ["x", "y"], "errors": [0, 3]})
    silent, some = concentration(rows, ["of"]).rows(named=True)
    assert set(silent.values()) == {"x", None}
    assert some["worst_utterance_share"] == 1.0
    assert some["worst_utterance"] is some["worst_speaker"] is some["worst_speaker_share"] is None


@pytest.mark.parametrize(
    ("errors", "share", "said"), [(100, 0.21, True), (100, 0.2, False), (12, 0.25, False), (0, None, False)]
)
def test_an_utterance_is_named_that_makes_more_than_a_fifth(errors, share, said):
    assert one_makes_much(errors, share) is said
