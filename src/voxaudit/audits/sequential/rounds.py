"""The rounds: hear one speaker of every group, look, stop what is settled, go on with the rest.

All cells meet the same speakers in the same round, and whether a cell goes on depends on past rounds only. So every
e-process stays one whatever made its cell stop, and e-BH over the stopped ones holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.answer import Verdict
from voxaudit.audits.sequential.evidence import Gaps, Mask, Rates
from voxaudit.audits.sequential.order import Cell, Order
from voxaudit.errors import VoxauditError
from voxaudit.stats.anytime import FloatArray, e_bh, gap_limits
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

FIRST_LOOK = 10
"""Pairs of speakers before groups can be alike: the claim rests on a spread that must be known."""

NARROW, SHOWN, ALIKE, HOPELESS, EXHAUSTED = "narrow", "shown", "alike", "hopeless", "exhausted"

Hear = Callable[[Sequence[tuple[int, int]]], tuple[FloatArray, FloatArray]]
"""From (cell, speaker) pairs to the errors and words of each; a speaker of whom nothing could be heard has 0 words."""


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


UNLIKE = 2.5
"""A ratio of spreads beyond which e-values are too large to be taken at their word (see docs/sequential.md)."""


@dataclass(frozen=True)
class Rate:
    """A cell's word error rate in a group; the limits hold at all looks together (none before 20 speakers)."""

    recognizer: str
    scenario: str
    group: str
    wer: float | None
    low: float | None
    high: float | None
    speakers: int
    stopped: str


@dataclass(frozen=True)
class Gap:
    """A group's word error rate less that of the group it is compared with, in a cell.

    `e_value` is the evidence against "there is no gap"; the limits hold every gap whose e-value is below 1/alpha.
    `spread_ratio` is the standard deviation of the group's speakers over that of the other's.
    """

    recognizer: str
    scenario: str
    group: str
    against: str
    gap: float | None
    low: float | None
    high: float | None
    e_value: float
    pairs: int
    stopped: str
    spread_ratio: float | None

    @property
    def verdict(self) -> Verdict:
        """The claim it stopped with; not shown where it made none."""
        return "shown" if self.stopped == SHOWN else "alike" if self.stopped == ALIKE else "not_shown"

    @property
    def doubtful(self) -> bool:
        """True where skewness can feign the gap: a few very bad speakers, not met yet, make a group look good."""
        if self.stopped != SHOWN or self.gap is None or not self.spread_ratio:
            return False
        return self.spread_ratio < 1.0 / UNLIKE if self.gap > 0 else self.spread_ratio > UNLIKE


def summarize(
    walked: Walk, cells: Sequence[Cell], order: Order, goal: Goal
) -> tuple[tuple[Rate, ...], tuple[Gap, ...]]:
    """Return the rates and gaps that the rounds found."""
    rates, (lows, highs) = walked.rates.rate(), walked.rates.limits()
    all_rates, all_gaps = [], []
    e_values = walked.gaps.log_shown()
    spreads = walked.rates.spread()
    for c, cell in enumerate(cells):
        for g, name in enumerate(order.names):
            wer, low, high = (float(values[c, g]) for values in (rates, lows, highs))
            known = math.isfinite(high)
            all_rates.append(
                Rate(
                    cell.recognizer,
                    cell.scenario,
                    name,
                    None if math.isnan(wer) else wer,
                    low if known else None,
                    high if known else None,
                    int(walked.rates.n[c, g]),
                    str(walked.rate_stops[c, g]),
                )
            )
        contrasts = walked.gap_stops.shape[1]
        for k in range(contrasts):
            row = c * contrasts + k
            pairs = int(walked.gaps.n[row])
            limits: tuple[float | None, float | None] = (None, None)
            if pairs:
                lower, upper = gap_limits(
                    walked.gaps.differences[row, :pairs],
                    walked.gaps.scales[row, :pairs],
                    walked.gaps.stakes,
                    goal.alpha,
                )
                limits = _finite(lower), _finite(upper)
            all_gaps.append(
                Gap(
                    cell.recognizer,
                    cell.scenario,
                    order.names[k + 1],
                    order.names[0],
                    float(walked.gaps.mean[row]) if pairs else None,
                    *limits,
                    math.exp(min(float(e_values[row]), 700.0)),
                    pairs,
                    str(walked.gap_stops[c, k]),
                    _finite(float(spreads[c, k + 1] / spreads[c, 0])) if spreads[c, 0] > 0 else None,
                )
            )
    return tuple(all_rates), tuple(all_gaps)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
