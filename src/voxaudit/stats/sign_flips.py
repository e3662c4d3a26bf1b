"""Did paired sums change? Whole speakers have their signs flipped, all slices of the data together.

Where nothing but chance tells the old side from the new one, each speaker's change might as well have had the other
sign. The change of a slice, a ratio of sums over speakers, is divided by its linearized standard error; flipping the
signs of whole speakers gives its distribution without assuming a shape. The same flips serve all slices, so that the
largest statistic of a family knows how slices overlap (Westfall and Young 1993, step-down).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ENUMERATED = 12
"""Up to so many speakers every pattern of signs is tried: the test is exact."""
FLIPS = 4999
_BLOCK = 128
_TIE = 1e-9


@dataclass(frozen=True)
class SignFlips:
    """One value per slice. `estimate` is the change of the rate, `se` its standard error.

    `p_worse` and `p_better` are one-sided: the change exceeds the margin upwards, downwards; `family_worse` and
    `family_better` hold for the whole family of slices. `band` is the noise band: 1 - alpha of the comparisons
    in which nothing changes stay within it in all slices at once.
    """

    estimate: FloatArray
    se: FloatArray
    p_worse: FloatArray
    p_better: FloatArray
    family_worse: FloatArray
    family_better: FloatArray
    band: FloatArray

    @property
    def p(self) -> FloatArray:
        """Two-sided: the change exceeds the margin on either side."""
        return np.minimum(1.0, 2.0 * np.minimum(self.p_worse, self.p_better))

    @property
    def p_family(self) -> FloatArray:
        """The same for the whole family of slices."""
        return np.minimum(1.0, 2.0 * np.minimum(self.family_worse, self.family_better))

    @property
    def p_family_both(self) -> FloatArray:
        """For the whole family: the change exceeds the margin on both sides, which a negative margin allows."""
        return np.minimum(1.0, 2.0 * np.maximum(self.family_worse, self.family_better))


def least_p(speakers: int) -> float:
    """Return the smallest two-sided p-value that so many speakers can give: 2 of all 2**n patterns of signs."""
    return min(1.0, 2.0 ** (1 - speakers))


def sign_flips(
    change: FloatArray,
    words: FloatArray,
    *,
    margin: float = 0.0,
    alpha: float = 0.05,
    flips: int = FLIPS,
    seed: int = 0,
) -> SignFlips:
    """Test the changes of many slices, `sum(change) / sum(words)` over speakers (matrices speakers x slices).

    A speaker who is not in a slice has 0 words there. A change counts only beyond `margin` (a fraction).
    """
    estimate, se = _studentize(change.sum(axis=0), change, words)
    above, below = change - margin * words, -(change + margin * words)
    worse, better = _statistic(above, words), _statistic(below, words)
    order_worse, order_better = np.argsort(-worse, kind="stable"), np.argsort(-better, kind="stable")
    counts = np.zeros((4, change.shape[1]))
    largest: list[FloatArray] = []
    total = 0
    symmetric = _Flipped(change, words)
    up = symmetric if margin == 0.0 else _Flipped(above, words)
    down = None if margin == 0.0 else _Flipped(below, words)
    for signs in _patterns(change.shape[0], flips, seed):
        plain = symmetric.statistics(signs)
        drawn_worse = plain if up is symmetric else up.statistics(signs)
        drawn_better = -plain if down is None else down.statistics(signs)
        for place, (drawn, seen, order) in enumerate(
            ((drawn_worse, worse, order_worse), (drawn_better, better, order_better))
        ):
            # What was observed is among the patterns, so ties count and no p is 0 (Phipson and Smyth 2010).
            counts[place] += (drawn >= seen - _TIE).sum(axis=0)
            # Of a slice and all less striking ones, the most striking in each draw: the step-down family.
            ranked = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
            counts[2 + place] += (ranked >= seen[order] - _TIE).sum(axis=0)
        largest.append(np.abs(plain).max(axis=1) if plain.shape[1] else np.zeros(len(plain)))
        total += len(signs)
    p_worse, p_better = counts[0] / total, counts[1] / total
    reach = np.concatenate(largest)
    # A value that was drawn, not one between two: interpolating would make the band too narrow.
    critical = float(np.quantile(reach, 1.0 - alpha, method="higher")) if len(reach) else 0.0
    return SignFlips(
        estimate,
        se,
        p_worse,
        p_better,
        _unranked(counts[2] / total, order_worse),
        _unranked(counts[3] / total, order_better),
        np.multiply(critical, se, out=np.zeros_like(se), where=se > 0.0),
    )


def _unranked(p: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted


def _studentize(top: FloatArray, change: FloatArray, words: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratio and its linearized standard error: speakers are the sample."""
    total = words.sum(axis=0)
    ratio = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    # Linearized: a speaker moves a ratio of sums by his residual over the words of all (Cochran 1977).
    left = change - ratio * words
    count = (words > 0).sum(axis=0)
    scale = np.divide(count, count - 1, out=np.zeros_like(top), where=count > 1)
    spread = _exact_zero((left**2).sum(axis=0), (change**2).sum(axis=0))
    se = np.sqrt(scale * spread)
    return ratio, np.divide(se, total, out=np.zeros_like(se), where=total > 0)


