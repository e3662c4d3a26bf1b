"""Accuracy: error rates of every recognizer, scenario and group, and the trials that failed."""

from __future__ import annotations

from typing import Any

import polars as pl

from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import Bars, Cell, Figure, Finding, Section, Series, Table
from voxaudit.report.glossary import aside
from voxaudit.report.numbers import percent_interval
from voxaudit.report.parts import Spec, cell, counted, finding_id, number_or_none, table_of

AUDIT = "accuracy"
RATES: tuple[Spec, ...] = (
    ("wer", "WER", "percent"),
    ("interval", "95 % interval", "interval"),
    ("cer", "CER", "percent"),
    ("words", "words", "count"),
    ("utterances", "utterances", "count"),
    ("speakers", "speakers", "count"),
)
NOTE = (
    "Rates are ratios of sums over utterances; in intervals speakers are the sample (at least five); none is given"
    " where no error was made."
)


def section(context: Context) -> Section:
    """Return the chapter."""
    findings = [one for name in context.recognizers for one in _recognizer(context, name)]
    return Section(
        id=AUDIT,
        title="Accuracy",
        lead=(
            "WER, the word error rate, counts wrong, missing and added words per word that was said; it can exceed"
            " 100 %. CER is the same for characters.",
        ),
        findings=(*findings, *_unheard(context)),
        figures=_figures(context),
        tables=(
            *([_scenarios(context)] if context.rates.height else []),
            *_groups(context),
            *_failures_table(context),
        ),
    )


def _row(context: Context, recognizer: str, scenario: str) -> dict[str, Any] | None:
    rows = context.rates.filter(
        (pl.col("recognizer") == recognizer) & (pl.col("scenario") == scenario) & pl.col("wer").is_not_null()
    )
    return rows.row(0, named=True) if rows.height else None


def _worst(context: Context, recognizer: str) -> dict[str, Any] | None:
    disturbed = (pl.col("scenario") != CLEAN) & pl.col("wer").is_not_null()
    rows = context.rates.filter((pl.col("recognizer") == recognizer) & disturbed)
    return rows.sort("wer", descending=True, maintain_order=True).row(0, named=True) if rows.height else None


def _rate(row: dict[str, Any]) -> str:
    return percent_interval(row["wer"], row["ci_low"], row["ci_high"])


def _recognizer(context: Context, name: str) -> list[Finding]:
    """Return what is said of a recognizer: its rate on clean speech, and in its worst scenario."""
    clean, worst = _row(context, name, CLEAN), _worst(context, name)
    if clean is None:
        sentence = f"{name}: no error rate on clean speech; it needs clean speech with reference texts."
        id_ = finding_id(AUDIT, name, CLEAN, "wer")
        found = [
            Finding(
                id_, AUDIT, "refused", sentence, "wer", None, recognizer=name, scenario=CLEAN, headline=True
            )
        ]
        return found + ([_finding(name, worst, f"{_in_scenario(name, worst)}.")] if worst else [])
    line = f"{name} gets {_rate(clean)} of the words wrong on clean speech"
    if worst is None:
        return [_finding(name, clean, f"{line}.", headline=True)]
    where = f"{worst['scenario']}{aside(worst['scenario'])}"
    both = f"{line}, and {_rate(worst)} in its worst scenario, {where}."
    return [
        _finding(name, clean, both, headline=True),
        _finding(name, worst, f"{_in_scenario(name, worst)}, its worst scenario."),
    ]


def _in_scenario(name: str, row: dict[str, Any]) -> str:
    return f"{name} gets {_rate(row)} of the words wrong under {row['scenario']}"


def _finding(name: str, row: dict[str, Any], sentence: str, *, headline: bool = False) -> Finding:
    return Finding(
        id=finding_id(AUDIT, name, row["scenario"], "wer"),
        audit=AUDIT,
        verdict="measured",
        sentence=sentence,
        measure="wer",
        estimate=number_or_none(row["wer"]),
        low=row["ci_low"],
        high=row["ci_high"],
        recognizer=name,
        scenario=row["scenario"],
        speakers=row["speakers"],
        headline=headline,
    )


