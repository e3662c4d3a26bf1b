"""A difference between two groups of speakers within strata, put together over the strata.

Least squares with an effect for every stratum: strata count by n m / (n + m), what n speakers of the group and m others
can tell about a difference. The variance is the HC2 sandwich with speakers as the sample (with one stratum it is
Welch's) and the degrees of freedom are Bell and McCaffrey's, made for few speakers and uneven strata. Everything comes
from the strata's summaries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FULL_LEVERAGE = 1e-9


@dataclass(frozen=True)
class Differences:
    """One entry a comparison; `variance` and `df` are nan where a single speaker decides."""

    estimate: FloatArray
    variance: FloatArray
    df: FloatArray
    speakers: FloatArray
    """How many speakers of the group one simple comparison would need to tell as much, and of the others."""
    others: FloatArray


def stratified_differences(
    comparison: IntArray,
    n: FloatArray,
    mean: FloatArray,
    m2: FloatArray,
    other_n: FloatArray,
    other_mean: FloatArray,
    other_m2: FloatArray,
) -> Differences:
    """Put strata together; `comparison` says which comparison (0, 1, ...) each stratum belongs to.

    A stratum has `n` speakers of the group with mean `mean` and sum of squares about it `m2`, and others likewise; both
    sides have at least one speaker.
    """
    size = int(comparison.max()) + 1

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(comparison, values, size), dtype=np.float64)

    people = n + other_n
    weight = n * other_n / people
    whole = total(weight)
    gap = mean - other_mean
    estimate = total(weight * gap) / whole
    z, other_z = other_n / people, -n / people  # the group's indicator less its mean in the stratum
    off = gap - estimate[comparison]
    free, other_free = (1.0 - 1.0 / people - side**2 / whole[comparison] for side in (z, other_z))
    decided = total(((free < _FULL_LEVERAGE) | (other_free < _FULL_LEVERAGE)).astype(np.float64)) > 0
    free, other_free = np.maximum(free, _FULL_LEVERAGE), np.maximum(other_free, _FULL_LEVERAGE)
    squares = z**2 * (m2 + n * (z * off) ** 2) / free
    other_squares = other_z**2 * (other_m2 + other_n * (other_z * off) ** 2) / other_free
    variance = total(squares + other_squares) / whole**2
    # Bell and McCaffrey: 2 (expected variance)^2 / (its variance), if speakers varied alike everywhere.
    q, other_q = z**2 / free, other_z**2 / other_free
    own = n * q**2 * (2.0 * free - 1.0) + other_n * other_q**2 * (2.0 * other_free - 1.0)
    same_stratum = (n * q + other_n * other_q) ** 2 / people**2
    crossed = 2.0 * (n * q * z + other_n * other_q * other_z) ** 2 / people / whole[comparison]
    everywhere = (total(n * q * z**2 + other_n * other_q * other_z**2) / whole) ** 2
    df = whole**2 / (total(own + same_stratum + crossed) + everywhere)
    return Differences(
        estimate=estimate,
        variance=np.where(decided, np.nan, variance),
        df=np.where(decided, np.nan, df),
        speakers=whole**2 / total(weight**2 / n),
        others=whole**2 / total(weight**2 / other_n),
    )
