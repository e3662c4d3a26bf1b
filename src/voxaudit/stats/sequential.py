"""Testing speaker after speaker: what is known so far about many cells at once, and when each has been heard enough.

In a round one speaker of every group is heard, then all cells are looked at; what is settled stops, the rest goes on.
All cells meet the same speakers in the same round, and whether a cell goes on depends on past rounds only. So every
e-process stays one whatever made its cell stop, and e-BH over the stopped ones holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError
from voxaudit.run.order import Hear, Order
from voxaudit.stats.anytime import (
    FIRST_RATE,
    GUARD,
    FloatArray,
    bets,
    e_bh,
    gap_limits,
    log_growth,
    mixed,
    mixture_half_width,
    pseudo_values,
    scale_before,
    two_sided,
)
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

Mask = NDArray[np.bool_]

ALIKE_BET = 0.5
"""Bets on "no more than the margin" stay small: a few speakers without errors do not show that there are none."""

RATE_LOOK = 20
"""Speakers before an error rate gets an interval: with fewer, the skewness of speakers makes it too short."""

OPTIMISM = 2.0
"""Standard errors by which a gap may be larger than it looks before its cell is given up."""

FIRST_LOOK = 10
"""Pairs of speakers before groups can be alike: the claim rests on a spread that must be known."""

NARROW, SHOWN, ALIKE, HOPELESS, EXHAUSTED = "narrow", "shown", "alike", "hopeless", "exhausted"
"""Why a cell stopped."""


@dataclass
class Gaps:
    """Evidence about the gap of every contrast: a group's error rate less the reference group's.

    A row is a contrast, `horizon` the pairs of speakers it can have, `margin` the largest gap (a share of words) that
    counts as none.
    """

    horizon: NDArray[np.int64]
    margin: float | None
    alpha: float
    n: FloatArray = field(init=False)
    mean: FloatArray = field(init=False)
    m2: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        rows, longest = len(self.horizon), int(self.horizon.max(initial=1))
        self.n, self.mean, self.m2 = np.zeros(rows), np.zeros(rows), np.zeros(rows)
        self._errors, self._words = np.zeros(rows), np.zeros(rows)
        # All contrasts of an audit share the stakes of the one with the most pairs.
        self.stakes = bets(longest, self.alpha)
        self._small = np.minimum(self.stakes, ALIKE_BET)
        shape = (rows, len(self.stakes))
        self._up, self._down = np.zeros(shape), np.zeros(shape)
        self._above, self._below = np.zeros(shape), np.zeros(shape)
        self.differences = np.full((rows, longest), np.nan)
        self.scales = np.full((rows, longest), np.nan)

    def add(
        self,
        at: NDArray[np.int64],
        group: tuple[FloatArray, FloatArray, FloatArray],
        other: tuple[FloatArray, FloatArray, FloatArray],
    ) -> None:
        """Add one pair of speakers to the contrasts `at`: (errors, words, mean words of the group) of both."""
        words = self._words[at]
        rate = np.where(words > 0, self._errors[at] / np.where(words > 0, words, 1.0), FIRST_RATE)
        d = pseudo_values(*group, rate) - pseudo_values(*other, rate)
        scale = scale_before(self.n[at], self.m2[at], rate)
        self._up[at] += log_growth(d / scale, self.stakes)
        self._down[at] += log_growth(-d / scale, self.stakes)
        if self.margin is not None:
            wide = np.maximum(scale, self.margin)
            self._above[at] += log_growth((d + self.margin) / wide, self._small)
            self._below[at] += log_growth((self.margin - d) / wide, self._small)
        place = self.n[at].astype(np.int64)
        self.differences[at, place], self.scales[at, place] = d, scale
        self.n[at] += 1.0
        step = d - self.mean[at]
        self.mean[at] += step / self.n[at]
        self.m2[at] += step * (d - self.mean[at])
        self._errors[at] += group[0] + other[0]
        self._words[at] += group[1] + other[1]

    def log_shown(self) -> FloatArray:
        """Return the log e-values against "there is no gap"."""
        return two_sided(self._up, self._down)

    def log_alike(self) -> FloatArray:
        """Return the log e-values against "the gap is as large as the margin, on one side or the other"."""
        if self.margin is None:
            return np.full(len(self.n), -np.inf)
        return np.minimum(mixed(self._above), mixed(self._below)) - math.log(GUARD)

    def limits(self, row: int) -> tuple[float, float]:
        """Return the confidence sequence of a contrast's gap: nan before its first pair, infinite where it is open."""
        seen = int(self.n[row])
        if not seen:
            return math.nan, math.nan
        return gap_limits(self.differences[row, :seen], self.scales[row, :seen], self.stakes, self.alpha)

    def hopeless(self, log_threshold: float) -> Mask:
        """Return which contrasts would miss the threshold even with a gap two standard errors better than seen.

        Neither a gap nor its absence is then within reach of the speakers left. Giving up never raises the rate of
        false alarms.
        """
        n = np.maximum(self.n, 2.0)
        deviation = np.sqrt(np.maximum(self.m2 / (n - 1.0), 1e-12))
        seen, luck = np.abs(self.mean) / deviation, OPTIMISM / np.sqrt(n)
        towards = np.where(self.mean[:, None] >= 0.0, self._up, self._down)
        lost = self._final(towards, seen + luck, self.stakes) - math.log(2.0) < log_threshold
        if self.margin is not None:
            wide = np.maximum(deviation, self.margin)
            least = np.where(self.mean[:, None] >= 0.0, self._below, self._above)
            room = (self.margin / deviation - seen + luck) * deviation / wide
            lost &= self._final(least, room, self._small) < log_threshold
        return np.asarray(lost)

    def _final(self, wealth: FloatArray, effect: FloatArray, stakes: FloatArray) -> FloatArray:
        """Return the log e-value to expect after all pairs, if those left have this mean and a deviation of 1."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(9)
        growth = log_growth(effect[:, None] + nodes, stakes)
        growth = np.einsum("rnk,n->rk", growth, weights / weights.sum())
        return mixed(wealth + (self.horizon - self.n)[:, None] * growth) - math.log(GUARD)


@dataclass
class Rates:
    """Sums of errors and words over speakers for every cell and group, and how well they fix the error rate."""

    speakers: NDArray[np.int64]
    mean_words: FloatArray
    alpha: float

    def __post_init__(self) -> None:
        shape = self.speakers.shape
        self.n = np.zeros(shape)
        self._sums = np.zeros((5, *shape))
        self._worst = np.full(shape, -np.inf)
        self._worst_speaker = np.zeros((2, *shape))

    def add(
        self, at: tuple[NDArray[np.int64], NDArray[np.int64]], errors: FloatArray, words: FloatArray
    ) -> None:
        """Add one speaker to each of the places `at`, which are all different."""
        self.n[at] += 1.0
        self._sums[:, *at] += errors, words, errors**2, errors * words, words**2
        excess = errors - self.rate()[at] * words
        worse = excess > self._worst[at]
        place = (at[0][worse], at[1][worse])
        self._worst[place] = excess[worse]
        self._worst_speaker[:, *place] = errors[worse], words[worse]

    def rate(self) -> FloatArray:
        """Return the word error rates, nan before the first speaker."""
        errors, words = self._sums[:2]
        return np.where(words > 0, errors / np.where(words > 0, words, 1.0), np.nan)

    def spread(self) -> FloatArray:
        """Return the standard deviation over speakers of the rate's linear form; nan below five speakers."""
        _, words, ee, ew, ww = self._sums
        known = (self.n >= FEWEST_SPEAKERS) & (words > 0)
        rate = np.nan_to_num(self.rate())
        squares = np.maximum(ee - 2.0 * rate * ew + rate**2 * ww, 0.0)
        deviation = np.sqrt(squares / np.maximum(self.n - 1.0, 1.0)) / self.mean_words
        return np.where(known, deviation, np.nan)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the confidence sequences of the rates; 0 to infinity before `RATE_LOOK` speakers.

        On the scale of logarithms, and the upper limit with one more speaker as bad as the worst so far: error rates
        are skewed, and the worst speakers of a population are met late.
        """
        errors, words = self._worst_speaker
        phantom = np.stack([errors, words, errors**2, errors * words, words**2])
        below, narrow = self._relative(self.n, self._sums, 0.0)
        above, wide = self._relative(self.n + 1.0, self._sums + phantom, 1.0)
        known = self.n >= RATE_LOOK
        with np.errstate(over="ignore"):
            low, high = below * np.exp(-narrow), above * np.exp(wide)
        return np.where(known, low, 0.0), np.where(known, high, np.inf)

    def _relative(self, n: FloatArray, sums: FloatArray, more: float) -> tuple[FloatArray, FloatArray]:
        """Return the rate with `more` errors than seen, and the half-width of its logarithm."""
        errors, words, ee, ew, ww = np.where(sums[1] > 0, sums, 1.0)
        rate, most = errors / words, (errors + 1.0) / words
        squares = np.maximum(ee - 2.0 * rate * ew + rate**2 * ww, 0.0)
        deviation = np.sqrt(squares / np.maximum(n - 1.0, 1.0)) / self.mean_words
        # Speakers without an error are no proof of a rate without spread: it has at least a Poisson variable's.
        deviation = np.maximum(deviation, np.sqrt(most / self.mean_words))
        best_at = max(float(RATE_LOOK), float(self.speakers.max()) / 2.0)
        half = mixture_half_width(n, deviation, best_at=best_at, alpha=self.alpha)
        return (errors + more) / words, half / most


@dataclass(frozen=True)
class Goal:
    """When a cell has been heard enough.

    `precision`: the half-width of its error rate's interval, as a share of words. `decide`: the gap between groups is
    shown, or shown to be within `margin` (a share of words), or can no longer be shown with the speakers left
    (`give_up`). `alpha` is the expected share of false claims over all cells (`fdr`) or the chance of one in each cell.
    """

    precision: float | None = None
    decide: bool = True
    margin: float | None = 0.05
    alpha: float = 0.05
    fdr: bool = True
    give_up: bool = True

    def __post_init__(self) -> None:
        if self.precision is None and not self.decide:
            raise VoxauditError(
                "nothing to stop for: give a precision, an attribute whose gap is to be decided on, or both",
                see=("precision", "attribute"),
            )
        for name, value in (("precision", self.precision), ("margin", self.margin)):
            if value is not None and not 0.0 < value < 1.0:
                raise VoxauditError(
                    f"{name} must lie between 0 and 1 (a share of words), not {value:g}", see=(name,)
                )
        if not 0.0 < self.alpha < 0.5:
            raise VoxauditError(f"alpha must lie between 0 and 0.5, not {self.alpha:g}", see=("alpha",))


@dataclass(frozen=True)
class Walk:
    """What the rounds found. `gap_stops` has a row per cell and a column per group but the reference; `rate_stops` a
    column per group; both hold the reason, "" where it was no goal. `heard[c, s]` says whether cell c heard speaker s.
    """

    gaps: Gaps
    rates: Rates
    gap_stops: NDArray[np.str_]
    rate_stops: NDArray[np.str_]
    heard: Mask


def walk(cells: int, order: Order, goal: Goal, hear: Hear) -> Walk:
    """Run the rounds over `cells` cells."""
    groups = len(order.groups)
    sizes = np.array([len(group) for group in order.groups])
    pairs = np.array([order.pairs(g) for g in range(1, groups)], dtype=np.int64)
    contrasts = groups - 1 if goal.decide else 0
    gaps = Gaps(np.tile(pairs[:contrasts], cells), goal.margin, goal.alpha)
    mean_words = order.mean_words()
    rates = Rates(np.tile(sizes, (cells, 1)), np.tile(mean_words, (cells, 1)), goal.alpha)
    gap_stops = np.full((cells, contrasts), "", dtype="<U9")
    rate_stops = np.full((cells, groups), "", dtype="<U9")
    heard = np.zeros((cells, len(order.speakers)), dtype=bool)
    for round_ in range(order.rounds):
        open_gaps = (gap_stops == "") & (round_ < pairs[:contrasts])
        wanted = np.zeros((cells, groups), dtype=bool)
        wanted[:, 1 : 1 + contrasts] = open_gaps
        wanted[:, 0] = open_gaps.any(axis=1)
        if goal.precision is not None:
            wanted |= (rate_stops == "") & (round_ < sizes)
        at = np.nonzero(wanted)
        if not len(at[0]):
            break
        who = np.array([order.groups[g][round_] for g in at[1]])
        errors, words = hear(list(zip(at[0].tolist(), who.tolist(), strict=True)))
        heard[at[0], who] = True
        said = words > 0
        rates.add((at[0][said], at[1][said]), errors[said], words[said])
        table = np.zeros((2, cells, groups))
        table[:, at[0], at[1]] = errors, words
        both = open_gaps & (table[1, :, 1 : 1 + contrasts] > 0) & (table[1, :, :1] > 0)
        cell, contrast = np.nonzero(both)
        if len(cell):
            gaps.add(
                cell * contrasts + contrast,
                (*table[:, cell, contrast + 1], mean_words[contrast + 1]),
                (*table[:, cell, 0], np.full(len(cell), mean_words[0])),
            )
        if goal.decide:
            _decide(goal, gaps, gap_stops, round_ + 1 >= pairs)
        if goal.precision is not None:
            low, high = rates.limits()
            rate_stops[(rate_stops == "") & (high - low <= 2.0 * goal.precision)] = NARROW
            rate_stops[(rate_stops == "") & (round_ + 1 >= sizes)] = EXHAUSTED
    return Walk(gaps, rates, gap_stops, rate_stops, heard)


def _decide(goal: Goal, gaps: Gaps, stops: NDArray[np.str_], last: Mask) -> None:
    """Write why contrasts stop now into `stops`."""
    flat = stops.reshape(-1)  # a view
    shown = np.where(gaps.n >= FEWEST_SPEAKERS, gaps.log_shown(), -np.inf)
    alike = np.where(gaps.n >= FIRST_LOOK, gaps.log_alike(), -np.inf)
    flat[(flat == "") & _claimed(shown, goal)] = SHOWN
    flat[(flat == "") & _claimed(alike, goal)] = ALIKE
    if goal.give_up:
        family = len(flat) / (np.count_nonzero(flat == SHOWN) + 1) if goal.fdr else 1.0
        some = max(FEWEST_SPEAKERS, round(gaps.horizon.max(initial=1) / 5))
        lost = gaps.hopeless(math.log(family / goal.alpha)) & (gaps.n >= some)
        flat[(flat == "") & lost] = HOPELESS
    flat[(flat == "") & np.broadcast_to(last, stops.shape).reshape(-1)] = EXHAUSTED


def _claimed(log_e: FloatArray, goal: Goal) -> Mask:
    return e_bh(log_e, goal.alpha) if goal.fdr else log_e >= math.log(1.0 / goal.alpha)
