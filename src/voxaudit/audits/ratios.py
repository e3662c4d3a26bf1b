"""Groups compared by sums over their speakers: seconds per answer, words per minute, confidence per right word ...

What is compared is `sum(top) / sum(below)` of one group over that of another, as the reader takes it from the table;
the test is that of `stats.group_ratios`, speakers being the sample and all questions of an audit one family.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from voxaudit.answer import Finding, Refusal, finding_id, number_or_none
from voxaudit.audits.scores import Scores
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.group_ratios import Judged, Rates, Shares, judge
from voxaudit.stats.labels import Labels
from voxaudit.stats.permutations import LEVEL, Shuffles
from voxaudit.wording import named, p_value, speakers_of

FAMILY = "groups"
FEWEST_CASES = 5
"""Cases under which groups are not compared."""


@dataclass(frozen=True)
class Ratio:
    """A quantity of trials: `sum(top) / sum(below)`; nulls add nothing.

    With `cases`, a column of counts, groups are compared where it comes to `FEWEST_CASES`. With `above_least`, what
    even the best served speaker has is taken off before groups are compared: times have a part that nobody escapes,
    which hides how much speakers differ, and the test claims too much with it (9.5 % of simulated audits without a
    difference where six speakers differ widely; 3.8 % without it). The ratio and its limits are those of the whole.
    With `share`, top is a part of below, and cannot be more.
    """

    measure: str
    top: str
    below: str
    cases: str | None = None
    above_least: bool = False
    share: bool = False


Compared = tuple[Ratio, dict[str, Any], Judged]
"""What was compared, whom with whom, and what came out."""


def compare_groups(
    read: Scores, trials: pl.DataFrame, attributes: Sequence[str], ratios: Sequence[Ratio], seed: int
) -> tuple[list[Compared], list[Refusal]]:
    """Compare every group of some attributes with the largest one, by ratio and recognizer."""
    if not attributes:
        return [], []
    if trials["speaker"].null_count():
        text = "the speaker of some trials is unknown, and trials of one speaker are not independent"
        return [], [Refusal("no_speakers", "groups", text)]
    unit = _labels(trials["speaker"])
    name_of = _labels(trials["recognizer"])
    shuffles = Shuffles(len(unit.names), seed=seed)
    questions: list[tuple[Ratio, dict[str, Any], float, Rates]] = []
    refusals = []
    for attribute in attributes:
        groups = read.comparable(attribute)
        group = _labels(trials[read.column(attribute)].cast(pl.String))
        shape = (len(name_of.names), len(group.names) + 1, len(unit.names))
        # Rows without a group have a place behind the last one.
        cell = np.ravel_multi_index((name_of.codes, group.codes % shape[1], unit.codes), shape)
        sums = {
            name: np.bincount(
                cell, trials[name].fill_null(0.0).to_numpy().astype(np.float64), int(np.prod(shape))
            ).reshape(shape)
            for name in {name for ratio in ratios for name in (ratio.top, ratio.below, ratio.cases) if name}
        }
        heard = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).sum(axis=0)
        number = {name: place for place, name in enumerate(group.names)}
        sizes = {one: int((heard[number[one]] > 0).sum()) if one in number else 0 for one in groups}
        few = [one for one in groups if sizes[one] < FEWEST_SPEAKERS]
        if few:
            text = f"fewer than {FEWEST_SPEAKERS} speakers: {', '.join(map(named, few))}"
            refusals.append(Refusal("too_few_speakers", attribute, text, {"groups": few}))
        groups = [one for one in groups if one not in few]
        for other in groups[1:]:
            for name in (name for name in read.recognizers if name in name_of.names):
                for ratio in ratios:
                    at = [(name_of.names.index(name), number[one]) for one in (other, groups[0])]
                    if ratio.cases and sum(sums[ratio.cases][place].sum() for place in at) < FEWEST_CASES:
                        continue
                    sides = [
                        np.stack([sums[column][place][:, None] for column in (ratio.top, ratio.below)])
                        for place in at
                    ]
                    if not all(side[1].any() for side in sides):
                        continue
                    about: dict[str, Any] = {
                        "recognizer": name,
                        "attribute": attribute,
                        "group": other,
                        "against": groups[0],
                    }
                    about |= {"speakers": sizes[other], "speakers_against": sizes[groups[0]]}
                    share = take_least(sides) if ratio.above_least else 0.0
                    rates = Shares if ratio.share and mostly(sides[0] + sides[1]) else Rates
                    questions.append((ratio, about, share, rates(sides[0], sides[1], shuffles)))
    judged = judge([rates for *_, rates in questions])
    return [
        (ratio, about, _of_the_whole(one, share))
        for (ratio, about, share, _), (one,) in zip(questions, judged, strict=True)
    ], refusals


def sums_by(trials: pl.DataFrame, keys: Collection[str], *sums: pl.Expr) -> pl.DataFrame:
    """Return sums of trials by columns, in order of appearance: what tables and comparisons are then made of."""
    # Grouped by numbers, names take half the time and memory.
    names = cs.by_name(*keys) & cs.string()
    cells = trials.with_columns(names.cast(pl.Categorical)).group_by(*keys, maintain_order=True).agg(*sums)
    return cells.with_columns(cs.categorical().cast(pl.String))


def mostly(sums: FloatArray) -> Any:
    """Say whether more than half of what was asked are cases: sums x speakers x ..."""
    return 2.0 * sums[0].sum(axis=0) > sums[1].sum(axis=0)


def take_least(sides: Sequence[FloatArray]) -> float:
    """Take off both sides (sums x speakers x 1) what the speaker with the least has; return its share in the second.

    Nothing is taken where nobody in a group would have anything left.
    """
    top, below = sides[0] + sides[1]
    least = float(np.min(top[below > 0.0] / below[below > 0.0]))
    whole = float(sides[1][0].sum() / sides[1][1].sum())
    if not all((side[0] - least * side[1]).sum() > 1e-9 * side[0].sum() for side in sides):
        return 0.0
    for side in sides:
        side[0] = np.maximum(side[0] - least * side[1], 0.0)
    return least / whole


def _of_the_whole(one: Judged, share: float) -> Judged:
    """Return what a comparison says once that share of the second group's rate is put back on both sides."""
    ends = (
        None if value is None else share + (1.0 - share) * value for value in (one.low, one.high, one.lowest)
    )
    low, high, lowest = ends
    return replace(one, ratio=share + (1.0 - share) * one.ratio, low=low, high=high, lowest=lowest)


