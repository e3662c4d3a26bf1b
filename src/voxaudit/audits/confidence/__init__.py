"""Confidence: is a recognizer as sure as it is right, and for whom not?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: everything that was heard, where recognizers say how sure they are."""
    if scores.run is None or scores.frame.is_empty():
        return []
    there = scores.run.scan("transcripts").collect_schema().names()
    names = [name for name in ("confidence", "word_times") if name in there]
    told = names and any(scores.run.answers(lambda lazy: lazy.select(names).count()).row(0))
    return [{"attributes": tuple(attributes)}] if told else []


AUDIT = Audit(
    name="confidence",
    title="Confidence",
    summary=SUMMARIES["confidence"],
    example=("runs/first", {"attributes": ("gender",)}),
    questions=questions,
    source_help="a run's folder, or a table with text, reference and confidence (csv, tsv, jsonl, parquet)",
    options={
        "normalizer": OPTIONS["normalizer"].noting("default: that of the run, else basic"),
        "attributes": replace(
            OPTIONS["attributes"].noting("their groups are compared"), metavar="COLUMN,..."
        ),
        "review_below": Option(
            "words less sure than this are sent to a person (default: so that one word in five is)",
            kind="number",
            metavar="T",
            at_least=0.0,
            at_most=1.0,
        ),
    },
)
