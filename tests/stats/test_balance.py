"""Balance of a measure between groups, against scipy's test and by hand."""

import polars as pl
import pytest
from scipy.stats import kruskal

from voxaudit.stats.balance import balance_test

PEOPLE = pl.DataFrame(
    {"@accent": ["a"] * 4 + ["b"] * 4 + ["c"], "#snr": [10.0, 12.0, 14.0, 16.0, 20.0, 22.0, 24.0, 26.0, 99.0]}
)


def test_groups_of_one_speaker_take_no_part():
    row = balance_test(PEOPLE, "snr", "accent")
    known = kruskal([10.0, 12.0, 14.0, 16.0], [20.0, 22.0, 24.0, 26.0])
    assert (row["groups"], row["speakers"], row["fewest_speakers"]) == (2, 9, 4)
    assert (row["lowest"], row["lowest_mean"], row["highest"], row["highest_mean"]) == ("a", 13.0, "b", 23.0)
    assert (row["statistic"], row["p"]) == pytest.approx((known.statistic, known.pvalue))
    # Both groups have the variance 20 / 3.
    assert row["largest_difference"] == pytest.approx(10.0 / (20.0 / 3.0) ** 0.5)


def test_nobody_differs():
    row = balance_test(PEOPLE.with_columns(pl.lit(5.0).alias("#snr")), "snr", "accent")
    assert (row["identical"], row["p"], row["largest_difference"]) == (True, 1.0, 0.0)
