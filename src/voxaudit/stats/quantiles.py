"""Quantiles of values that come in clusters: order statistics, with limits as wide as the speakers make them.

How many values lie below a quantile varies more than a coin's throws would where speakers differ. So the number of
values counts as fewer (Korn and Graubard 1998): as many independent ones as give the share its variance over speakers,
fewer still where speakers are few. Limits are the order statistics that so many independent values would give
(binomial, no shape assumed); beyond the largest value there is no limit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray


def quantile(ordered: FloatArray, share: float) -> float:
    """Return the smallest of ordered values that at least this share of them does not exceed."""
    return float(ordered[min(max(int(np.ceil(share * len(ordered) - 1e-9)), 1), len(ordered)) - 1])


def quantile_limits(
    values: FloatArray, speaker: IntArray | None, share: float, confidence: float = 0.95
) -> tuple[float, float | None, float | None]:
    """Return a quantile and its limits; None where there is none, as with fewer than five speakers or unknown ones.

    `speaker` numbers the speaker of each value. Values may be infinite: what never came is later than anything.

    >>> quantile_limits(np.arange(1.0, 201.0), np.arange(200) // 20, 0.5)
    (100.0, 1.0, 200.0)
    >>> quantile_limits(np.arange(1.0, 201.0), np.arange(200) % 20, 0.5)
    (100.0, 85.0, 117.0)
    >>> quantile_limits(np.arange(1.0, 21.0), np.arange(20), 0.95)
    (19.0, 17.0, None)
    """
    from voxaudit.numeric import bdtr, stdtrit

    ordered = np.sort(values)
    estimate = quantile(ordered, share)
    people = 0 if speaker is None else np.count_nonzero(np.bincount(speaker))
    if speaker is None or people < FEWEST_SPEAKERS:
        return estimate, None, None
    count = len(values)
    below = (values <= estimate).astype(np.float64)
    pull = np.bincount(speaker, below - below.mean()) / count
    variance = float(np.sum(pull**2)) * people / (people - 1)
    alone = share * (1.0 - share)
    size = min(alone / variance, float(count)) if variance > 0.0 else float(count)
    tail = 0.5 + confidence / 2.0
    size *= (float(stdtrit(max(count - 1, 1), tail)) / float(stdtrit(people - 1, tail))) ** 2
    number = max(int(size), 1)

    # The chance that so many of them or fewer lie below the true quantile: it grows with how many they are.
    def chance(few: int) -> float:
        return float(bdtr(few, number, share))

    low = bisect_right(range(number + 1), 1.0 - tail, key=chance)
    high = bisect_left(range(number + 1), tail, key=chance) + 1
    return (
        estimate,
        # Of a stretch that one independent value stands for, the outer end.
        None if low < 1 else quantile(ordered, (low - 1) / number + 1.0 / count),
        None if high > number else quantile(ordered, high / number),
    )
