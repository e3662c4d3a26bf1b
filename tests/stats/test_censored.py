"""Censored means, and the comparison of groups by them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, ttest_1samp, ttest_ind

from voxaudit.stats.censored import censored_mean, compare_groups, mean_interval


def test_without_censoring_it_is_the_mean_and_its_variance():
    values = np.array([0.2, 0.4, 0.9, 0.5])
    mean, variance = censored_mean(values, 0.0, 1.0)
    assert mean == pytest.approx([0.5])
    assert variance == pytest.approx([values.var(ddof=1) / 4])
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 0.0, 0.0]])
    assert censored_mean(values, 0.0, 1.0, weights)[0] == pytest.approx([0.5, 0.3])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("middle", [0.85, 0.1, 0.5])
def test_the_censored_mean_is_the_maximum_of_the_likelihood(seed, middle):
    values = np.random.default_rng(seed).normal(middle, 0.4, 30)
    seen = np.clip(values, 0.0, 1.0)
    inside = (seen > 0) & (seen < 1)

    def loss(x):
        mean, deviation = x[0], np.exp(x[1])
        total = norm.logpdf(seen[inside], mean, deviation).sum()
        total += (seen >= 1).sum() * norm.logsf(1.0, mean, deviation)
        return -(total + (seen <= 0).sum() * norm.logcdf(0.0, mean, deviation))

    best = minimize(loss, [0.5, np.log(0.3)], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    mean, variance = censored_mean(values, 0.0, 1.0)
    assert mean[0] == pytest.approx(best.x[0], abs=1e-5)

    # The variance is that of the curvature of the likelihood at its maximum, for n - 1.
    def at(one, other):
        return loss([best.x[0] + one, best.x[1] + other])

    e = 1e-3
    bends = [
        [
            (at(e, 0) - 2 * at(0, 0) + at(-e, 0)) / e**2,
            (at(e, e) - at(e, -e) - at(-e, e) + at(-e, -e)) / 4 / e**2,
        ],
        [0.0, (at(0, e) - 2 * at(0, 0) + at(0, -e)) / e**2],
    ]
    bends[1][0] = bends[0][1]
    assert variance[0] == pytest.approx(np.linalg.inv(np.array(bends))[0, 0] * 30 / 29, rel=2e-3)


def test_values_may_have_ends_of_their_own():
    values = np.array([0.3, 0.6, 0.9, 1.0, 0.2, 0.4, 0.5, 0.7])
    moved, off = values.copy(), np.where(np.arange(8) < 4, 0.25, 0.0)
    moved -= off
    rows = np.array([[1.0] * 4 + [0.0] * 4, [0.0] * 4 + [1.0] * 4])
    mean, variance = censored_mean(values, 0.0, 1.0, rows)
    shifted, same = censored_mean(moved, 0.0 - off, 1.0 - off, rows)
    assert shifted == pytest.approx(mean - [0.25, 0.0], abs=1e-6)
    assert same == pytest.approx(variance, rel=1e-5)


def test_a_sample_beyond_the_ends_has_no_number():
    values, rows = np.array([1.2, 1.0, 0.5, -0.1]), np.array([[1.0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1]])
    mean, variance = censored_mean(values, 0.0, 1.0, rows)
    assert mean[:2].tolist() == [np.inf, -np.inf]
    assert np.isnan(mean[2])
    assert np.isnan(variance).all()
    alike = censored_mean(np.full(6, 0.4), 0.0, 1.0)
    assert alike[0] == pytest.approx([0.4])
    assert 0.0 < alike[1][0] < 1e-6


def test_the_interval_of_one_mean_is_students():
    values = np.random.default_rng(1).normal(0.5, 0.1, 12)
    mean, low, high = mean_interval(values, 0.0, 1.0)
    expected = ttest_1samp(values, 0.0).confidence_interval()
    assert (mean, low, high) == pytest.approx((values.mean(), *expected))


def _pair(values, sizes, **options):
    asked = {"low": 0.0, "high": 1.0} | options
    return compare_groups(np.atleast_2d(values), np.repeat([0, 1], sizes), [(0, 0, 1)], **asked)[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_excludes_no_difference_exactly_where_p_is_at_most_a_twentieth(seed):
    generator = np.random.default_rng(seed)
    values = np.concatenate([generator.normal(0.7, 0.2, 9), generator.normal(0.55, 0.12, 14)])
    found = _pair(values, (9, 14), seed=seed, permutations=1999)
    assert found.low < found.gap < found.high
    assert (found.p <= 0.05) == (not found.low <= 0.0 <= found.high)
    # With a limit taken away, what is left lies just at the edge.
    for limit, side in ((found.low, -1), (found.high, 1)):
        for off, kept in ((limit - side * 0.002, True), (limit + side * 0.002, False)):
            shifted = values - np.where(np.arange(23) < 9, off, 0.0)
            ends = {"low": -9.0, "high": 9.0} if ((values > 0) & (values < 1)).all() else None
            if ends is not None:
                again = _pair(shifted, (9, 14), seed=seed, permutations=1999, **ends)
                assert (again.p > 0.05) == kept


def test_p_is_at_least_welchs_and_near_it():
    generator = np.random.default_rng(3)
    first, second = generator.normal(0.5, 0.05, 12), generator.normal(0.56, 0.05, 14)
    found = _pair(np.concatenate([first, second]), (12, 14))
    theirs = ttest_ind(first, second, equal_var=False).pvalue
    assert found.gap == pytest.approx(first.mean() - second.mean())
    assert theirs - 1e-9 <= found.p <= 1.5 * theirs + 0.002


def test_several_questions_are_one_family():
    generator = np.random.default_rng(5)
    values = generator.normal(0.5, 0.1, (3, 30))
    values[0, :15] -= 0.2
    values[2, 3] = np.nan  # one recognizer did not answer for a speaker
    group = np.repeat([0, 1], 15)
    found = compare_groups(values, group, [(row, 0, 1) for row in range(3)], 0.0, 1.0, limits=False)
    alone = [compare_groups(values, group, [(row, 0, 1)], 0.0, 1.0, limits=False)[0] for row in range(3)]
    assert [one.p for one in found] == [one.p for one in alone]
    assert [one.p for one in alone] == [one.p_adjusted for one in alone]
    assert all(one.p_adjusted >= one.p for one in found)
    assert found[0].p_adjusted < 0.01
    # The least of the three p-values has the other two beside it, the largest nothing.
    assert any(one.p_adjusted > 1.2 * one.p for one in found)
    assert max(found, key=lambda one: one.p).p_adjusted == pytest.approx(max(one.p for one in found), rel=0.2)


def _rate(sizes, spreads, audits, gap=0.0):
    generator = np.random.default_rng([*sizes, round(100 * gap)])
    shown = 0
    for number in range(audits):
        values = np.concatenate(
            [generator.normal(m, s, n) for m, s, n in zip((0.6 + gap, 0.6), spreads, sizes, strict=True)]
        )
        shown += _pair(values, sizes, permutations=499, seed=number, limits=False).p <= 0.05
    return shown / audits


@pytest.mark.parametrize(
    ("sizes", "spreads"), [((20, 8), (0.04, 0.16)), ((24, 6), (0.04, 0.16)), ((24, 6), (0.16, 0.04))]
)
def test_groups_that_only_differ_in_spread_are_not_called_different(sizes, spreads):
    # Not studentized it was 16, 32 and 0 %.
    assert _rate(sizes, spreads, 300) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_a_difference_of_one_standard_deviation_is_seen():
    # Student's t has a power of 78 %.
    assert _rate((16, 16), (0.1, 0.1), 200, gap=0.1) > 0.68
