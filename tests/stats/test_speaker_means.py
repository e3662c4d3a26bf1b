"""Groups and their rests, from summaries alone."""

import numpy as np
import polars as pl
import pytest

from voxaudit.stats.speaker_means import combine, pooled_sigma, rest_of, summarize_groups, variance


@pytest.fixture
def speakers():
    generator = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "recognizer": ["a"] * 30 + ["b"] * 30,
            "group": [f"g{number}" for number in generator.integers(0, 4, 60)],
            "wer": generator.gamma(2, 0.1, 60),
        }
    )


def test_the_rest_is_everybody_else(speakers):
    groups = summarize_groups(speakers, ["recognizer", "group"])
    rest = rest_of(groups, ["recognizer"])
    for place, (recognizer, group) in enumerate(groups.select("recognizer", "group").iter_rows()):
        others = speakers.filter(pl.col("recognizer") == recognizer, pl.col("group") != group)[
            "wer"
        ].to_numpy()
        assert rest.n[place] == len(others)
        assert rest.mean[place] == pytest.approx(others.mean())
        assert rest.m2[place] == pytest.approx(others.var() * len(others))
        assert variance(rest.n, rest.m2)[place] == pytest.approx(others.var(ddof=1))


def test_parts_combine_exactly(speakers):
    whole = combine(summarize_groups(speakers, ["recognizer", "group"]), ["recognizer"])
    direct = summarize_groups(speakers, ["recognizer"])
    np.testing.assert_allclose(whole.drop("recognizer").to_numpy(), direct.drop("recognizer").to_numpy())


def test_sigma_is_the_spread_within_groups():
    # Groups (0, 2) and (10, 10, 13): squares about the means 2 and 6, with 1 + 2 degrees of freedom.
    groups = summarize_groups(
        pl.DataFrame({"g": ["x", "x", "y", "y", "y"], "wer": [0.0, 2.0, 10.0, 10.0, 13.0]}), ["g"]
    )
    sigma, df = pooled_sigma(groups, []).row(0)
    assert (sigma, df) == (pytest.approx(np.sqrt(8 / 3)), 3)


def test_alike_speakers_have_no_spread():
    groups = summarize_groups(
        pl.DataFrame({"g": ["x"] * 7 + ["y"] * 5, "wer": [1.0] * 7 + [0.1 + 0.2] * 5}), ["g"]
    )
    rest = rest_of(groups, [])
    assert variance(rest.n, rest.m2).tolist() == [0.0, 0.0]
    assert pooled_sigma(summarize_groups(pl.DataFrame({"g": ["x", "y"], "wer": [0.1, 0.5]}), ["g"]), []).row(
        0
    ) == (None, 0)
