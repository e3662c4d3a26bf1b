"""Means of values of which some are only known to lie beyond the end of a scale (Tobin 1958), and groups compared.

The difference of two means is studentized and speakers are permuted, so that groups which only differ in spread are not
called different. With few speakers on one side that is not quite enough: the p-value is at least that of Welch's test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.permutations import LEVEL, PERMUTATIONS, Shuffles, among, equal_tailed, margins, step_down
from voxaudit.stats.ttests import TTest, one_sample, welch

_NARROWEST = 1e-3  # the smallest standard deviation, as a share of the scale: of values that are all alike
_CLOSE = 1e-7
_FARTHER = 10  # tries to find a difference that is rejected, each half as far again
_BISECTIONS = 12


@dataclass(frozen=True)
class Gap:
    """How far the mean of a group is above another's: its 95 % interval, p alone and p in the family of all asked."""

    gap: float
    low: float
    high: float
    p: float
    p_adjusted: float


def censored_mean(
    values: FloatArray,
    low: FloatArray | float,
    high: FloatArray | float,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the maximum-likelihood mean of a normal variable seen through a scale from `low` to `high`; its variance.

    Values at or beyond an end (each may have ends of its own) are known to lie there and no more. Without any it is the
    plain mean with its usual variance. `weights` has a row for every sample wanted (how often each value is in it); the
    results have an entry for each. Where all values of it lie beyond one end the mean is infinite, beyond both nan.

    >>> mean, variance = censored_mean(np.array([0.2, 0.4, 0.9]), 0.0, 1.0)
    >>> mean.round(3).tolist(), variance.round(3).tolist()
    ([0.5], [0.043])
    >>> censored_mean(np.array([0.2, 0.4, 0.9, 1.0]), 0.0, 1.0)[0].round(3).tolist()
    [0.687]
    """
    from voxaudit.numeric import log_ndtr

    w = np.ones((1, len(values))) if weights is None else weights
    low, high = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    below, above = values <= low, values >= high
    inside = ~(below | above)
    unit, center = float((high - low).max()), float(np.clip(values, low, high).mean())
    x = (np.clip(values, low, high) - center) / unit
    total, mean = w.sum(axis=1), w @ x / w.sum(axis=1)
    n, sum_, squares = (w @ (inside * power) for power in (np.ones_like(x), x, x**2))
    # Those beyond one end are one term of the likelihood: how many, which end, on which side.
    beyond = [
        (w @ (side & (x == end)).astype(np.float64), float(end), sign)
        for side, sign in ((below, 1.0), (above, -1.0))
        for end in np.unique(x[side])
    ]
    # Newton's method for 1 / deviation and mean / deviation: in these the likelihood is concave (Olsen 1978).
    h = 1.0 / np.sqrt(np.maximum(w @ x**2 / total - mean**2, _NARROWEST**2))
    d = mean * h
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(50):
            by_h, by_d = n / h - h * squares + d * sum_, h * sum_ - n * d
            hh, hd, dd = n / h**2 + squares, -sum_, n
            for count, end, sign in beyond:
                at = sign * (h * end - d)
                mills = np.exp(-(at**2) / 2.0 - log_ndtr(at)) / np.sqrt(2.0 * np.pi)
                pull, bend = count * sign * mills, count * mills * (mills + at)
                by_h, by_d = by_h + pull * end, by_d - pull
                hh, hd, dd = hh + bend * end**2, hd - bend * end, dd + bend
            determinant = hh * dd - hd**2
            variance = (hh + 2.0 * hd * d / h + dd * (d / h) ** 2) / determinant / h**2
            if not beyond:
                break  # it began at the maximum
            step_h, step_d = (dd * by_h - hd * by_d) / determinant, (hh * by_d - hd * by_h) / determinant
            shorter = np.minimum(1.0, 0.5 * h / np.abs(step_h))
            new = np.minimum(h + shorter * step_h, 1.0 / _NARROWEST)
            d = (d + shorter * step_d) * new / (h + shorter * step_h)
            moved = np.nanmax(
                np.abs(new / h - 1.0) + np.abs(shorter * step_d) / (1.0 + np.abs(d)), initial=0.0
            )
            h = new
            if moved < _CLOSE:
                break
        lower, upper = w @ below.astype(np.float64), w @ above.astype(np.float64)
        nowhere = np.where(upper == total, np.inf, np.where(lower == total, -np.inf, np.nan))
        seen = n > 0.0
        variance = np.where(seen, variance * total / (total - 1.0) * unit**2, np.nan)
        return np.where(seen, center + unit * d / h, nowhere), variance


def mean_interval(values: FloatArray, low: float, high: float) -> tuple[float, float, float]:
    """Return the mean of a group of speakers with its 95 % interval (Student's t)."""
    mean, variance = censored_mean(values, low, high)
    test = one_sample(len(values), mean, variance * len(values), 0.0)
    return float(mean[0]), float(test.low[0]), float(test.high[0])


def compare_groups(
    values: FloatArray,
    group: IntArray,
    pairs: Sequence[tuple[int, int, int]],
    low: float,
    high: float,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    limits: bool = True,
) -> list[Gap]:
    """Return how far the means of groups are apart; everything asked is one family (step-down, Westfall and Young).

    `values` has a row per recognizer and a column per speaker (nan: not known), `pairs` name a row, a group and the one
    it is compared with. A shuffle moves each speaker in all rows at once. An interval holds the differences that are
    not rejected at 5 %: it excludes 0 exactly where p is not above that. Without `limits` (quicker) there is none.

    >>> values = np.array([[0.2, 0.3, 0.25, 0.35, 0.3, 0.6, 0.75, 0.7, 0.65, 0.7]])
    >>> [gap] = compare_groups(values, np.repeat([0, 1], 5), [(0, 0, 1)], 0.0, 1.0)
    >>> round(gap.gap, 2), gap.p < 0.02, gap.low < -0.4 < gap.high < 0.0
    (-0.4, True, True)
    """
    shuffles = Shuffles(len(group), permutations, seed)
    scaled, observed, found = [], [], []
    for row, one, other in pairs:
        own = np.flatnonzero(~np.isnan(values[row]) & np.isin(group, (one, other)))
        is_first = group == one
        first = np.vstack([is_first[among(block, own)] for _, block in shuffles.blocks()])
        pair = _Pair(values[row, own], first, low, high)
        statistics, test = pair.statistics(0.0)[:, None], pair.welch
        some, own_margin = margins(statistics, test.p)
        scaled.append(some)
        observed.append(own_margin)
        alone = max(float(equal_tailed(statistics)[0]), float(test.p[0]))
        ends = (pair.limit(-1.0), pair.limit(1.0)) if limits else (-np.inf, np.inf)
        found.append(Gap(float(test.estimate[0]), *ends, alone, alone))
    if len(found) < 2:
        return found
    together = step_down(np.hstack(scaled), np.concatenate(observed))
    return [replace(one, p_adjusted=max(one.p, float(p))) for one, p in zip(found, together, strict=True)]


@dataclass(frozen=True)
class _Pair:
    """Speakers of two groups: their values, and who is in the first group after every shuffle (the first: as it is)."""

    values: FloatArray
    first: NDArray[np.bool_]
    low: float
    high: float

    def statistics(self, gap: float) -> FloatArray:
        """Return studentized differences of shuffled groups, `gap` being taken away from the first group's scale."""
        off = gap * self.first[0]
        sides = [
            censored_mean(self.values - off, self.low - off, self.high - off, weights)
            for weights in (self.first.astype(np.float64), (~self.first).astype(np.float64))
        ]
        (mean, variance), (other_mean, other_variance) = sides
        with np.errstate(invalid="ignore"):  # infinity less infinity: nan
            difference = mean - other_mean
            return np.where(np.isinf(difference), difference, difference / np.sqrt(variance + other_variance))

    @cached_property
    def welch(self) -> TTest:
        """Welch's test."""
        one, other = self.values[self.first[0]], self.values[~self.first[0]]
        (mean, variance), (other_mean, other_variance) = (
            censored_mean(own, self.low, self.high) for own in (one, other)
        )
        n, other_n = len(one), len(other)
        return welch(n, mean, variance * n, other_n, other_mean, other_variance * other_n)

    def limit(self, side: float) -> float:
        """Return the difference farthest to one side that is not rejected; infinite if there is no end to them."""
        gap = float(self.welch.estimate[0])
        kept = float((self.welch.low if side < 0.0 else self.welch.high)[0])
        if self._rejected(kept):
            return kept  # Welch's test keeps no more
        for _ in range(_FARTHER):
            out = gap + 1.5 * (kept - gap)
            if self._rejected(out):
                break
            kept = out
        else:
            return side * np.inf
        for _ in range(_BISECTIONS):
            middle = (kept + out) / 2.0
            kept, out = (kept, middle) if self._rejected(middle) else (middle, out)
        return out

    def _rejected(self, gap: float) -> bool:
        return bool(equal_tailed(self.statistics(gap)[:, None])[0] <= LEVEL)
