"""Gates: what a run must not exceed. Judged by what the chapters found; what cannot be judged does not pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.accuracy import surely_at_least
from voxaudit.audits.disparity import ONE_SPEAKER
from voxaudit.audits.disparity.result import Effect
from voxaudit.config import WHOLE_RUN, Gate, Gates
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import GateResult
from voxaudit.report.numbers import in_points, percent, percent_interval, ratio_interval
from voxaudit.report.parts import attempt, counted, listed, number_or_none
from voxaudit.report.sections.differential import surviving
from voxaudit.stats.cells import FloatArray

Judged = tuple[str, float | None, float | None, float | None]
"""What was found, in words, then the estimate and its limits."""


def judge(context: Context, gates: Gates) -> tuple[GateResult, ...]:
    """Return what became of every gate: those of recognizers first, then those of the whole run."""
    results = [
        _recognizer(context, name, kind, gate)
        for name in context.recognizers
        for kind, gate in gates.of(name).items()
        if kind not in WHOLE_RUN
    ]
    if "differential" in gates.common:
        results.append(_differential(context, gates.common["differential"]))
    if gates.baseline is not None:
        results.append(_baseline(context, gates.baseline))
    return tuple(results)


def failed(results: tuple[GateResult, ...]) -> str | None:
    """Return one line that names what failed, or None."""
    lost = [gate.sentence for gate in results if not gate.passed]
    return f"{len(lost)} of {len(results)} gates failed: {' '.join(lost)}" if lost else None


def _recognizer(context: Context, name: str, kind: str, gate: Gate) -> GateResult:
    id_ = f"{kind}/{name}"
    question, show = _QUESTIONS[kind]
    found = attempt(lambda: question(context, name, gate.bound))
    if isinstance(found, VoxauditError):
        return _cannot(id_, f"{name}: {one_line(found, 300)}", gate.limit)
    sentence, *numbers = found
    value = numbers[("point", "lower", "upper").index(gate.bound)]
    if value is None:
        side = {"lower": "a lower limit", "upper": "an upper limit", "point": "a value"}[gate.bound]
        return _cannot(id_, f"{sentence}, without {side}", gate.limit)
    passed = not value > gate.limit
    bound = "" if gate.bound == "point" else f" (its {gate.bound} limit counts)"
    return GateResult(
        name=id_,
        passed=passed,
        sentence=f"{sentence}; {kind} {'allows' if passed else 'allows only'} {show(gate.limit)}{bound}.",
        limit=gate.limit,
        found=number_or_none(value),
    )


def _cannot(id_: str, why: str, limit: float | None) -> GateResult:
    sentence = f"{id_} cannot be judged: {why.rstrip('.')}."
    return GateResult(id_, passed=False, sentence=sentence, limit=limit, skipped=True)


def _clean_wer(context: Context, name: str, bound: str) -> Judged:
    rows = _rates(context, name).filter(pl.col("scenario") == CLEAN)
    if rows.is_empty():
        raise VoxauditError("there is no error rate on clean speech")
    row = rows.row(0, named=True)
    return _worded(f"{name} gets {{}} of the words wrong on clean speech", row)


def _worst_wer(context: Context, name: str, bound: str) -> Judged:
    """Return the scenario that is worst by what is judged: its estimate or a limit.

    The largest of many lower limits is too high by chance, so that they are taken together. An upper limit needs
    nothing of the kind: all scenarios have to be below.
    """
    rows = _rates(context, name).filter(pl.col("scenario") != CLEAN)
    if rows.is_empty():
        raise VoxauditError("there is no error rate on disturbed speech")
    if bound == "lower" and rows.height > 1:
        own = pl.col("recognizer").cast(pl.String) == name
        scores = context.scores.filter(
            own & pl.col("scenario").cast(pl.String).is_in(rows["scenario"].to_list())
        )
        together = surely_at_least(scores).with_columns(pl.col("scenario").cast(pl.String))
        row = _first(rows.join(together, on="scenario", maintain_order="left"), "low", bound)
        if row["low"] is not None:
            sentence = (
                f"{name} gets {percent(row['wer'])} of the words wrong under {row['scenario']}, at least"
                f" {percent(row['low'])} with {rows.height} scenarios taken together"
            )
            return sentence, row["wer"], row["low"], row["ci_high"]
    column = {"point": "wer", "lower": "ci_low", "upper": "ci_high"}[bound]
    row = _first(rows, column, bound)
    return _worded(f"{name} gets {{}} of the words wrong under {_braced(row['scenario'])}", row)


def _first(rows: pl.DataFrame, column: str, bound: str) -> dict[str, Any]:
    """Return the row that is worst; one without an upper limit may be worse than all."""
    return rows.sort(column, descending=True, nulls_last=bound != "upper", maintain_order=True).row(
        0, named=True
    )


def _rates(context: Context, name: str) -> pl.DataFrame:
    return context.rates.filter((pl.col("recognizer") == name) & pl.col("wer").is_not_null())


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _worded(words: str, row: dict[str, Any]) -> Judged:
    value = percent_interval(row["wer"], row["ci_low"], row["ci_high"])
    return words.format(value), row["wer"], row["ci_low"], row["ci_high"]


def _category_nwerd(context: Context, name: str, bound: str) -> Judged:
    found = context.robustness
    if isinstance(found, VoxauditError):
        raise found
    rows = found.levels.filter(
        (pl.col("recognizer") == name) & (pl.col("level") == "category") & pl.col("nwerd").is_not_null()
    )
    if rows.is_empty():
        raise VoxauditError(
            "no category of disturbances has an NWERD; difficulties come from `voxaudit quality RUN`"
        )
    if bound == "lower" and rows.height > 1:
        row = _first(rows.with_columns(low=_lower_by_bonferroni(rows)), "low", bound)
        if row["low"] is not None:
            sentence = (
                f"NWERD of {name} under {row['name']} is {in_points(row['nwerd'])}, at least"
                f" {100 * row['low']:.1f} with {rows.height} categories taken together"
            )
            return sentence, row["nwerd"], row["low"], row["nwerd_high"]
    column = {"point": "nwerd", "lower": "nwerd_low", "upper": "nwerd_high"}[bound]
    row = _first(rows, column, bound)
    numbers = (row["nwerd"], row["nwerd_low"], row["nwerd_high"])
    return f"NWERD of {name} under {row['name']} is {in_points(*numbers)}", *numbers


def _lower_by_bonferroni(rows: pl.DataFrame) -> pl.Series:
    """Return lower limits of NWERD that hold for all rows at once."""
    df = rows["speakers"].fill_null(2).to_numpy() - 1.0  # without speakers there is no limit either
    return rows["nwerd"] - pl.Series(_farther(df, rows.height)) * (rows["nwerd"] - rows["nwerd_low"])


def _farther(df: FloatArray, count: int) -> FloatArray:
    """Return how many times as far away a 95 % limit lies that holds for `count` estimates at once (Bonferroni)."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, 1.0 - 0.025 / count) / stdtrit(df, 0.975))


