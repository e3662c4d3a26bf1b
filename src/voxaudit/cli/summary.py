"""Print what a run found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voxaudit.cli.output import note, print_json, print_table, printable
from voxaudit.report.numbers import percent, percent_interval

if TYPE_CHECKING:
    from voxaudit.pipeline import Audit


def show(audit: Audit, *, as_json: bool) -> None:
    """Print the summary of an audit, as tables or as one JSON document."""
    run, summary = audit.run, audit.summary
    if as_json:
        print_json(
            {
                "run": str(run.folder),
                "config": summary.config,
                "rates": summary.rates.to_dicts(),
                "groups": summary.groups.to_dicts(),
                "failures": summary.failures.to_dicts(),
            }
        )
        return
    _rates_table(summary.rates)
    if summary.groups.height:
        for (attribute,), groups in summary.groups.group_by("attribute", maintain_order=True):
            _group_table(str(attribute), groups)
    for sentence in summary.sentences():
        print(f"- {printable(sentence)}")
    note(f"Written to {run.folder}: summary.md, scores.parquet, transcripts.parquet, run.json")


def _rates_table(rates: pl.DataFrame) -> None:
    rows = [
        [
            row["recognizer"],
            row["scenario"],
            percent_interval(row["wer"], row["ci_low"], row["ci_high"]),
            percent(row["cer"]),
            row["words"],
            row["speakers"],
        ]
        for row in rates.iter_rows(named=True)
    ]
    head = ["recognizer", "scenario", "WER (95 % interval)", "CER", "words", "speakers"]
    print_table("Word error rate by scenario", head, rows)


def _group_table(attribute: str, groups: pl.DataFrame) -> None:
    """Print one row per recognizer and scenario, with a column per group."""
    speakers = groups.group_by("level", maintain_order=True).agg(pl.col("speakers").max()).rows()
    cells = {
        (row["recognizer"], row["scenario"], row["level"]): percent_interval(
            row["wer"], row["ci_low"], row["ci_high"]
        )
        for row in groups.iter_rows(named=True)
    }
    heads = [
        f"{'(missing)' if level is None else level}, {count} speaker{'' if count == 1 else 's'}"
        for level, count in speakers
    ]
    rows = [
        [recognizer, scenario, *(cells.get((recognizer, scenario, level), "-") for level, _ in speakers)]
        for recognizer, scenario in groups.select("recognizer", "scenario").unique(maintain_order=True).rows()
    ]
    print_table(f"Word error rate by {attribute} (95 % interval)", ["recognizer", "scenario", *heads], rows)
