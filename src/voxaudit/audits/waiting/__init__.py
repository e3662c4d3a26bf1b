"""Waiting: how long people wait for an answer, and whether some wait longer, or are cut off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: everything that was heard, with the attributes that were named."""
    if scores.run is None or "seconds" not in scores.run.scan("transcripts").collect_schema():
        return []
    seconds = scores.run.answers(lambda lazy: lazy.select("seconds"))["seconds"]
    return [{"attributes": tuple(attributes)}] if (seconds > 0.0).any() else []


AUDIT = Audit(
    name="waiting",
    title="Waiting",
    summary=SUMMARIES["waiting"],
    example=("runs/first", {"attributes": ("gender",)}),
    questions=questions,
    source_help="a run's folder, a table with `seconds` or `latency_ms`, or a trace (csv, tsv, jsonl, parquet)",
    options={
        "attributes": replace(
            OPTIONS["attributes"].noting("their groups are compared"), metavar="COLUMN,..."
        ),
        "give_up": Option(
            "seconds that a trial without an answer counts as (default: the longest waiting of its recognizer)",
            kind="number",
            metavar="SECONDS",
        ),
        "whole": Option(
            "the recognizer that hears whole recordings, beside which those that listen are set",
            metavar="NAME",
        ),
    },
)
