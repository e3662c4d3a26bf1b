"""Did paired sums change? Whole speakers have their signs flipped, all slices of the data together.

Where nothing but chance tells the old side from the new one, each speaker's change might as well have had the other
sign. The change of a slice, a ratio of sums over speakers, is divided by its linearized standard error; flipping the
signs of whole speakers gives its distribution without assuming a shape. The same flips serve all slices, so that a
family knows how slices overlap (Westfall and Young 1993, step-down). What is asked first (the whole) and what is asked
of parts share one level by a fallback procedure (Wiens 2003): a general change is not drowned by many small slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.permutations import LEVEL, TIE, step_down

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ENUMERATED = 12
"""Up to so many speakers every pattern of signs is tried: the test is exact."""
FLIPS = 4999
FIRST = 0.8
"""The share of the level that belongs to what is asked first; the rest is left for the slices, whatever happens."""
POWER = 0.8
"""How often the smallest change that counts as visible would have been shown."""
STRETCH = 2.0**0.5
"""What the limit away from no change is lengthened by: who makes many errors also gains or loses many, so that changes
are skewed, and their variance grows with their size. Measured: docs/compare.md."""
_SCALED_AT = 0.01  # the two-sided level at which slices with few and with many speakers are made comparable
_LARGEST = 1e6  # in place of an infinite statistic
_COLUMNS = 128  # slices worked on at a time, and
_SPEAKERS = 1024  # speakers whose signs are drawn at a time: bound memory
_STEPS = 22  # of the bisection of limits: to a four-millionth of its range, which
_WIDENED = 20  # doublings widen until it holds a limit


@dataclass(frozen=True)
class SignFlips:
    """One value per slice. `estimate` is the change of the rate, `se` its standard error.

    `p_worse` and `p_better` are one-sided: the change exceeds the margin upwards, downwards; `family_worse` and
    `family_better` hold for all slices asked together with it: the first ones, or the others. `first` says which are
    asked first. `level` is the two-sided level that was left for a slice's family, and `critical` what its statistic
    had to reach there.
    """

    estimate: FloatArray
    se: FloatArray
    p_worse: FloatArray
    p_better: FloatArray
    family_worse: FloatArray
    family_better: FloatArray
    critical: FloatArray
    level: FloatArray
    first: BoolArray

    @property
    def p(self) -> FloatArray:
        """Two-sided: the change exceeds the margin on either side."""
        return np.minimum(1.0, 2.0 * np.minimum(self.p_worse, self.p_better))

    @property
    def p_family(self) -> FloatArray:
        """The same for everything that is asked."""
        return fallback(2.0 * np.minimum(self.family_worse, self.family_better), self.first)

    @property
    def p_family_both(self) -> FloatArray:
        """For everything asked: the change exceeds the margin on both sides, which a negative margin allows."""
        return fallback(2.0 * np.maximum(self.family_worse, self.family_better), self.first)

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Limits that hold for all slices of a family at once; the far one is `STRETCH` times as far, as everywhere."""
        half, up = self.critical * self.se, self.estimate > 0.0
        low, high = np.where(up, 1.0, STRETCH) * half, np.where(up, STRETCH, 1.0) * half
        return self.estimate - low, self.estimate + high

    @property
    def visible(self) -> FloatArray:
        """The smallest change that would have been shown four times in five; beyond a margin, where there is one.

        It is nan where speakers do not differ at all: nothing tells how large changes by chance are.
        """
        from voxaudit.numeric import ndtri

        return np.where(self.se > 0.0, (self.critical + float(ndtri(POWER))) * self.se, np.nan)


def fallback(p: FloatArray, first: BoolArray) -> FloatArray:
    """Return p-values for all that is asked, from those within the first questions and within the others.

    The first ones have `FIRST` of the level. The others have the rest, and the whole level once all first ones are
    shown: a slice is shown at a level where its own p is below the rest, or both are below.

    >>> fallback(np.array([0.02, 0.03, 0.004]), np.array([True, False, False])).round(4).tolist()
    [0.025, 0.03, 0.02]
    >>> fallback(np.array([0.5, 0.03, 0.004]), np.array([True, False, False])).round(4).tolist()
    [0.625, 0.15, 0.02]
    """
    if first.all() or not first.any():
        return np.minimum(1.0, p)
    opened = p[first].max() / FIRST
    others = np.minimum(p / (1.0 - FIRST), np.maximum(opened, p))
    return np.minimum(1.0, np.where(first, p / FIRST, others))