def _group_ratio(context: Context, name: str, bound: str) -> Judged:
    """Return the comparison of two groups that is worst by what is judged.

    Each group is compared with the reference group of its attribute; where the reference is the worse one, the ratio is
    turned round. As with scenarios, the largest of several lower limits would be too high by chance.
    """
    if not context.attributes:
        raise VoxauditError("no attribute was named whose groups could be compared")
    compared = list(_comparisons(context, name))
    if not compared:
        raise VoxauditError("every group has one speaker only")
    if bound == "lower" and len(compared) > 1:
        compared = [_together(one, len(compared)) for one in compared]
    place = {"point": 0, "lower": 1, "upper": 2}[bound]

    def judged(one: _Compared) -> float:
        value = one.numbers[place]
        # What has no upper limit may be anything; what has no lower limit is surely nothing.
        return value if value is not None else math.inf if bound == "upper" else -math.inf

    worst = max(compared, key=judged)
    return worst.sentence, *worst.numbers


@dataclass(frozen=True)
class _Compared:
    """Two groups: what is said of them, the ratio with its limits, and the speakers of the smaller group."""

    sentence: str
    numbers: tuple[float | None, float | None, float | None]
    speakers: int


def _together(one: _Compared, count: int) -> _Compared:
    """Return the comparison with a lower limit that holds for `count` of them at once, on the log scale."""
    ratio, low, high = one.numbers
    if not ratio or not low or not math.isfinite(ratio):
        return one
    df = np.array(max(one.speakers - 1.0, 1.0))
    low = ratio * (low / ratio) ** float(_farther(df, count))
    return _Compared(
        f"{one.sentence}, at least {low:.2f} times with {count} comparisons taken together",
        (ratio, low, high),
        one.speakers,
    )


def _comparisons(context: Context, name: str) -> Iterator[_Compared]:
    for attribute, found in context.disparities.items():
        if isinstance(found, VoxauditError):
            raise VoxauditError(f"{attribute}: {found}")
        fit = next((one for one in found.fits if one.by["recognizer"] == name), None)
        if fit is None or fit.refusal:
            raise VoxauditError(f"{attribute}: {'nothing was scored' if fit is None else fit.refusal}")
        people = {group.group: group.speakers or 0 for group in fit.groups}
        for effect in fit.effects:
            if effect.verdict != ONE_SPEAKER:
                fewest = min(people.get(effect.group, 0), people.get(fit.reference, 0))
                yield _turned(name, attribute, fit.reference, effect, fewest)


