"""Sensitive attributes in numbers: how errors go with age, years of English or dialect density, without groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Cell,
    Column,
    Curves,
    Figure,
    Finding,
    Refusal,
    Series,
    Table,
    Verdict,
    finding_id,
    number_or_none,
    tabulate,
)
from voxaudit.audits.disparity.gaps import FEWEST_ERRORS
from voxaudit.audits.scores import MOST_GROUPS, Scores
from voxaudit.corpus.bands import group_names
from voxaudit.errors import VoxauditError
from voxaudit.stats.group_design import Categorical, Frame, Numeric
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.permutations import LEVEL, Shuffles
from voxaudit.stats.trend import Trend, trend
from voxaudit.wording import counted, listed

FEWEST_SPEAKERS = 10
"""With fewer speakers no trend is looked for."""
FEWEST_VALUES = 4
"""With fewer different values they are groups."""


@dataclass(frozen=True)
class Slope:
    """How errors go with a number in one part of the table; `refusal` says why nothing can be said."""

    by: dict[str, Any]
    attribute: str
    scenarios: tuple[str, ...]
    utterances: int
    words: int
    speakers: int
    controls: tuple[str, ...] = ()
    found: Trend | None = None
    p_adjusted: float | None = None
    p_any_adjusted: float | None = None
    family: int = 1
    refusal: Refusal | None = None

    def verdict(self, p: float | None) -> Verdict:
        """Return what an adjusted p-value says."""
        if self.found is None or p is None:
            return "refused"
        return "shown" if p <= LEVEL else "not_shown"


def is_number(scores: Scores, column: str, asked: bool) -> bool:
    """Say whether an attribute is a number: asked to be one, or with more values than are compared as groups."""
    values = _numbers(scores.frame[column])
    kinds = 0 if values is None else values.drop_nulls().n_unique()
    if asked and kinds < FEWEST_VALUES:
        raise VoxauditError(
            f"{scores.where}: column '{column}' has too few different numbers for a trend"
            f" ({kinds}; {FEWEST_VALUES} are needed)",
            see=("trend",),
        )
    return asked or kinds > MOST_GROUPS


def _numbers(column: pl.Series) -> pl.Series | None:
    """Return a column as numbers, None where something else is in it."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    if column.dtype != pl.String:
        return None
    text = column.str.strip_chars()
    known = pl.select(pl.when(text != "").then(text)).to_series()
    numbers = known.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == known.null_count() else None


def in_bands(scores: Scores, column: str, cuts: tuple[float, ...]) -> Scores:
    """Return the scores with a column of numbers cut into bands."""
    values = _numbers(scores.frame[column])
    if values is None:
        raise VoxauditError(f"bands of '{column}': the column does not hold numbers", see=("bands",))
    if not cuts or list(cuts) != sorted(set(cuts)):
        raise VoxauditError(f"bands of '{column}': cuts must be numbers in rising order", see=("bands",))
    return replace(scores, frame=scores.frame.with_columns(group_names(values, cuts).alias(column)))


def slope_of(frame: Frame, attribute: str, scenarios: tuple[str, ...], seed: int) -> Slope:
    """Return how errors go with a number in one part, its p-values by themselves."""
    speaker = frame.speaker
    people = 0 if speaker is None else len(speaker.names)
    about = Slope(
        frame.group,
        attribute,
        scenarios,
        len(frame.errors),
        int(frame.words.sum()),
        people,
        tuple(one.column for one in frame.controls),
    )
    columns = _columns(frame)
    why = None
    if speaker is None or people < FEWEST_SPEAKERS + columns.shape[1]:
        text = f"{counted(people, 'speaker')} are too few for a trend: {FEWEST_SPEAKERS + columns.shape[1]} are needed"
        why = Refusal("too_few_speakers", attribute, text, {"speakers": people})
    elif frame.errors.sum() < FEWEST_ERRORS:
        text = f"{int(frame.errors.sum())} errors in {int(frame.words.sum()):,} words are too few for a trend"
        why = Refusal("too_few_errors", attribute, text)
    elif len(frame.attribute.names) < FEWEST_VALUES:
        text = f"only {counted(len(frame.attribute.names), 'value')} of {attribute} occur"
        why = Refusal("one_group", attribute, text)
    if why is not None or speaker is None:
        return replace(about, refusal=why)
    x = np.array([float(name) for name in frame.attribute.names])[frame.attribute.codes]
    shuffles = Shuffles.affordable(people, seed=seed)
    found = trend(frame.errors, frame.words, x, speaker.codes, columns, shuffles)
    return replace(about, found=found)


