"""Stutter: can people who stutter use it? What a stutter audit's folder says, with the labels people gave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.stutter.cases import NORMALIZER
from voxaudit.audits.stutter.queue import QUEUE, false_positive_rate, read_labels
from voxaudit.audits.stutter.refused import read_refusal
from voxaudit.errors import VoxauditError, one_line
from voxaudit.report.context import Context
from voxaudit.report.document import (
    Cell,
    Curves,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Refusal,
    Section,
    Series,
    Table,
    Verdict,
)
from voxaudit.report.numbers import in_points, percent
from voxaudit.report.parts import Spec, attempt, finding_id, number_or_none, refusal, table_of
from voxaudit.report.remedies import refuse
from voxaudit.score.normalize import normalizer
from voxaudit.stats.multiplicity import holm
from voxaudit.wording import p_value

AUDIT = "stutter"
MOST_CASES = 200
LEVEL = 0.05
NOT_ASKED = "not asked of this run"
HOW = (
    "add a section `[stutter]` to audit.toml and run it again (the extra `embeddings` is needed), or make the audit by"
    " `voxaudit stutter CORPUS --out RUN/stutter`, then `voxaudit report RUN`"
)
CHANGE: tuple[Spec, ...] = (
    ("wer_original", "WER before", "percent"),
    ("wer", "WER after", "percent"),
    ("werd", "change, points", "points"),
    ("interval", "95 % interval", "interval"),
    ("p", "p", "p"),
    ("cases", "cases", "count"),
    ("speakers", "speakers", "count"),
)
LIMITS = {"interval": ("low", "high")}


def section(context: Context) -> Section:
    """Return the chapter."""
    title, folder = "People who stutter", context.stutter
    refused = read_refusal(folder)
    if refused is not None:
        return Section(AUDIT, title, refusals=(refuse(AUDIT, "stuttered speech", refused),))
    if not (folder / "stutter.json").is_file():
        return Section(AUDIT, title, refusals=(Refusal("stuttered speech", NOT_ASKED, HOW),))
    made = attempt(lambda: _chapter(title, folder, context.recognizers))
    if isinstance(made, VoxauditError):
        return Section(AUDIT, title, refusals=(refusal(AUDIT, "stuttered speech", made, folder),))
    return made


def _chapter(title: str, folder: Path, recognizers: Sequence[str]) -> Section:
    path = folder / "stutter.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        labels = read_labels(folder / QUEUE) if (folder / QUEUE).is_file() else {}
        return Section(
            id=AUDIT,
            title=title,
            lead=(
                f"{found['utterances']} utterances were made to stutter, {_count(found)} cases in all (blocks,"
                " prolongations, repetitions, interjections). Errors are counted against what the person means to say.",
                *_example(found),
            ),
            findings=(*_findings(found), *_oracle(labels)),
            figures=(_costs(found), *_dose(found)),
            tables=tuple(_tables(found)),
            notes=(*_no_part(found, recognizers), *_left_out(found)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VoxauditError(
            f"{path}: not the findings of a stutter audit ({one_line(repr(error), 120)})"
        ) from error


def _count(found: Mapping[str, Any]) -> int:
    """Return how many cases were heard: a chain that was drawn twice counts twice, as in the rates."""
    return int(max((one["cases"] for one in found["recognizers"].values()), default=found["cases"]))


def _example(found: Mapping[str, Any]) -> list[str]:
    """Return what became of one case: the fewest words too many, and an original that was heard right."""
    rule = normalizer(NORMALIZER)
    fitting = [
        one
        for one in found["suspicious"]
        if rule(one["transcripts"]["original"] or "") == rule(one["intended"]) != rule(one["surface"])
    ]
    if not fitting:
        return []
    one = min(fitting, key=lambda one: len(one["surface"].split()) - len(one["intended"].split()))
    heard = one["transcripts"]["case"]
    said = f"is heard by {one['recognizer']} as \u201c{heard}\u201d" if heard else "is not heard at all"
    return [
        f"For example, somebody who means \u201c{one['intended']}\u201d and says \u201c{one['surface']}\u201d"
        f" {said}; without the stuttering every word is right."
    ]


def _verdict(one: Mapping[str, Any]) -> Verdict:
    """Say whether a cost is shown: by its interval, and by its p-value, adjusted for what it was asked beside."""
    if one["low"] is None or one["high"] is None or one["p"] is None:
        return "undecided"
    return "shown" if not one["low"] <= 0.0 <= one["high"] and one["p"] <= LEVEL else "not_shown"


def _recognizers(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what all cases together cost each recognizer; p is adjusted for all of them (Holm)."""
    rows = {name: one for name, one in found["recognizers"].items() if one.get("werd") is not None}
    adjusted = holm([one["p"] for one in rows.values()])
    return {name: {**one, "p": p} for (name, one), p in zip(rows.items(), adjusted, strict=True)}