def least_p(speakers: int) -> float:
    """Return the smallest two-sided p-value that so many speakers can give: 2 of all 2**n patterns of signs."""
    return min(1.0, 2.0 ** (1 - speakers))


def sign_flips(
    change: FloatArray,
    words: FloatArray,
    *,
    first: BoolArray | None = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    flips: int = FLIPS,
    seed: int = 0,
) -> SignFlips:
    """Test the changes of many slices, `sum(change) / sum(words)` over speakers (matrices speakers x slices).

    A speaker who is not in a slice has 0 words there. A change counts only beyond `margin` (a fraction). `first` marks
    the slices that are asked first (see `fallback`); without it all are one family.

    >>> found = sign_flips(np.array([[3.0], [1], [2], [4], [5], [1], [2]]), np.full((7, 1), 20.0))
    >>> round(float(found.estimate[0]), 4), float(found.p[0])
    (0.1286, 0.015625)
    """
    size = change.shape[1]
    asked_first = np.zeros(size, dtype=bool) if first is None else first
    estimate, se = _studentize(change, words)
    p_worse, p_better, limit = np.ones(size), np.ones(size), np.zeros(size)
    draws = 2 ** change.shape[0] if change.shape[0] <= ENUMERATED else flips + 1
    scaled = np.zeros((2, draws, size), dtype=np.float32)
    for some in _blocks(size):
        flipped = _Flipped(change[:, some], words[:, some], words[:, some], flips, seed)
        up = flipped.statistics(margin)
        down = -up if margin == 0.0 else -flipped.statistics(-margin)
        # What was observed is among the patterns, so ties count and no p is 0 (Phipson and Smyth 2010).
        p_worse[some], p_better[some] = ((side >= side[0] - TIE).mean(axis=0) for side in (up, down))
        scaled[0, :, some], limit[some] = _scaled(up)
        scaled[1, :, some], _ = _scaled(down)
    families = np.ones((2, size))
    critical, level = np.zeros(size), np.full(size, alpha)
    for family in (asked_first, ~asked_first):
        if family.any():
            own = scaled[:, :, family]
            families[:, family] = [step_down(side, side[0]) for side in own]
    shown = 2.0 * np.minimum(*families)
    alone = asked_first.all() or not asked_first.any()
    opened = alone or bool((shown[asked_first] <= FIRST * alpha).all())
    for family, share in ((asked_first, FIRST), (~asked_first, 1.0 if opened else 1.0 - FIRST)):
        if family.any():
            level[family] *= 1.0 if alone else share
            largest = scaled[0][:, family].max(axis=1)
            # A value that was drawn, not one between two: interpolating would make it too small.
            reached = np.quantile(largest, 1.0 - level[family][0] / 2.0, method="higher")
            critical[family] = reached * limit[family]
    return SignFlips(estimate, se, p_worse, p_better, families[0], families[1], critical, level, asked_first)


