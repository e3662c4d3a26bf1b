"""Print what a run found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from voxaudit.cli.output import note, percent, percent_interval, print_json, print_table

if TYPE_CHECKING:
    from voxaudit.run import Run


def show(run: Run, attributes: Sequence[str], *, as_json: bool) -> None:
    """Print the summary of a run, as tables or as one JSON document."""
    from voxaudit.report.summary import summarize

    summary = summarize(run, attributes)
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
    for title, keys, rates in (
        ("Word error rate by scenario", ["recognizer", "scenario"], summary.rates),
        ("Word error rate by group", ["recognizer", "scenario", "attribute", "level"], summary.groups),
    ):
        if rates.height:
            rows = [
                [
                    *("(missing)" if row[key] is None else row[key] for key in keys),
                    percent_interval(row["wer"], row["ci_low"], row["ci_high"]),
                    percent(row["cer"]),
                    row["words"],
                    row["speakers"],
                ]
                for row in rates.iter_rows(named=True)
            ]
            print_table(title, [*keys, "WER (95 % interval)", "CER", "words", "speakers"], rows)
    for sentence in summary.sentences():
        print(f"- {sentence}")
    note(f"Written to {run.folder}: summary.md, scores.parquet, transcripts.parquet, run.json")
