"""t-tests from summaries equal SciPy's on the values themselves."""

import numpy as np
import pytest
from scipy import stats

from voxaudit.stats.ttests import one_sample, welch


def summary(values):
    return len(values), np.mean(values), np.var(values, ddof=1)


@pytest.mark.parametrize("seed", range(3))
def test_welch_equals_scipy_where_his_degrees_of_freedom_are_fewer(seed):
    # As many on both sides: Welch's degrees of freedom are at most those for equal variances.
    generator = np.random.default_rng(seed)
    a, b = generator.gamma(2, 0.1, 7 + seed), generator.gamma(3, 0.1, 7 + seed)
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
    test = welch(9, 1.0, 0.0, 5, 0.4, 0.09)
    assert test.df == pytest.approx(4)
    assert test.t == pytest.approx(0.6 / np.sqrt(0.09 / 5))


def test_two_speakers_who_are_alike_are_still_two_speakers():
    # Welch would take 39 degrees of freedom, the rest's: by hand (1/2 + 1/40)^2 / (1/2^2/1 + 1/40^2/39).
    test = welch(2, 0.05, 1e-6, 40, 0.15, 0.0064)
    assert test.df == pytest.approx(0.525**2 / (0.25 + 1 / 40**2 / 39))
    assert test.t == pytest.approx(-0.1 / np.sqrt(1e-6 / 2 + 0.0064 / 40))
    assert test.p == pytest.approx(2 * stats.t.cdf(float(test.t), float(test.df)))
    assert test.p > 0.05


@pytest.mark.parametrize(("few", "alarms"), [(2, 0.05), (3, 0.055), (5, 0.07), (8, 0.07)])
def test_small_groups_of_skewed_rates_do_not_alarm_much_too_often(few, alarms):
    # Plain Welch: 15, 10, 8 and 7 % (and 8, 4, 2 and 1.4 % where 0.5 % are meant).
    generator = np.random.default_rng(few)
    a, b = (0.15 * np.exp(0.5 * generator.standard_normal((20_000, n))) for n in (few, 40))
    test = welch(few, a.mean(axis=1), a.var(axis=1, ddof=1), 40, b.mean(axis=1), b.var(axis=1, ddof=1))
    assert np.mean(test.p < 0.05) < alarms
    assert np.mean(test.p < 0.005) < 0.01