def _columns(frame: Frame) -> np.ndarray[Any, Any]:
    """Return the controls as columns, those that others determine left out."""
    columns: list[np.ndarray[Any, Any]] = []
    for one in frame.controls:
        if isinstance(one, Numeric):
            columns.append(one.values)
        elif isinstance(one, Categorical):
            columns += [(one.labels.codes == code).astype(float) for code in range(1, len(one.labels.names))]
    kept: list[np.ndarray[Any, Any]] = [np.ones(len(frame.errors))]
    for column in columns:
        design = np.column_stack(kept)
        left = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
        if np.linalg.norm(left) > 1e-8 * np.linalg.norm(column):
            kept.append(column)
    return np.column_stack([*kept[1:]]) if len(kept) > 1 else np.empty((len(frame.errors), 0))


def adjusted(slopes: Sequence[Slope]) -> list[Slope]:
    """Return the slopes with p-values adjusted over all slopes and trends of the answer (Holm)."""
    p = [one.found.p if one.found else None for one in slopes]
    p_any = [one.found.p_any if one.found else None for one in slopes]
    together = holm([*p, *p_any])
    family = sum(one is not None for one in (*p, *p_any))
    return [
        replace(one, p_adjusted=together[place], p_any_adjusted=together[len(slopes) + place], family=family)
        for place, one in enumerate(slopes)
    ]


# The words


def slope_findings(slopes: Sequence[Slope], keys_of: Any, when: Any) -> Iterator[Finding]:
    """Yield the slope of every attribute and part, and whether there is any trend."""
    for one in slopes:
        heard = one.scenarios[: len(one.scenarios) == 1]
        about: dict[str, Any] = {
            "attribute": one.attribute,
            "speakers": one.speakers,
            "utterances": one.utterances,
            "words": one.words,
            "unit": "ratio",
            **keys_of(one),
        }
        id_ = finding_id("disparity", *one.by.values(), *heard, one.attribute, "slope")
        found = one.found
        if found is None:
            assert one.refusal is not None
            sentence = f"{when(one)}: no conclusion about {one.attribute}: {one.refusal.text.rstrip('.')}."
            yield Finding(id_, "slope", "refused", sentence, code=one.refusal.code, headline=True, **about)
            continue
        verdict = one.verdict(one.p_adjusted)
        held = f", {listed(one.controls, 3)} held fixed" if one.controls else ""
        low, high = found.rate[0], found.rate[-1]
        claim = (
            f"{when(one)} makes {_more(found)} per unit of {one.attribute}: {100 * low:.1f} % of the words at"
            f" {found.x[0]:.3g}, {100 * high:.1f} % at {found.x[-1]:.3g}{held} ({counted(one.speakers, 'speaker')})"
        )
        end, excludes = "a slope is shown", None
        if verdict != "shown":
            excludes = max(found.low, found.high, key=lambda one: abs(math.log(one)))
            end = f"no slope is shown; {_percent(excludes)} per unit are not excluded"
        yield Finding(
            id_,
            "slope",
            verdict,
            f"{claim}: {end}.",
            estimate=found.ratio,
            low=found.low,
            high=found.high,
            p=found.p,
            p_adjusted=one.p_adjusted,
            family=f"{counted(one.family, 'slope')} and trends",
            excludes=excludes,
            headline=True,
            **about,
        )
        verdict = one.verdict(one.p_any_adjusted)
        said = "errors change" if verdict == "shown" else "errors are not shown to change"
        yield Finding(
            finding_id("disparity", *one.by.values(), *heard, one.attribute, "trend"),
            "trend",
            verdict,
            f"{when(one)}: {said} with {one.attribute} along a curve of 3 degrees.",
            estimate=float(found.rate.max() / found.rate.min()),
            p=found.p_any,
            p_adjusted=one.p_any_adjusted,
            family=f"{counted(one.family, 'slope')} and trends",
            **about,
        )


