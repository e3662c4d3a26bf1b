"""t-tests from summaries: numbers of speakers, their mean and variance in, many tests at once out.

A test that the data cannot carry (fewer than two speakers on a side, or nobody differs from anybody) is nan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

NO_SPREAD = 1e-18
"""A variance of word error rates below this is rounding: the speakers are all alike."""


@dataclass(frozen=True)
class TTest:
    """Two-sided tests with their intervals; all fields are arrays of one shape."""

    estimate: FloatArray
    """The mean less what it is compared with."""
    low: FloatArray
    high: FloatArray
    t: FloatArray
    df: FloatArray
    p: FloatArray


def one_sample(
    n: ArrayLike, mean: ArrayLike, variance: ArrayLike, against: ArrayLike, *, confidence: float = 0.95
) -> TTest:
    """Student's test that the mean of n values equals `against`."""
    n, mean, variance = _floats(n), _floats(mean), _floats(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.where(n >= 2, variance / n, np.nan))
    return _test(mean - _floats(against), error, n - 1.0, confidence)


def welch(
    n: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    other_n: ArrayLike,
    other_mean: ArrayLike,
    other_variance: ArrayLike,
    *,
    confidence: float | FloatArray = 0.95,
) -> TTest:
    """Welch's test that two means are equal: the groups may differ in size and in spread.

    The degrees of freedom are Welch's, or those for equal variances (Bell and McCaffrey's of this comparison) where
    they are fewer. Welch's own are estimated: where two or three speakers happen to be alike, their group seems to
    add no uncertainty and the test to rest on the many others, which makes 15 and 10 % false alarms of 5.
    """
    n, other_n = _floats(n), _floats(other_n)
    enough = (n >= 2) & (other_n >= 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(enough, _floats(variance) / n, np.nan)
        second = np.where(enough, _floats(other_variance) / other_n, np.nan)
        df = np.minimum(
            _satterthwaite(first, n, second, other_n), _satterthwaite(1.0 / n, n, 1.0 / other_n, other_n)
        )
    return t_test(_floats(mean) - _floats(other_mean), first + second, df, confidence=confidence)


def steadied(n: ArrayLike, variance: ArrayLike, other_n: ArrayLike, other_variance: ArrayLike) -> FloatArray:
    """Return the variance to use for one of several groups that is compared with all others.

    Error rates are skewed: a group that happens to have low rates happens to have a small spread too, and Welch's test
    is then too sure. Of many groups some are like that: with 6, 10 and 20 groups of 13, 10 and 8 speakers, all alike,
    one was claimed to be better in 7, 9 and 12 % of audits after Holm's correction. So a variance below that of both
    sides pooled is taken a third of the way towards it, which leaves 2 % and less. A group with more errors than the
    others has the larger spread, so that little of the power to show it is lost.
    """
    n, other_n = _floats(n), _floats(other_n)
    own, others = _floats(variance), _floats(other_variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = ((n - 1.0) * own + (other_n - 1.0) * others) / (n + other_n - 2.0)
        return np.asarray((2.0 * own + np.maximum(own, pooled)) / 3.0)


def _satterthwaite(first: FloatArray, n: FloatArray, second: FloatArray, other_n: FloatArray) -> FloatArray:
    """Return the degrees of freedom of a sum of two estimated variances of means."""
    return np.asarray((first + second) ** 2 / (first**2 / (n - 1.0) + second**2 / (other_n - 1.0)))


def t_test(
    estimate: ArrayLike, variance: ArrayLike, df: ArrayLike, *, confidence: float | FloatArray = 0.95
) -> TTest:
    """Test that an estimate is 0 whose variance was itself estimated with `df` degrees of freedom."""
    return _test(_floats(estimate), np.sqrt(_floats(variance)), _floats(df), confidence)


def relative_interval(
    n: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    rest_n: ArrayLike,
    rest_mean: ArrayLike,
    rest_variance: ArrayLike,
    *,
    confidence: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of `100 (m - M) / M` in percent, M being the mean of group and rest together (Eq. 4).

    Err_rel grows with the ratio of the two means, so Fieller's interval of the ratio carries over. M is estimated
    from the same speakers, and its error counts. The interval excludes 0 exactly where Welch's test rejects. Where
    the rest's mean cannot be told from 0, the upper limit is the largest value there can be, `100 rest_n / n`.
    """
    n, rest_n = _floats(n), _floats(rest_n)
    m, r = _floats(mean), _floats(rest_mean)
    test = welch(n, m, variance, rest_n, r, rest_variance, confidence=confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = _quantile(test.df, confidence) ** 2
        a = r**2 - square * _floats(rest_variance) / rest_n
        c = m**2 - square * _floats(variance) / n
        root = np.sqrt(np.maximum((m * r) ** 2 - a * c, 0.0))
        share = n / (n + rest_n)

        def relative(ratio: FloatArray) -> FloatArray:
            return 100.0 * (ratio / (share * ratio + 1.0 - share) - 1.0)

        low = relative(np.maximum(c, 0.0) / np.maximum(m * r + root, 1e-300))
        high = np.where(a > 0.0, relative((m * r + root) / a), 100.0 * rest_n / n)
    known = np.isfinite(test.df)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _test(estimate: FloatArray, error: FloatArray, df: FloatArray, confidence: float | FloatArray) -> TTest:
    from scipy.special import stdtr

    possible = np.isfinite(error) & (error**2 > NO_SPREAD) & (df > 0)
    error, df = np.where(possible, error, np.nan), np.where(possible, df, np.nan)
    t = estimate / error
    reach = _quantile(df, confidence) * error
    return TTest(estimate, estimate - reach, estimate + reach, t, df, 2.0 * stdtr(df, -np.abs(t)))


def _quantile(df: FloatArray, confidence: float | FloatArray) -> FloatArray:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, 0.5 + np.asarray(confidence) / 2.0), dtype=np.float64)


def _floats(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
