"""Hallucination: words that nobody said, as four rates that are never one score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: everything that was heard, with the attributes that were named."""
    frame = scores.frame
    if not {"duration", "source"} & set(frame.columns):
        frame = frame.select(pl.col("utterance").unique())
    frame = replace(scores, frame=frame).with_durations().frame
    known = "duration" in frame.columns and frame["duration"].null_count() < frame.height
    return [{"attributes": tuple(attributes)}] if known else []


AUDIT = Audit(
    name="hallucination",
    title="Words that nobody said",
    summary=SUMMARIES["hallucination"],
    example=("runs/first", {"attributes": ("gender",)}),
    questions=questions,
    source_help="a run's folder, or a table of transcripts with their durations (csv, tsv, jsonl, parquet)",
    options={
        "normalizer": OPTIONS["normalizer"].noting("default: the spoken form of the language, else basic"),
        "attributes": replace(
            OPTIONS["attributes"].noting("their groups are compared"), metavar="COLUMN,..."
        ),
        "stretch": Option(
            "words of the shortest stretch that counts as unsupported", kind="count", metavar="N", at_least=1
        ),
    },
)