def _more(found: Trend) -> str:
    """Return by how many percent errors grow or fall per unit."""
    change, low, high = (100.0 * (one - 1.0) for one in (found.ratio, found.low, found.high))
    digits = 2 if max(abs(low), abs(high)) < 10.0 else 1
    word = "more" if change >= 0.0 else "fewer"
    if change < 0.0:
        change, low, high = -change, -high, -low
    return f"{change:.{digits}f} % {word} errors ({low:.{digits}f} to {high:.{digits}f} %)"


def _percent(ratio: float) -> str:
    """Return a slope as so many percent more or fewer errors."""
    change = 100.0 * (ratio - 1.0)
    digits = 2 if abs(change) < 10.0 else 1
    return f"up to {abs(change):.{digits}f} % {'more' if change >= 0.0 else 'fewer'} errors"


def slopes_table(slopes: Sequence[Slope], split: tuple[str, ...]) -> Table:
    """Return a row per attribute and part."""
    rows = []
    for one in slopes:
        if one.found is None:
            continue
        found = one.found
        row: dict[str, Any] = {**one.by, "attribute": one.attribute, "speakers": one.speakers}
        row |= {"from": float(found.x[0]), "rate_from": float(found.rate[0])}
        row |= {"to": float(found.x[-1]), "rate_to": float(found.rate[-1])}
        row |= {"slope": found.ratio, "low": found.low, "high": found.high, "p": found.p}
        row |= {"p_adjusted": one.p_adjusted, "p_any": found.p_any, "p_any_adjusted": one.p_any_adjusted}
        rows.append(row | {"verdict": one.verdict(one.p_adjusted).replace("_", " ")})
    columns: list[Any] = [*split, "attribute", "speakers", Column("from", "", "number")]
    columns += [Column("rate_from", "WER there", "percent"), Column("to", "", "number")]
    columns += [
        Column("rate_to", "WER there", "percent"),
        Column("slope", "times per unit", "number", "low", "high"),
    ]
    columns += ["p", "p_adjusted", Column("p_any_adjusted", "p, adjusted, any trend", "p"), "verdict"]
    note = (
        "By how much the error rate is multiplied per unit (a year, a point). WERs are those of the curve near the"
        " ends. p, adjusted, holds for all slopes and trends of this answer together (Holm)."
    )
    return tabulate("slopes", "How errors go with a number", rows, columns, note=note)


def curves_table(slopes: Sequence[Slope], split: tuple[str, ...]) -> Table:
    """Return the curves as rows."""
    rows = [
        {
            **one.by,
            "attribute": one.attribute,
            "value": float(x),
            "wer": float(rate),
            "low": float(low),
            "high": number_or_none(float(high)),
        }
        for one in slopes
        if one.found is not None
        for x, rate, low, high in zip(
            one.found.x, one.found.rate, one.found.rate_low, one.found.rate_high, strict=True
        )
    ]
    columns: list[Any] = [
        *split,
        "attribute",
        Column("value", "at", "number"),
        ("wer", "WER", "percent", "low", "high"),
    ]
    note = "A restricted cubic spline with 3 degrees, controls at their means; limits are pointwise."
    return tabulate("curves", "Curves", rows, columns, note=note, folded=True)


def slope_figures(slopes: Sequence[Slope]) -> Iterator[Figure]:
    """Yield a figure per attribute with a panel for every part."""
    by_name: dict[str, list[Slope]] = {}
    for one in slopes:
        if one.found is not None:
            by_name.setdefault(one.attribute, []).append(one)
    for name, some in by_name.items():
        panels = []
        for one in some:
            found: Mapping[str, Any] = vars(one.found)
            cells = tuple(
                Cell(float(rate), float(low), number_or_none(float(high)))
                for rate, low, high in zip(found["rate"], found["rate_low"], found["rate_high"], strict=True)
            )
            title = ", ".join(str(value) for value in one.by.values()) or name
            panels.append((title, tuple(f"{x:.3g}" for x in found["x"]), (Series(name, cells),)))
        yield Figure(
            f"curve-{name}",
            f"Errors by {name}",
            f"Word error rate along {name} with pointwise 95 % limits, {counted(len(panels), 'panel')}.",
            Curves(tuple(panels), "word error rate", name),
            "curves",
        )