def _statistic(change: FloatArray, words: FloatArray) -> FloatArray:
    return _ratio(*_studentize(change.sum(axis=0), change, words))


def _ratio(estimate: FloatArray, se: FloatArray) -> FloatArray:
    """Return estimate / se; without any spread a change is beyond doubt, and no change is 0."""
    certain = np.where(np.abs(estimate) > 0.0, np.copysign(np.inf, estimate), 0.0)
    return np.divide(estimate, se, out=certain, where=se > 0.0)


def _exact_zero(spread: FloatArray, size: FloatArray) -> FloatArray:
    """Return sums of squares in which what is left of rounding is 0."""
    return np.where(spread > 1e-12 * size, spread, 0.0)


class _Flipped:
    """The statistics of one family of slices under given signs, from sums of squares that flipping leaves alone."""

    def __init__(self, change: FloatArray, words: FloatArray) -> None:
        self._change = change
        self._crossed = change * words
        self._change_square = (change**2).sum(axis=0)
        self._words_square = (words**2).sum(axis=0)
        self._total = words.sum(axis=0)
        count = (words > 0).sum(axis=0).astype(np.float64)
        self._scale = np.divide(count, count - 1.0, out=np.zeros_like(count), where=count > 1)

    def statistics(self, signs: FloatArray) -> FloatArray:
        """Return a matrix draws x slices."""
        top = signs @ self._change
        # Changes that cancel leave rounding, which a spread of nearly 0 would make look large.
        top[np.abs(top) < 1e-9] = 0.0
        ratio = np.divide(top, self._total, out=np.zeros_like(top), where=self._total > 0)
        # The square of s c - ratio w written out: s^2 is 1, so a draw costs two matrix products.
        spread = self._change_square - 2.0 * ratio * (signs @ self._crossed) + ratio**2 * self._words_square
        spread = _exact_zero(spread, self._change_square)
        se = np.divide(
            np.sqrt(self._scale * spread), self._total, out=np.zeros_like(top), where=self._total > 0
        )
        return _ratio(ratio, se)


def _patterns(speakers: int, flips: int, seed: int) -> Iterator[FloatArray]:
    """Yield blocks of sign patterns: all of them for few speakers, else the one observed and random others."""
    if speakers <= ENUMERATED:
        every = np.arange(2**speakers)
        for first in range(0, len(every), _BLOCK):
            bits = every[first : first + _BLOCK, None] >> np.arange(speakers) & 1
            yield 1.0 - 2.0 * bits.astype(np.float64)
        return
    generator = np.random.Generator(np.random.PCG64(seed))
    yield np.ones((1, speakers))
    for first in range(0, flips, _BLOCK):
        size = (min(_BLOCK, flips - first), speakers)
        yield 1.0 - 2.0 * generator.integers(0, 2, size=size).astype(np.float64)
