"""Intervals of shares."""

from __future__ import annotations

import numpy as np

from voxaudit.stats.cells import FloatArray

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def wilson(found: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the 95 % Wilson interval of `found / count`, element by element; counts are above 0."""
    center = (found + Z95**2 / 2) / (count + Z95**2)
    half = Z95 / (count + Z95**2) * np.sqrt(found * (count - found) / count + Z95**2 / 4)
    # Exactly 0 and 1 where nothing, or everything, was found: the formula leaves a rounding error there.
    low = np.where(found == 0, 0.0, np.maximum(center - half, 0.0))
    return low, np.where(found == count, 1.0, np.minimum(center + half, 1.0))


def upper_shares(share: FloatArray, count: FloatArray, level: float = 0.95) -> FloatArray:
    """Return upper limits of shares of `count` each (Clopper and Pearson) that hold for all together (Bonferroni).

    >>> upper_shares(np.array([0.0]), np.array([10.0])).round(3).tolist()
    [0.259]
    """
    from voxaudit.numeric import betaincinv

    lost = share * count
    with np.errstate(invalid="ignore"):
        limits = betaincinv(lost + 1.0, count - lost, 1.0 - (1.0 - level) / max(len(share), 1))
    return np.where(lost >= count, 1.0, limits)


def wilson_of(found: int, count: int) -> tuple[float, float]:
    """Return the limits of the 95 % Wilson interval of one share."""
    low, high = wilson(np.array(float(found)), np.array(float(count)))
    return float(low), float(high)