def _turned(name: str, attribute: str, reference: str, effect: Effect, speakers: int) -> _Compared:
    worse, better = effect.group, reference
    low, high = _limits(effect)
    numbers: tuple[float | None, float | None, float | None] = (effect.ratio, low, high)
    if effect.ratio < 1.0:
        worse, better = better, worse
        numbers = (_inverse(effect.ratio), _inverse(high), _inverse(low))
    value, _, limits = ratio_interval(*numbers).partition(" ")
    sentence = f"{name} makes {value} times as many errors {limits} for {worse} ({attribute}) as for {better}"
    return _Compared(sentence, numbers, speakers)


def _limits(effect: Effect) -> tuple[float | None, float | None]:
    """Return the outer limits of the likelihood's and the speaker-robust interval: a gap has to convince both."""
    kinds = [one for one in (effect.profile, effect.robust) if one is not None]
    lows = [effect.ci_low, *(one.ci_low for one in kinds)]
    highs = [effect.ci_high, *(one.ci_high for one in kinds)]
    return (
        min((low for low in lows if low is not None), default=None),
        max((high for high in highs if high is not None), default=None),
    )


def _inverse(value: float | None) -> float | None:
    return None if value is None else math.inf if value == 0.0 else 1.0 / value


def _max_failures(context: Context, name: str, bound: str) -> Judged:
    rows = context.run.transcripts.filter(pl.col("recognizer") == name)
    if rows.is_empty():
        raise VoxauditError("nothing was heard")
    share = rows["failure"].count() / rows.height
    return f"{percent(share)} of the trials of {name} failed", share, None, None


_QUESTIONS: dict[str, tuple[Callable[[Context, str, str], Judged], Callable[[float], str]]] = {
    "clean_wer": (_clean_wer, percent),
    "worst_wer": (_worst_wer, percent),
    "category_nwerd": (_category_nwerd, lambda limit: f"{100 * limit:.1f}"),
    "worst_group_ratio": (_group_ratio, lambda limit: f"{limit:g}"),
    "max_failures": (_max_failures, percent),
}


def _differential(context: Context, gate: Gate) -> GateResult:
    """Count the comparisons that survive false-discovery control, over all attributes."""
    count = 0
    if not context.attributes:
        return _cannot("differential", "no attribute was named whose groups could be compared", gate.limit)
    for attribute, found in context.differentials.items():
        if isinstance(found, VoxauditError):
            return _cannot("differential", f"{attribute}: {one_line(found, 300)}", gate.limit)
        if not found.view.tested:
            return _cannot(
                "differential",
                f"{attribute}: {next(iter(found.refusals), 'no question could be tested')}",
                gate.limit,
            )
        count += surviving(found.view).height
    passed = not count > gate.limit
    sentence = (
        f"{counted(count, 'comparison')} of groups under disturbance"
        f" {'is' if count == 1 else 'are'} significant; differential"
        f" {'allows' if passed else 'allows only'} {gate.limit:g}."
    )
    return GateResult("differential", passed, sentence, gate.limit, float(count))


def _baseline(context: Context, baseline: Path) -> GateResult:
    found = attempt(lambda: regressions(context, baseline))
    if isinstance(found, VoxauditError):
        return _cannot("baseline", one_line(found, 300), 0.0)
    if not found:
        sentence = f"No recognizer is significantly worse in any scenario than in {baseline.name}."
        return GateResult("baseline", True, sentence, 0.0, 0.0)
    sentence = f"Significantly worse than in {baseline.name}: {listed(found, 4)}."
    return GateResult("baseline", False, sentence, 0.0, float(len(found)))


def regressions(context: Context, baseline: Path) -> list[str]:
    """Return what got significantly worse since another run, a few words each."""
    from voxaudit.audits.compare import compare
    from voxaudit.audits.compare.sources import read_pair

    before, now = read_pair(baseline, context.run.folder)
    groups = [context.column[name] for name in context.attributes if context.unfit(name) is None]
    found = compare(before, now, attributes=[name for name in groups if name in before.columns])
    if found.slices and all(one.verdict == "undecided" for one in found.slices):
        raise VoxauditError("too few speakers to show any change")
    return [
        f"{one.recognizer}, {one.spoken} by {in_points(one.difference, one.low, one.high)}"
        for one in found.regressions
    ]
