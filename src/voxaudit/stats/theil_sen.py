"""What goes with what over a few units, such as recognizers: Theil and Sen's slope, Kendall's tau, the Pareto front."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import FloatArray

_DECADE = 10.0
"""Numbers that span at least this ratio (parameters, hours) are compared by their logarithm."""


@dataclass(frozen=True)
class Slope:
    """The median of the slopes through all pairs, which a few odd units do not move, with its 95 % interval.

    `tau` is Kendall's, `p` its p-value; both are nan where they are not defined.
    """

    slope: float
    low: float
    high: float
    tau: float
    p: float
    by_decade: bool
    """True where the slope is per factor of ten of x."""
    intercept: float = 0.0
    """The median of y less the slope times the median of x (of its logarithm)."""


def theil_sen(x: FloatArray, y: FloatArray) -> Slope:
    """Relate `y` to `x`, by its logarithm where it is positive and spans a factor of ten.

    >>> theil_sen(np.array([1.0, 10.0, 100.0, 1000.0]), np.array([1.0, 2.0, 3.0, 9.0])).by_decade
    True
    """
    from scipy.stats import kendalltau, theilslopes

    by_decade = bool(x.min() > 0 and x.max() / x.min() >= _DECADE)
    line, rank = theilslopes(y, np.log10(x) if by_decade else x), kendalltau(x, y)
    slope, low, high = map(float, (line.slope, line.low_slope, line.high_slope))
    tau, p = float(rank.statistic), float(rank.pvalue)
    return Slope(slope, low, high, tau, p, by_decade, float(line.intercept))


def pareto_front(x: FloatArray, y: FloatArray) -> NDArray[np.bool_]:
    """Mark the units that no other beats in one without losing in the other; less is better in both.

    >>> pareto_front(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 4.0])).tolist()
    [True, False, True]
    """
    no_worse = (x <= x[:, None]) & (y <= y[:, None])
    beaten = no_worse & ((x < x[:, None]) | (y < y[:, None]))
    return np.asarray(~beaten.any(axis=1))
