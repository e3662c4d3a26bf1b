"""t-tests from summaries equal SciPy's on the values themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voxaudit.stats.ttests import one_sample, relative_interval, welch


def summary(values):
    return len(values), np.mean(values), np.var(values, ddof=1)


@pytest.mark.parametrize("seed", range(3))
def test_welch_equals_scipy(seed):
    generator = np.random.default_rng(seed)
    a, b = generator.gamma(2, 0.1, 7 + seed), generator.gamma(3, 0.1, 20)
    ours, theirs = welch(*summary(a), *summary(b), confidence=0.9), stats.ttest_ind(a, b, equal_var=False)
    assert ours.t == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.df == pytest.approx(theirs.df, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    interval = theirs.confidence_interval(0.9)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_one_sample_equals_scipy():
    values = np.array([0.1, 0.25, 0.4, 0.2, 0.15])
    ours, theirs = one_sample(*summary(values), 0.3), stats.ttest_1samp(values, 0.3)
    assert ours.t == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(theirs.pvalue)
    interval = theirs.confidence_interval(0.95)
    assert (0.3 + ours.low, 0.3 + ours.high) == pytest.approx((interval.low, interval.high))


def test_what_cannot_be_tested_is_nan():
    n, mean, variance = np.array([1, 5, 5, 0]), np.full(4, 0.5), np.array([np.nan, 0.0, 0.04, np.nan])
    test = welch(n, mean, variance, np.full(4, 6), np.full(4, 0.3), np.array([0.01, 0.0, 0.01, 0.01]))
    assert np.isnan(test.p).tolist() == [True, True, False, True]
    assert np.isnan(one_sample(n, mean, variance, 0.3).p).tolist() == [True, True, False, True]


def test_a_group_without_spread_is_tested_with_the_rests():
    # Everybody in the group has 100 % errors: the variance is the rest's, with the rest's degrees of freedom.
    test = welch(5, 1.0, 0.0, 9, 0.4, 0.09)
    assert test.df == pytest.approx(8)
    assert test.t == pytest.approx(0.6 / np.sqrt(0.09 / 9))


rates = st.lists(st.floats(0.01, 1.5), min_size=3, max_size=12).filter(lambda values: np.var(values) > 1e-6)


@given(rates, rates)
def test_the_relative_interval_agrees_with_the_test(a, b):
    args = (*summary(a), *summary(b))
    low, high = relative_interval(*args)
    overall = np.mean([*a, *b])
    assert low <= 100 * (np.mean(a) - overall) / overall + 1e-6
    assert high >= 100 * (np.mean(a) - overall) / overall - 1e-6
    p = float(welch(*args).p)
    if abs(p - 0.05) > 1e-6:
        assert (low > 1e-9 or high < -1e-9) == (p < 0.05)
    assert low >= -100
    assert high <= 100 * len(b) / len(a) + 1e-9


def test_the_relative_interval_covers():
    # 12 of 40 speakers, means 0.3 and 0.2: Err_rel is 100 (0.3 - 0.23) / 0.23.
    generator = np.random.default_rng(5)
    truth = 100 * (0.3 - 0.23) / 0.23
    a, b = generator.gamma(9, 0.3 / 9, (4000, 12)), generator.gamma(9, 0.2 / 9, (4000, 28))
    low, high = relative_interval(
        np.full(4000, 12), a.mean(1), a.var(1, ddof=1), np.full(4000, 28), b.mean(1), b.var(1, ddof=1)
    )
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.012)
