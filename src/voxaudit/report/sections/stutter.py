"""Stutter: can people who stutter use it? What a stutter audit's folder says, with the labels people gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.stutter.queue import QUEUE, false_positive_rate, read_labels
from voxaudit.errors import VoxauditError, one_line
from voxaudit.report.context import Context
from voxaudit.report.document import (
    Bars,
    Cell,
    Curves,
    Figure,
    Finding,
    Refusal,
    Section,
    Series,
    Table,
    Verdict,
)
from voxaudit.report.numbers import p_value, percent, points_interval
from voxaudit.report.parts import Spec, attempt, finding_id, number_or_none, refusal, table_of

AUDIT = "stutter"
MOST_CASES = 200
CHANGE: tuple[Spec, ...] = (
    ("wer_original", "WER before", "percent"),
    ("wer", "WER after", "percent"),
    ("werd", "change", "points"),
    ("interval", "95 % interval", "interval"),
    ("p", "p", "p"),
    ("cases", "cases", "count"),
    ("speakers", "speakers", "count"),
)
LIMITS = {"interval": ("low", "high")}


def section(context: Context) -> Section:
    """Return the chapter."""
    title, folder = "People who stutter", context.stutter
    if not (folder / "stutter.json").is_file():
        why = "no stutter audit lies beside this run; `voxaudit stutter CORPUS --out RUN/stutter` makes one"
        return Section(AUDIT, title, refusals=(Refusal("stuttered speech", why),))
    made = attempt(lambda: _chapter(title, folder))
    if isinstance(made, VoxauditError):
        return Section(AUDIT, title, refusals=(refusal("stuttered speech", made, folder),))
    return made


def _chapter(title: str, folder: Path) -> Section:
    path = folder / "stutter.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        labels = read_labels(folder / QUEUE) if (folder / QUEUE).is_file() else {}
        return Section(
            id=AUDIT,
            title=title,
            lead=(
                f"{found['recordings']} recordings were made to stutter in {found['cases']} ways (blocks,"
                " prolongations, repetitions, interjections). Errors are counted against what the person means to say.",
            ),
            findings=(*_findings(found), *_oracle(labels)),
            figures=(_bars(found), *_dose(found)),
            tables=tuple(_tables(found)),
            notes=tuple(_left_out(found)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VoxauditError(
            f"{path}: not the findings of a stutter audit ({one_line(repr(error), 120)})"
        ) from error


def _verdict(low: float | None, high: float | None) -> Verdict:
    if low is None or high is None:
        return "undecided"
    return "not_shown" if low <= 0.0 <= high else "shown"


def _findings(found: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for name, one in found["recognizers"].items():
        if one.get("werd") is None:
            continue
        change = points_interval(one["werd"], one["low"], one["high"])
        sentence = (
            f"Stuttering changes the word error rate of {name} by {change} points, from"
            f" {percent(one['wer_original'])} to {percent(one['wer'])} over {one['cases']} made cases"
            f" ({p_value(one['p'])})."
        )
        findings.append(
            Finding(
                id=finding_id(AUDIT, name, "werd"),
                audit=AUDIT,
                verdict=_verdict(one["low"], one["high"]),
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
        sentence = "Nobody has labelled the suspicious cases: how many are false alarms is not known."
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


def _bars(found: Mapping[str, Any]) -> Figure:
    names = list(found["recognizers"])
    both = [found["recognizers"][name] for name in names]
    series = (
        Series("original", tuple(_cell(one["wer_original"]) for one in both)),
        Series("stuttered", tuple(_cell(one["wer"]) for one in both)),
    )
    frame = _changes(
        [{"recognizer": name, **_change(one)} for name, one in zip(names, both, strict=True)], "recognizer"
    )
    title = "Original and stuttered speech"
    columns: tuple[Spec, ...] = (("recognizer", "recognizer", "text"), *CHANGE)
    alt = "Bars of the word error rate on the original recordings and on stuttered ones, by recognizer."
    table = table_of("stutter-table", title, frame, columns, intervals=LIMITS)
    return Figure("stutter-figure", title, alt, Bars(tuple(names), series, "word error rate"), table)


def _cell(value: Any) -> Cell | None:
    known = number_or_none(value)
    return None if known is None else Cell(known)


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
        ("rate", "events per 100 words, asked", "number"),
        ("events", "put in", "number"),
        ("wer", "WER", "percent"),
        ("interval", "95 % interval", "interval"),
    )
    title = "Dose and response"
    panel = ("all kinds of stuttering", tuple(f"{rate:g}" for rate in rates), tuple(series))
    curves = Curves((panel,), "word error rate", "stuttered moments per 100 words")
    table = table_of("dose-table", title, frame, columns, intervals=LIMITS)
    alt = "Word error rate against the number of stuttered moments per 100 words, a line for each recognizer."
    return [Figure("dose", title, alt, curves, table)]


def _tables(found: Mapping[str, Any]) -> list[Table]:
    alone = [
        {"kind": kind.replace("_", " "), "recognizer": name, **_change(one)}
        for kind, by in found["mutators"].items()
        for name, one in by.items()
        if one["cases"]
    ]
    columns: tuple[Spec, ...] = (("kind", "kind", "text"), ("recognizer", "recognizer", "text"), *CHANGE)
    tables = [
        table_of(
            "mutators",
            "Cases with one kind of stuttering only",
            _changes(alone, "kind", "recognizer"),
            columns,
            intervals=LIMITS,
        )
    ]
    kinds = [
        (kind.replace("_", " "), name, count)
        for name, by in found["kinds_by_recognizer"].items()
        for kind, count in by.items()
    ]
    schema = {"kind": pl.String, "recognizer": pl.String, "cases": pl.Int64}
    spec: tuple[Spec, ...] = (
        ("kind", "kind of fault", "text"),
        ("recognizer", "recognizer", "text"),
        ("cases", "suspicious cases", "count"),
    )
    tables.append(
        table_of("taxonomy", "Kinds of fault", pl.DataFrame(kinds, schema=schema, orient="row"), spec)
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
            (one["kind"] or "none").replace("_", " "),
        )
        for one in cases
    ]
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("intended", "meant", "text"),
        ("surface", "said", "text"),
        ("original", "heard in the original", "text"),
        ("heard", "heard stuttered", "text"),
        ("similarity", "similarity", "number"),
        ("kind", "kind of fault", "text"),
    )
    schema: dict[str, Any] = {
        name: pl.Float64 if name == "similarity" else pl.String for name, _, _ in columns
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row").sort("similarity", maintain_order=True)
    return table_of(
        "suspicious", "Suspicious cases, the least similar first", frame, columns, most=MOST_CASES, rest=QUEUE
    )


def _left_out(found: Mapping[str, Any]) -> list[str]:
    reasons: dict[str, int] = {}
    for why in found.get("skipped", {}).values():
        reasons[why] = reasons.get(why, 0) + 1
    return [
        f"Left out: {count} recordings ({why})."
        for why, count in sorted(reasons.items(), key=lambda r: -r[1])[:5]
    ]