def flip_limits(
    before: FloatArray,
    after: FloatArray,
    words: FloatArray,
    *,
    ratio: bool = False,
    confidence: float = 0.95,
    flips: int = FLIPS,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of `(after - before) / words`, or of `after / before`: all values that the test does not reject.

    `before` and `after` are errors, speakers x slices. A limit is nan where the speakers are too few for the level. The
    limit nearer to no change is the test's own, so that the interval leaves out no change exactly where the test shows
    one; the other one is `STRETCH` times as far away.

    >>> before, words = np.full((8, 1), 10.0), np.full((8, 1), 100.0)
    >>> low, high = flip_limits(before, before + np.arange(8.0)[:, None], words)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.013, 0.066)
    """
    size = words.shape[1]
    # What is tested is the sum of `whole - value * part` over speakers: of changes and words, or of both sides' errors.
    whole, part = (after, before) if ratio else (after - before, words)
    low, high = np.full(size, np.nan), np.full(size, np.nan)
    tail = (1.0 - confidence) / 2.0
    for some in _blocks(size):
        flipped = _Flipped(whole[:, some], part[:, some], words[:, some], flips, seed)
        low[some], high[some] = _invert(flipped, whole[:, some], part[:, some], tail, ratio=ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = whole.sum(axis=0) / part.sum(axis=0)
        if ratio:
            far = np.exp(STRETCH * np.log(np.stack([low, high]) / middle)) * middle
            far = np.where(middle > 0.0, far, np.stack([low, high]))  # 0 has no logarithm
        else:
            far = middle + STRETCH * (np.stack([low, high]) - middle)
    none = 1.0 if ratio else 0.0
    return np.where(middle <= none, far[0], low), np.where(middle >= none, far[1], high)


def _invert(
    flipped: _Flipped, whole: FloatArray, part: FloatArray, tail: float, *, ratio: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest values that flips do not reject, by bisection; nan where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = whole.sum(axis=0) / part.sum(axis=0)
        own = np.where(part > 0.0, whole / part, np.nan)
    there = ~np.isnan(own).all(axis=0) & np.isfinite(middle)
    low, high = (
        np.where(there, end(np.where(there, own, 0.0), axis=0), 0.0) for end in (np.nanmin, np.nanmax)
    )
    flat = there & (low == high) & ((part > 0.0) | (whole == 0.0)).all(axis=0)
    if ratio:  # a speaker without errors before has no ratio of his own
        low, high = np.zeros_like(middle), np.where(there, 2.0 * np.maximum(middle, 1.0), 0.0)
    middle = np.where(there, middle, 0.0)
    found = []
    for sign, end in ((1.0, low), (-1.0, high)):
        outside = end - sign * 1e-6 * np.maximum(1.0, np.abs(end))
        rejected = flipped.tail(outside, sign) <= tail
        if not ratio or sign < 0.0:
            # Where few speakers say most of the words the limit lies beyond the most extreme speaker: an arrangement in
            # which a small one has the other sign can be more striking, until the value taken off outweighs everything.
            for _ in range(_WIDENED):
                if rejected[there].all():
                    break
                outside = np.where(rejected, outside, middle + 2.0 * (outside - middle))
                rejected = flipped.tail(outside, sign) <= tail
        inside = middle
        for _ in range(_STEPS):
            between = (inside + outside) / 2.0
            kept = flipped.tail(between, sign) > tail
            inside, outside = np.where(kept, between, inside), np.where(kept, outside, between)
        found.append(np.where(there & rejected, outside, np.nan))
    if (
        ratio
    ):  # a ratio of 0 that is not rejected is the lowest there is, unless speakers are too few for any limit
        found[0] = np.where(np.isnan(found[0]) & np.isfinite(found[1]), 0.0, np.maximum(found[0], 0.0))
    # Where all speakers are alike there is nothing to bisect, and rounding must not look like a limit.
    sides = [np.where(flat & np.isfinite(side), middle, side) for side in found]
    return sides[0], sides[1]


def _blocks(size: int) -> Iterator[slice]:
    return (slice(first, first + _COLUMNS) for first in range(0, size, _COLUMNS))


def _scaled(statistics: FloatArray) -> tuple[NDArray[np.float32], FloatArray]:
    """Return statistics in units of what each slice reaches by chance, and that unit; 0 where nothing ever changes.

    The statistics of six speakers have much longer tails than those of sixty, and would set the bar for all. A slice in
    which so few changed that no flips could be rejected cannot be shown, and sets no bar (Tarone 1990).
    """
    kept = np.clip(statistics, -_LARGEST, _LARGEST)
    place = int(np.ceil((1.0 - _SCALED_AT / 2.0) * len(kept))) - 1
    bar = max(len(kept) - int(np.floor(LEVEL / 2.0 * len(kept) + 1e-9)) - 1, 0)
    limit, reached = np.partition(kept, [place, bar], axis=0)[[place, bar]]
    scaled = np.divide(kept, limit, out=np.zeros_like(kept), where=limit > 0.0)
    scaled = np.where(kept.max(axis=0) <= reached + TIE, 0.0, scaled)
    return scaled.astype(np.float32), np.maximum(limit, 0.0)


def _studentize(change: FloatArray, words: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratio and its linearized standard error: speakers are the sample."""
    top, total = change.sum(axis=0), words.sum(axis=0)
    ratio = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    # Linearized: a speaker moves a ratio of sums by his residual over the words of all (Cochran 1977).
    left = change - ratio * words
    spread = _exact_zero((left**2).sum(axis=0), (change**2).sum(axis=0))
    se = np.sqrt(_scale(words) * spread)
    return ratio, np.divide(se, total, out=np.zeros_like(se), where=total > 0)