def _findings(found: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for name, one in _recognizers(found).items():
        verdict = _verdict(one)
        how = "more" if one["werd"] >= 0 else "fewer"
        limits = in_points(abs(one["werd"]))
        if one["low"] is not None and one["high"] is not None:
            ends = sorted((one["low"], one["high"]) if one["werd"] >= 0 else (-one["low"], -one["high"]))
            limits = in_points(abs(one["werd"]), *ends)
        outside = verdict == "not_shown" and not one["low"] <= 0.0 <= one["high"]
        sure = {
            "shown": "",
            "not_shown": f", but {p_value(one['p'])} after Holm's correction, so no cost is shown"
            if outside
            else ", so no cost is shown",
            "undecided": ", but the speakers are too few or unknown, so how sure that is cannot be said",
        }[verdict]
        sentence = (
            f"When speech stutters, {name} gets {percent(one['wer'])} of the words wrong instead of"
            f" {percent(one['wer_original'])}: {limits} {how}{sure} ({one['cases']} made cases"
            f" of {one['speakers']} speakers)."
        )
        findings.append(
            Finding(
                id=finding_id(AUDIT, name, "werd"),
                audit=AUDIT,
                verdict=verdict,
                sentence=sentence,
                measure="werd",
                estimate=number_or_none(one["werd"]),
                low=number_or_none(one["low"]),
                high=number_or_none(one["high"]),
                p=number_or_none(one["p"]),
                recognizer=name,
                speakers=one["speakers"],
                headline=True,
            )
        )
    return findings


def _oracle(labels: Mapping[str, str]) -> list[Finding]:
    """Return how often a suspicious case was no fault, by the labels people gave."""
    rate = false_positive_rate(labels.values())
    if not rate["labelled"]:
        sentence = (
            "No person has judged the suspicious cases yet: how many are false alarms is not known."
            " `voxaudit review RUN/stutter` plays them."
        )
        return [
            Finding(finding_id(AUDIT, "false_positives"), AUDIT, "refused", sentence, "false_positive_rate")
        ]
    limits = f"{100 * rate['low']:.1f} to {100 * rate['high']:.1f}"
    sentence = (
        f"Of {rate['labelled']} suspicious cases that people judged, {percent(rate['rate'])} ({limits}) were no fault"
        " of the recognizer."
    )
    return [
        Finding(
            id=finding_id(AUDIT, "false_positives"),
            audit=AUDIT,
            verdict="measured",
            sentence=sentence,
            measure="false_positive_rate",
            estimate=rate["rate"],
            low=rate["low"],
            high=rate["high"],
        )
    ]


def _costs(found: Mapping[str, Any]) -> Figure:
    """Return the change of the error rate, in all cases and by kind of stuttering, with intervals."""
    rows = [
        ForestRow(f"{name}, all kinds", _interval(one), _verdict(one) == "shown", _people(one))
        for name, one in _recognizers(found).items()
    ]
    rows += [
        ForestRow(
            f"{one['recognizer']}, {one['kind']}", _interval(one), _verdict(one) == "shown", _people(one)
        )
        for one in _alone(found)
        if one["low"] is not None and one["high"] is not None
    ]
    frame = _changes(
        [{"recognizer": name, **_change(one)} for name, one in _recognizers(found).items()], "recognizer"
    )
    title = "What stuttering costs"
    columns: tuple[Spec, ...] = (("recognizer", "recognizer", "text"), *CHANGE)
    alt = (
        "Change of the word error rate from the original to the stuttered recordings with its interval, by recognizer"
        " and by kind of stuttering."
    )
    table = table_of("stutter-table", "Original and stuttered speech", frame, columns, intervals=LIMITS)
    axis = "change of the word error rate, in percentage points"
    return Figure("stutter-figure", title, alt, Forest(tuple(rows), axis, 0.0, False), table)


def _interval(one: Mapping[str, Any]) -> Cell:
    return Cell(number_or_none(one["werd"]), number_or_none(one["low"]), number_or_none(one["high"]))


def _people(one: Mapping[str, Any]) -> str:
    return f"{one['cases']} cases, {one['speakers']} speakers"


def _alone(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the cases with one kind of stuttering only; p is adjusted for all of them (Holm)."""
    rows = [
        {"kind": kind.replace("_", " "), "recognizer": name, **_change(one)}
        for kind, by in found["kinds"].items()
        for name, one in by.items()
        if one["cases"]
    ]
    adjusted = holm([row["p"] for row in rows])
    return [{**row, "p": p} for row, p in zip(rows, adjusted, strict=True)]


def _change(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: one.get(name)
        for name in ("wer_original", "wer", "werd", "low", "high", "p", "cases", "speakers")
    }


def _changes(rows: list[dict[str, Any]], *keys: str) -> pl.DataFrame:
    numbers = ("wer_original", "wer", "werd", "low", "high", "p")
    schema: dict[str, Any] = dict.fromkeys(keys, pl.String) | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(rows, schema=schema | {"cases": pl.Int64, "speakers": pl.Int64})


def _dose(found: Mapping[str, Any]) -> list[Figure]:
    points = found.get("dose") or []
    rates = sorted({point["rate"] for point in points})
    if len(rates) < 2:
        return []
    names = list(dict.fromkeys(point["recognizer"] for point in points))
    at = {(point["recognizer"], point["rate"]): point for point in points}
    series = []
    for name in names:
        own = [at.get((name, rate)) for rate in rates]
        series.append(
            Series(name, tuple(None if p is None else Cell(p["wer"], p["low"], p["high"]) for p in own))
        )
    schema = {"recognizer": pl.String, **dict.fromkeys(("rate", "events", "wer", "low", "high"), pl.Float64)}
    frame = pl.DataFrame([{key: point[key] for key in schema} for point in points], schema=schema)
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("rate", "asked, per 100 words", "number"),
        ("events", "put in, per 100 words", "number"),
        ("wer", "WER", "percent"),
        ("interval", "95 % interval", "interval"),
    )
    title = "Errors by amount of stuttering"
    panel = ("all kinds of stuttering", tuple(f"{rate:g}" for rate in rates), tuple(series))
    curves = Curves((panel,), "word error rate", "stuttered moments per 100 words")
    table = table_of("dose-table", title, frame, columns, intervals=LIMITS)
    alt = "Word error rate against the number of stuttered moments per 100 words, a line for each recognizer."
    return [Figure("dose", title, alt, curves, table)]


def _tables(found: Mapping[str, Any]) -> list[Table]:
    columns: tuple[Spec, ...] = (("kind", "kind", "text"), ("recognizer", "recognizer", "text"), *CHANGE)
    tables = [
        table_of(
            "kinds",
            "Cases with one kind of stuttering only",
            _changes(_alone(found), "kind", "recognizer"),
            columns,
            intervals=LIMITS,
            note="p is adjusted for the number of rows (Holm). With fewer than five speakers there is no interval.",
        )
    ]
    faults = [
        (fault.replace("_", " "), name, count)
        for name, by in found["faults_by_recognizer"].items()
        for fault, count in by.items()
    ]
    schema = {"fault": pl.String, "recognizer": pl.String, "cases": pl.Int64}
    spec: tuple[Spec, ...] = (
        ("fault", "kind of fault", "text"),
        ("recognizer", "recognizer", "text"),
        ("cases", "suspicious cases", "count"),
    )
    tables.append(
        table_of("taxonomy", "Kinds of fault", pl.DataFrame(faults, schema=schema, orient="row"), spec)
    )
    tables.append(_suspicious(found["suspicious"]))
    return tables


def _suspicious(cases: list[Mapping[str, Any]]) -> Table:
    rows = [
        (
            one["recognizer"],
            one["intended"],
            one["surface"],
            one["transcripts"]["original"],
            one["transcripts"]["case"],
            one["similarity"],
            (one["fault"] or "none").replace("_", " "),
        )
        for one in cases
    ]
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("intended", "meant", "text"),
        ("surface", "said", "text"),
        ("original", "heard in the original", "text"),
        ("heard", "heard stuttered", "text"),
        ("similarity", "similarity (1: the same)", "number"),
        ("fault", "kind of fault", "text"),
    )
    schema: dict[str, Any] = {
        name: pl.Float64 if name == "similarity" else pl.String for name, _, _ in columns
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row").sort("similarity", maintain_order=True)
    return table_of(
        "suspicious", "Suspicious cases, the least similar first", frame, columns, most=MOST_CASES, rest=QUEUE
    )


def _no_part(found: Mapping[str, Any], recognizers: Sequence[str]) -> list[str]:
    absent = [name for name in recognizers if name not in found["recognizers"]]
    return [f"Not part of this audit: {', '.join(absent)}."] if absent else []


def _left_out(found: Mapping[str, Any]) -> list[str]:
    reasons: dict[str, int] = {}
    for why in found.get("skipped", {}).values():
        reasons[why] = reasons.get(why, 0) + 1
    return [
        f"Left out: {count} utterance{'' if count == 1 else 's'} ({why})."
        for why, count in sorted(reasons.items(), key=lambda r: -r[1])[:5]
    ]
