"""What stopping early found: rates, gaps, why each cell stopped, and what it saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from voxaudit.audits.sequential.order import Order
from voxaudit.audits.sequential.rounds import ALIKE, SHOWN, Goal, Walk
from voxaudit.audits.sequential.sources import Cell
from voxaudit.stats.anytime import gap_limits

OPEN = "open"
"""The verdict where neither a gap nor its absence was shown."""

FEW_PAIRS = 20
"""Pairs of speakers below which the price of looking often is higher than what stopping early can save."""

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
    """A group's word error rate less the reference group's, in a cell. `verdict`: shown, alike or open.

    `spread_ratio` is the standard deviation of the group's speakers over that of the reference's.
    """

    recognizer: str
    scenario: str
    group: str
    reference: str
    gap: float | None
    low: float | None
    high: float | None
    e_value: float
    pairs: int
    stopped: str
    verdict: str
    spread_ratio: float | None = None


@dataclass(frozen=True)
class Sequential:
    """A sequential audit. `trials` of the full `grid` were asked for; `heard` took a recognizer's time now."""

    goal: Goal
    order: Order
    rates: tuple[Rate, ...]
    gaps: tuple[Gap, ...]
    trials: int
    grid: int
    heard: int
    replayed: bool

    @property
    def findings(self) -> dict[str, Any]:
        """The findings as plain values, as `--json` prints them. Rates and gaps are shares of words."""
        return {
            "goal": asdict(self.goal),
            "attribute": self.order.attribute,
            "groups": {
                name: len(members) for name, members in zip(self.order.names, self.order.groups, strict=True)
            },
            "groups_left_out": list(self.order.left_out),
            "trials": self.trials,
            "grid": self.grid,
            "heard_now": self.heard,
            "replayed": self.replayed,
            "rates": [asdict(rate) for rate in self.rates],
            "gaps": [asdict(gap) for gap in self.gaps],
        }

    def sentences(self) -> list[str]:
        """Return the findings in words."""
        lines = [
            f"{self.trials} of the {self.grid} trials of the full grid were "
            + ("needed" if self.replayed else "heard")
            + (f": {self.grid / self.trials:.1f} times fewer." if self.trials else ".")
        ]
        lines += [
            f"{gap.recognizer}, {gap.scenario}: {100 * abs(gap.gap):.1f} percentage points"
            f" {'more' if gap.gap > 0 else 'fewer'} words wrong for {gap.group} than for {gap.reference}"
            f" ({_points(gap)}), shown after {gap.pairs} pairs."
            for gap in self.gaps
            if gap.verdict == SHOWN and gap.gap is not None
        ]
        alike = [gap for gap in self.gaps if gap.verdict == ALIKE]
        if alike and self.goal.margin is not None:
            where = ", ".join(f"{gap.recognizer} {gap.scenario}" for gap in alike)
            lines.append(f"Alike within {100 * self.goal.margin:g} % of the words: {where}.")
        still = [gap for gap in self.gaps if gap.verdict == OPEN]
        if still:
            lines.append(
                f"Open: {len(still)} of {len(self.gaps)} comparisons. Neither a gap nor its absence is shown."
            )
        pairs = min((self.order.pairs(g) for g in range(1, len(self.order.groups))), default=FEW_PAIRS)
        if self.gaps and pairs < FEW_PAIRS:
            lines.append(
                f"With {pairs} pairs of speakers little can be shown early; a test of the full grid would show more."
            )
        unlike = [f"{gap.recognizer} {gap.scenario}" for gap in self.gaps if _doubtful(gap)]
        if unlike:
            lines.append(
                f"Doubtful: {', '.join(unlike)}. Speakers of the better group differ among themselves over"
                f" {UNLIKE:g} times as much as those of the worse; false alarms of this kind are two to four"
                " times as many as promised."
            )
        if self.order.left_out:
            lines.append(f"Left out, fewer than five speakers: {', '.join(self.order.left_out)}.")
        return lines


def summarize(
    walked: Walk,
    cells: Sequence[Cell],
    order: Order,
    goal: Goal,
    *,
    grid: int,
    heard: int,
    replayed: bool,
) -> Sequential:
    """Return what the rounds found, in words and numbers."""
    utterances = np.array([len(ids) for ids in order.utterances])
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
            stopped = str(walked.gap_stops[c, k])
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
                    stopped,
                    stopped if stopped in (SHOWN, ALIKE) else OPEN,
                    _finite(float(spreads[c, k + 1] / spreads[c, 0])) if spreads[c, 0] > 0 else None,
                )
            )
    trials = int((walked.heard * utterances).sum())
    return Sequential(goal, order, tuple(all_rates), tuple(all_gaps), trials, grid, heard, replayed)


def _doubtful(gap: Gap) -> bool:
    """Say whether skewness can feign this gap: a few very bad speakers, not met yet, make a group look good."""
    if gap.verdict != SHOWN or gap.gap is None or not gap.spread_ratio:
        return False
    return gap.spread_ratio < 1.0 / UNLIKE if gap.gap > 0 else gap.spread_ratio > UNLIKE


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _points(gap: Gap) -> str:
    if gap.low is None or gap.high is None:
        return "no limits"
    return f"{100 * gap.low:+.1f} to {100 * gap.high:+.1f}"