def _unheard(context: Context) -> list[Finding]:
    """Return what has no rate: utterances without a text, trials that failed, conditions with few speakers."""
    found = []
    unreferenced, total = context.run.corpus["text"].null_count(), context.run.corpus.height
    if unreferenced:
        sentence = (
            f"{unreferenced} of {total} utterances {'has' if unreferenced == 1 else 'have'} no reference text:"
            f" {'it was' if unreferenced == 1 else 'they were'} heard but not scored."
        )
        share = unreferenced / total
        found.append(
            Finding(
                finding_id(AUDIT, "unreferenced"),
                AUDIT,
                "refused",
                sentence,
                "unreferenced",
                share,
                headline=True,
            )
        )
    trials = context.run.transcripts.group_by("recognizer").len()
    totals = dict(trials.iter_rows())
    for name, part in failures(context).group_by("recognizer", maintain_order=True):
        failed, example = int(part["trials"].sum()), part["example"][0]
        sentence = f"{name[0]}: {counted(failed, 'trial')} failed, the first with: {example}"
        found.append(
            Finding(
                id=finding_id(AUDIT, name[0], "failures"),
                audit=AUDIT,
                verdict="measured",
                sentence=sentence if sentence.endswith(".") else f"{sentence}.",
                measure="failures",
                estimate=failed / totals[name[0]],
                recognizer=str(name[0]),
                headline=True,
            )
        )
    if context.run.config.get("sequential"):
        sentence = (
            "This run was stopped early, cell by cell: the intervals and tests here do not know that; for claims read"
            " sequential.json."
        )
        found.append(
            Finding(finding_id(AUDIT, "stopped"), AUDIT, "undecided", sentence, "stopped", headline=True)
        )
    if context.rates.height and context.rates["ci_low"].null_count():
        sentence = "No interval is shown where fewer than five speakers are known, or no error was made."
        found.append(
            Finding(finding_id(AUDIT, "interval"), AUDIT, "undecided", sentence, "interval", headline=True)
        )
    return found


def failures(context: Context) -> pl.DataFrame:
    """Return the failed trials by recognizer and reason: trials, example."""
    return (
        context.run.transcripts.filter(pl.col("failure").is_not_null())
        # Reasons differ in file names and the like: the part before the first detail is what they share.
        .group_by("recognizer", reason=pl.col("failure").str.split(": ").list.get(0), maintain_order=True)
        .agg(trials=pl.len(), example=pl.col("failure").first())
        .sort("recognizer", "reason")
    )


def _scenarios(context: Context) -> Table:
    return table_of(
        "scenarios",
        "Word error rate by scenario",
        context.rates,
        (("recognizer", "recognizer", "text"), ("scenario", "scenario", "text"), *RATES),
        intervals={"interval": ("ci_low", "ci_high")},
        note=NOTE,
    )


def _groups(context: Context) -> list[Table]:
    tables = []
    for place, (attribute, frame) in enumerate(context.groups.items()):
        if frame.is_empty() or context.unfit(attribute) is not None:
            continue
        shown = frame.with_columns(
            pl.lit(attribute).alias("attribute"), pl.col("group").fill_null("(missing)")
        )
        keys: tuple[Spec, ...] = (
            ("recognizer", "recognizer", "text"),
            ("scenario", "scenario", "text"),
            ("attribute", "attribute", "text"),
            ("group", "group", "text"),
        )
        tables.append(
            table_of(
                f"groups-{place}",
                f"Word error rate by {attribute}",
                shown,
                (*keys, *RATES),
                intervals={"interval": ("ci_low", "ci_high")},
                note=NOTE,
            )
        )
    return tables


def _failures_table(context: Context) -> list[Table]:
    frame = failures(context)
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("reason", "reason", "text"),
        ("trials", "trials", "count"),
        ("example", "the first", "text"),
    )
    note = "A trial that failed is in no rate."
    return [
        table_of("failures", "Trials that failed", frame, columns, note=note, rest="transcripts.parquet")
    ] * (frame.height > 0)


def _figures(context: Context) -> tuple[Figure, ...]:
    """Return clean speech beside the worst scenario, by recognizer."""
    names = [name for name in context.recognizers if _row(context, name, CLEAN) is not None]
    if not names:
        return ()
    clean = [_cell(_row(context, name, CLEAN)) for name in names]
    worst = [_cell(_worst(context, name)) for name in names]
    series = [Series("clean speech", tuple(clean))]
    if any(worst):
        series.append(Series("worst scenario", tuple(worst)))
    rows = []
    for name in names:
        for label, row in (
            ("clean speech", _row(context, name, CLEAN)),
            ("worst scenario", _worst(context, name)),
        ):
            if row is not None:
                rows.append({"recognizer": name, "speech": label, **row})
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("speech", "speech", "text"),
        ("scenario", "scenario", "text"),
        *RATES[:3],
    )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    table = table_of(
        "accuracy-figure-table",
        "Clean speech and the worst scenario",
        frame,
        columns,
        intervals={"interval": ("ci_low", "ci_high")},
    )
    alt = "Bars of the word error rate on clean speech and in the worst scenario, by recognizer."
    bars = Bars(tuple(names), tuple(series), "word error rate")
    return (Figure("accuracy-figure", "Clean speech and the worst scenario", alt, bars, table),)


def _cell(row: dict[str, Any] | None) -> Cell | None:
    return None if row is None else cell(row, "wer", "ci_low", "ci_high")