def _labels(column: pl.Series) -> Labels:
    """Return a column's labels as they are, in order of appearance: shuffles go by the order of speakers."""
    names = column.drop_nulls().unique(maintain_order=True)
    codes = column.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
    return Labels(codes.to_numpy(), tuple(names.to_list()))


def group_finding(audit: str, compared: Compared, shown: str, open_: str, unit: str) -> Finding:
    """Return the finding of a comparison.

    `shown` and `open_` say what is shown, or not shown: `{more}` is more or fewer, `{much}` more or less, `{longer}`
    longer or less time. `unit` follows "1.25 times as" (`many per minute`).
    """
    ratio, about, one = compared
    is_shown = one.p_adjusted is not None and one.p_adjusted <= LEVEL
    size = "infinitely" if not np.isfinite(one.ratio) else f"{one.ratio:.2f}"
    ends = " to ".join(
        "no limit" if end is None or np.isinf(end) else f"{end:.2f}" for end in (one.low, one.high)
    )
    whom = f"{speakers_of(about['group'], about['attribute'])} than for {speakers_of(about['against'])}"
    said = (shown if is_shown else open_).replace("{more}", "more" if one.ratio >= 1.0 else "fewer")
    said = said.replace("{much}", "more" if one.ratio >= 1.0 else "less")
    said = said.replace("{longer}", "longer" if one.ratio >= 1.0 else "less time")
    return Finding(
        finding_id(audit, about["recognizer"], about["attribute"], about["group"], ratio.measure),
        ratio.measure,
        "shown" if is_shown else "not_shown",
        f"{about['recognizer']} {said} for {whom}: {size} times as {unit} ({ends}),"
        f" {p_value(one.p_adjusted or 1.0)}.",
        estimate=number_or_none(one.ratio),
        low=one.low,
        high=one.high,
        unit="ratio",
        p=one.p,
        p_adjusted=one.p_adjusted,
        family=FAMILY,
        excludes=None if is_shown else one.high,
        headline=is_shown,
        **about,
    )
