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
            satterthwaite(first, n - 1.0, second, other_n - 1.0),
            satterthwaite(1.0 / n, n - 1.0, 1.0 / other_n, other_n - 1.0),
        )
    return t_test(_floats(mean) - _floats(other_mean), first + second, df, confidence=confidence)


def satterthwaite(
    first: FloatArray, first_df: FloatArray, second: FloatArray, second_df: FloatArray
) -> FloatArray:
    """Return the degrees of freedom of a sum of two estimated variances with theirs.

    >>> satterthwaite(*(np.array(one) for one in (0.04, 9.0, 0.04, 9.0))).tolist()
    18.0
    """
    return np.asarray((first + second) ** 2 / (first**2 / first_df + second**2 / second_df))


def kish_freedom(total: ArrayLike, squares: ArrayLike) -> FloatArray:
    """Return the degrees of freedom of speakers who weigh unequally: Kish's number of them less one, and 1 at least.

    `total` is the sum of their weights, `squares` that of the squares: as many speakers of equal weight are worth as
    much.

    >>> kish_freedom(30.0, 300.0).tolist(), kish_freedom(0.0, 0.0).tolist()
    (2.0, 1.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.nan_to_num(_floats(total) ** 2 / _floats(squares)) - 1.0, 1.0)


def t_test(
    estimate: ArrayLike, variance: ArrayLike, df: ArrayLike, *, confidence: float | FloatArray = 0.95
) -> TTest:
    """Test that an estimate is 0 whose variance was itself estimated with `df` degrees of freedom."""
    return _test(_floats(estimate), np.sqrt(_floats(variance)), _floats(df), confidence)


def _test(estimate: FloatArray, error: FloatArray, df: FloatArray, confidence: float | FloatArray) -> TTest:
    from voxaudit.numeric import stdtr

    possible = np.isfinite(error) & (error**2 > NO_SPREAD) & (df > 0)
    error, df = np.where(possible, error, np.nan), np.where(possible, df, np.nan)
    t = estimate / error
    reach = _quantile(df, confidence) * error
    return TTest(estimate, estimate - reach, estimate + reach, t, df, 2.0 * stdtr(df, -np.abs(t)))


def _quantile(df: FloatArray, confidence: float | FloatArray) -> FloatArray:
    from voxaudit.numeric import stdtrit

    return np.asarray(stdtrit(df, 0.5 + np.asarray(confidence) / 2.0), dtype=np.float64)


def _floats(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
