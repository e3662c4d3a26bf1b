"""Speakers shuffled among groups: what statistics would be if the groups meant nothing.

One shuffle of all speakers serves every recognizer, scenario, attribute and pair of groups, so that the family of all
questions of an audit can be judged together (Westfall and Young 1993). Statistics are studentized: then the test
also holds, in large samples, where groups differ in spread but not in what is compared (Janssen 1997; Chung and Romano
2013). Row 0 of every matrix of statistics is what was observed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import FloatArray, IntArray

PERMUTATIONS = 9_999
FEWEST_PERMUTATIONS = 999
LEVEL = 0.05
TIE = 1e-9
"""Statistics that differ by less are the same one: sums taken in another order."""
_CACHED = 40_000  # statistics worked on at a time
_CLOSE = 1e-5  # the same for margins, which are kept in single precision
_BLOCK = 2_000_000  # speakers x shuffles drawn at a time, and
_EXACT = 2**24  # whole numbers up to here are exact in single precision
_KEPT = 30_000_000  # those that are kept for the next question, and
_SHARED = 2_000_000  # for the next audit: bound memory


_COMPARISONS = 12  # whose shuffles are kept
_DRAWN = 40_000_000  # speakers x shuffles, and
_JUDGED = 5_000_000  # questions x shuffles: bound the time of very large audits

Block = tuple[slice, NDArray[np.bool_]]
"""Rows, and what the shuffles there make of a comparison."""


@dataclass(frozen=True)
class Shuffles:
    """Permutations of speakers, the first of which leaves everybody in place; the same ones whenever they are asked.

    `strata` numbers those within which speakers are exchanged; None exchanges all.

    >>> shuffles = Shuffles(4, 2, seed=1)
    >>> blocks = list(shuffles.blocks())
    >>> blocks[0][1].shape, blocks[0][1][0].tolist()
    ((3, 4), [0, 1, 2, 3])
    """

    speakers: int
    permutations: int = PERMUTATIONS
    seed: int = 0
    strata: IntArray | None = None

    @classmethod
    def affordable(cls, speakers: int, questions: int = 1, *, seed: int = 0) -> Shuffles:
        """Return as many shuffles as can be paid for: fewer of thousands of speakers, or for thousands of questions.

        A test is as exact with few of them; it is only somewhat less sharp.

        >>> [Shuffles.affordable(100, questions).permutations for questions in (1, 500, 2000, 10**6)]
        [9999, 9999, 2500, 999]
        """
        most = min(_DRAWN // max(speakers, 1), _JUDGED // max(questions, 1), PERMUTATIONS)
        return cls(speakers, max(most, FEWEST_PERMUTATIONS), seed)

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Yield rows and their permutations, so many at a time that memory stays bounded.

        Few enough are drawn once and kept, as many questions are put to the same ones: nobody may write to them.
        """
        yield from self._kept if self.speakers * self.permutations <= _KEPT else self._drawn()

    @cached_property
    def _kept(self) -> list[tuple[slice, NDArray[np.int32]]]:
        return list(self._drawn()) if self._shared is None else self._shared[0]

    @cached_property
    def _remembered(self) -> dict[Hashable, list[Block]]:
        return {} if self._shared is None else self._shared[1]

    @cached_property
    def _shared(self) -> tuple[list[tuple[slice, NDArray[np.int32]]], dict[Hashable, list[Block]]] | None:
        """What is kept for all audits of the same speakers; None of so many that it would be large."""
        if self.strata is not None or self.speakers * self.permutations > _SHARED:
            return None
        return _shared(self.speakers, self.permutations, self.seed)

    def remembered(self, key: Hashable, make: Callable[[], Iterator[Block]]) -> Iterable[Block]:
        """Return what is made of the shuffles for one comparison, a byte each: questions about it are many.

        The last few are kept, where shuffles are.
        """
        if self.speakers * self.permutations > _KEPT:
            return make()
        if key not in self._remembered:
            if len(self._remembered) >= _COMPARISONS:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[key] = list(make())
        return self._remembered[key]

    def _drawn(self) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        generator = np.random.Generator(np.random.PCG64(self.seed))
        rows = max(1, _BLOCK // max(self.speakers, 1))
        start, total = 0, self.permutations + 1
        while start < total:
            stop = min(start + rows, total)
            block = np.tile(np.arange(self.speakers, dtype=np.int32), (stop - start, 1))
            fresh = slice(1 if start == 0 else 0, None)
            if self.strata is None:
                block[fresh] = generator.permuted(block[fresh], axis=1)
            else:
                for stratum in np.unique(self.strata):
                    own = np.flatnonzero(self.strata == stratum)
                    block[fresh, own] = generator.permuted(block[fresh][:, own], axis=1)
            yield slice(start, stop), block
            start = stop


@lru_cache(maxsize=4)
def _shared(
    speakers: int, permutations: int, seed: int
) -> tuple[list[tuple[slice, NDArray[np.int32]]], dict[Hashable, list[Block]]]:
    return list(Shuffles(speakers, permutations, seed)._drawn()), {}


def among(block: NDArray[np.int32], members: IntArray) -> NDArray[np.int32]:
    """Return who takes the place of each of `members` when only they are exchanged.

    A permutation of all is followed until it returns to a member (the first-return map): every order of the members is
    as likely as another, and it is the permutation itself where all are members.

    >>> among(np.array([[0, 1, 2], [2, 0, 1]], dtype=np.int32), np.array([0, 1])).tolist()
    [[0, 1], [1, 0]]
    """
    inside = np.zeros(block.shape[1], dtype=bool)
    inside[members] = True
    moved = block[:, members]
    if inside.all():
        return moved
    flat, whole = moved.ravel(), block.ravel()
    outside = np.flatnonzero(~inside.take(flat))
    start, now = outside // len(members) * block.shape[1], flat.take(outside)
    while len(outside):
        now = whole.take(start + now)
        flat[outside] = now
        away = np.flatnonzero(~inside.take(now))
        outside, start, now = outside.take(away), start.take(away), now.take(away)
    return flat.reshape(moved.shape)


def are_whole(values: FloatArray) -> NDArray[np.bool_]:
    """Say of which rows all sums are exact in single precision: counts of not too many."""
    return np.asarray((np.abs(values).sum(axis=1) < _EXACT) & (values == np.rint(values)).all(axis=1))


def sums_of(values: FloatArray, chosen: NDArray[np.bool_]) -> NDArray[np.floating]:
    """Return the sums of what is chosen: questions x speakers times speakers x shuffles.

    Counts are summed in single precision, at half the cost, where all their sums are exact there.

    >>> sums_of(np.array([[1.0, 2.0, 4.0], [0.5, 0.0, 0.25]]), np.array([[True], [False], [True]])).tolist()
    [[5.0], [0.75]]
    """
    whole = are_whole(values)
    if whole.all():
        return values.astype(np.float32) @ chosen.astype(np.float32)
    sums = np.empty((len(values), chosen.shape[1]))
    sums[~whole] = values[~whole] @ chosen.astype(np.float64)
    if whole.any():
        sums[whole] = values[whole].astype(np.float32) @ chosen.astype(np.float32)
    return sums


def equal_tailed(statistics: FloatArray) -> FloatArray:
    """Return two-sided p-values of the first row among all rows: twice the smaller tail.

    A shuffle without a statistic (nan) counts as extreme on both sides; nan where there is none observed. Where groups
    are unequal the tails are too: absolute values would rarely see that the smaller group is the worse served one.

    >>> equal_tailed(np.array([[3.0], [1.0], [2.0], [0.0]])).tolist()
    [0.5]
    """
    count, questions = statistics.shape
    tails = np.empty(questions)
    for place, own in enumerate(np.ascontiguousarray(statistics.T)):
        # What is not less is as large or not known.
        less, more = np.count_nonzero(own < own[0] - TIE), np.count_nonzero(own > own[0] + TIE)
        tails[place] = np.nan if np.isnan(own[0]) else (count - max(less, more)) / count
    return np.minimum(1.0, 2.0 * tails)


def critical(statistics: FloatArray, level: float, side: float) -> FloatArray:
    """Return how far the first row is from being rejected at `level` (two-sided) on one side, as a statistic.

    `side` is 1 where large statistics reject and -1 where small ones do. At most 0 where `equal_tailed` gives at most
    `level` on this side.

    >>> critical(np.arange(100.0, 0.0, -1.0)[:, None], 0.05, 1.0).round(6).tolist()
    [-2.0]
    """
    most = most_beyond(level, len(statistics))
    if most < 1:
        return np.full(statistics.shape[1], np.inf)
    known = toward(statistics, side)
    bars = critical_value(known, most)
    return np.array([short_of(bar, own) for bar, own in zip(bars.tolist(), known[0].tolist(), strict=True)])


def most_beyond(level: float, shuffles: int) -> int:
    """Return how many of so many may be as large as the observed one: one more and it is not rejected."""
    return int(np.floor(level / 2.0 * shuffles + 1e-9))


def toward(statistics: FloatArray, side: float) -> FloatArray:
    """Return statistics so that large ones reject; one that is not known (nan) is the largest."""
    known = side * statistics
    known[np.isnan(known)] = np.inf
    return np.asarray(known)


def critical_value(known: FloatArray, most: int) -> FloatArray:
    """Return what all but `most` shuffles do not exceed."""
    place = len(known) - most - 1
    return np.asarray(np.partition(known, place, axis=0)[place])


def short_of(bar: float, observed: float) -> float:
    """Return how far an observed statistic is from being rejected: at most 0 where it is."""
    distance = bar + TIE - observed
    if math.isnan(distance):  # both are endless
        return math.inf
    return distance if distance < 0.0 else min(max(distance, TIE), sys.float_info.max)


def margins(
    statistics: FloatArray,
    guard: FloatArray | None = None,
    level: float = LEVEL,
    tails: FloatArray | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return statistics in units of their own equal-tailed limits (1 at `level`), and the observed ones.

    A question of so few speakers that no order of them could be rejected at `level` on one side has margins of 0 there:
    it cannot be shown, and sets no bar for others (Tarone 1990). `guard` are p-values of another test, one a column: an
    observed margin is no larger than what they allow. Margins of different questions can be compared with one another,
    which `step_down` does. `tails` (questions x 2) is filled with what `most_beyond` shuffles are below, and above.
    """
    count, questions = statistics.shape
    most = most_beyond(level, count)
    high, low = int(np.ceil((1.0 - level / 2.0) * count)) - 1, int(np.floor(level / 2.0 * count))
    from_below, from_above = [low, min(most, count - 1)], [max(count - most - 1, 0), high]
    limits = sorted({*from_below, *from_above})
    scaled = np.empty((questions, count), dtype=np.float32)
    observed = np.empty(questions, dtype=np.float32)
    ranks = np.full(questions, count - 1)
    if guard is not None:
        allowed = np.ceil((1.0 - np.nan_to_num(guard, nan=1.0)) * count).astype(np.int64) - 1
        ranks = np.clip(allowed, 0, count - 1)
    step = max(1, _CACHED // count)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Some questions at a time: what is worked on stays in the processor's cache.
        for first in range(0, questions, step):
            some = slice(first, first + step)
            known = toward(statistics.T[some], 1.0)
            ordered, end = known.copy(), count
            for limit in limits[::-1]:  # one at a time, which numpy does much faster than several
                ordered[:, :end].partition(limit, axis=1)
                end = limit
            least = ordered[:, : limits[0] + 1].min(axis=1, keepdims=True)
            largest = ordered[:, limits[-1] :].max(axis=1, keepdims=True)
            down, lowest = (ordered[:, [limit]] for limit in from_below)
            highest, up = (ordered[:, [limit]] for limit in from_above)
            if tails is not None:
                tails[some] = np.hstack([lowest, highest])
            up, down = np.where(up > 0.0, up, np.nan), np.where(down < 0.0, down, np.nan)
            if np.isfinite(up).all() and np.isfinite(down).all():
                margin = np.maximum(known / up, known / down)  # one is negative, or both are 0
            else:
                # What is more than all others has no unit; nothing is nothing, also where no shuffle gives more.
                margin = known / np.where(known >= 0.0, up, down)
                margin[np.isnan(margin)] = np.inf
                margin[known == 0.0] = 0.0
            flat = largest <= highest + TIE, least >= lowest - TIE
            if flat[0].any() or flat[1].any():
                margin[np.where(known >= 0.0, *flat)] = 0.0
            scaled[some] = margin
            observed[some] = scaled[some, 0]
            below = [np.count_nonzero(own < own[0]) for own in scaled[some]]
            for place in first + np.flatnonzero(below > ranks[some]):
                observed[place] = np.partition(scaled[place], ranks[place])[ranks[place]]
    observed = np.where(np.isnan(statistics[0]), np.float32(np.nan), observed)
    return scaled.T, observed


def step_down(
    scaled: NDArray[np.float32] | Sequence[NDArray[np.float32]],
    observed: NDArray[np.float32],
    turned: NDArray[np.bool_] | None = None,
) -> FloatArray:
    """Return p-values that hold for a whole family: of each margin among the largest of those not larger than it.

    Margins are shuffles x questions, in one matrix or in several with some of the questions each. It is Westfall and
    Young's step-down procedure. Questions without an answer (nan) belong to no family. Questions that are `turned` have
    the opposite of the margins given.

    >>> shuffled = np.array([[3, 1], [1, 2], [0, 4], [0, 1]], dtype=np.float32)
    >>> step_down(shuffled, shuffled[0]).tolist()
    [0.5, 1.0]
    """
    columns = [own for part in ([scaled] if isinstance(scaled, np.ndarray) else scaled) for own in part.T]
    known = ~np.isnan(observed)
    order = np.argsort(-np.where(known, observed, -np.inf), kind="stable")
    best = np.zeros(len(columns[0]) if columns else 0, dtype=np.float32)
    p_values = np.full(len(observed), np.nan)
    for place in order[::-1]:  # from the smallest margin: the largest among it and those below
        if known[place]:
            own = columns[place]
            np.maximum(best, own if turned is None or not turned[place] else -own, out=best)
            p_values[place] = np.count_nonzero(best >= observed[place] * (1.0 - _CLOSE) - TIE) / len(best)
    ranked = order[known[order]]
    p_values[ranked] = np.maximum.accumulate(p_values[ranked])
    return p_values