def _scale(words: FloatArray) -> FloatArray:
    count = (words > 0).sum(axis=0).astype(np.float64)
    return np.asarray(np.divide(count, count - 1.0, out=np.zeros_like(count), where=count > 1))


def _exact_zero(spread: FloatArray, size: FloatArray) -> FloatArray:
    """Return sums of squares in which what is left of rounding is 0."""
    return np.where(spread > 1e-12 * size, spread, 0.0)


class _Flipped:
    """The statistics of slices under all signs, for any value that is taken off: `whole - value * part`.

    Sums of squares are left alone by flipping and sums are linear in the value, so that matrix products are done once.
    """

    def __init__(self, whole: FloatArray, part: FloatArray, words: FloatArray, flips: int, seed: int) -> None:
        together = np.hstack([whole, part, whole * words, part * words])
        # A slice's draws lie side by side: numpy is quickest along what is long.
        self._sums = np.split(np.ascontiguousarray(_signed_sums(together, flips, seed).T), 4)
        self._squares = [
            (one * other).sum(axis=0)[:, None] for one, other in ((whole, whole), (whole, part), (part, part))
        ]
        self._words_square = (words**2).sum(axis=0)[:, None]
        self._total = words.sum(axis=0)[:, None]
        self._scale = _scale(words)[:, None]

    def statistics(self, value: float | FloatArray) -> FloatArray:
        """Return a matrix draws x slices; the first row is what was observed."""
        whole, part, whole_crossed, part_crossed = self._sums
        value = np.reshape(value, (-1, 1))
        top = whole - value * part
        # Changes that cancel leave rounding, which a spread of nearly 0 would make look large.
        top[np.abs(top) < 1e-9] = 0.0
        own = self._squares[0] - 2.0 * value * self._squares[1] + value**2 * self._squares[2]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = top / np.where(self._total > 0, self._total, np.inf)
            # The square of s c - ratio w written out (s^2 is 1); in place, for this is most of what limits cost.
            spread = part_crossed * (2.0 * value)
            spread -= 2.0 * whole_crossed
            spread += ratio * self._words_square
            spread *= ratio
            spread += own
            flat = ~(spread > 1e-12 * own)  # what is left of rounding is 0
            spread[flat] = 1.0
            found = ratio * (self._total / np.sqrt(self._scale)) / np.sqrt(spread)
            # Without any spread a change is beyond doubt, and no change is 0.
            flat |= ~(self._scale * self._total > 0.0)
            found[flat] = np.where(ratio[flat] == 0.0, 0.0, np.copysign(np.inf, ratio[flat]))
            return np.asarray(found.T)

    def tail(self, value: FloatArray, sign: float) -> FloatArray:
        """Return the share of flips that are as far above (`sign` 1) or below (-1) as what was observed."""
        drawn = sign * self.statistics(value)
        return np.asarray((drawn >= drawn[0] - TIE).mean(axis=0))


def _signed_sums(values: FloatArray, flips: int, seed: int) -> FloatArray:
    """Return sums over speakers under every pattern of signs: all of them for few speakers, else the one observed
    first and random others.
    """
    speakers = len(values)
    if speakers <= ENUMERATED:
        bits = np.arange(2**speakers)[:, None] >> np.arange(speakers) & 1
        return (1.0 - 2.0 * bits) @ values
    generator = np.random.Generator(np.random.PCG64(seed))
    sums = np.zeros((flips + 1, values.shape[1]))
    for first in range(0, speakers, _SPEAKERS):
        some = values[first : first + _SPEAKERS]
        signs = generator.integers(0, 2, size=(flips, len(some)), dtype=np.int8)
        sums[0] += some.sum(axis=0)
        sums[1:] += (1.0 - 2.0 * signs) @ some
    return sums
