"""Differential: fairness testing without reference texts (Rajan et al. 2022), and which violations survive a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: every attribute that was named, each with a family of its own."""
    return [{"attribute": name} for name in attributes]


AUDIT = Audit(
    name="differential",
    title="Groups under disturbance, without reference texts",
    summary=SUMMARIES["differential"],
    example=("runs/first", {"attribute": "gender", "exclude": ("scale:0.6", "scale:0.5")}),
    questions=questions,
    source_help="a run's folder, a table of transcripts, or a table of distances (csv, tsv, jsonl, parquet)",
    options={
        "scenario": OPTIONS["scenario"].noting("clean speech stays beside them"),
        "attribute": OPTIONS["attribute"].noting("default for distances: group"),
        "tau": Option(
            "tolerances in word distance, the smallest of which is tested (default: 0.01,0.05,0.1,0.15)",
            kind="numbers",
            metavar="T,...",
        ),
        "min_comprehensibility": Option(
            "only scenarios that people rated so or more, of 10 (published ratings, or your own)",
            kind="number",
            metavar="X",
        ),
        "ratings": Option(
            "ratings of your own: a table with perturbation, setting, rating", kind="file", metavar="FILE"
        ),
        "against": OPTIONS["against"].noting("their violations are given relative to its own"),
        "full": Option("with tables of every violation and of every distance behind them", kind="flag"),
    },
)
