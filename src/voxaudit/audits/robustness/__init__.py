"""Robustness: what disturbed speech costs a recognizer, by the measures of Speech Robust Bench (Shah et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: one question, about every recognizer and all attributes that were named."""
    return [{"attributes": tuple(attributes)} if attributes else {}]


AUDIT = Audit(
    name="robustness",
    title="Robustness",
    summary=SUMMARIES["robustness"],
    example=("runs/first", {"attributes": "gender", "plot": "curves=curves.svg"}),
    several=True,
    source_help=(
        "a run's folder or a table of scores (csv, tsv, jsonl, parquet); several: other recognizers, or other seeds to"
        " see how stable the results are"
    ),
    options={
        "by": OPTIONS["by"].noting("language, corpus or both; default: pooled"),
        "baseline": Option(
            "the clean corpus that accented and social speech is compared with, by language or by corpus",
            "pairs+",
            "en=CORPUS",
        ),
        "reference": Option("the group that others are divided by", "pairs+", "gender=male"),
        "table": Option("show only this table: 1 is Speech Robust Bench's Table 1", metavar="NAME"),
        "facts": Option(
            "facts about recognizers: a file with a column recognizer, then parameters, hours ...",
            "file",
            "FILE",
        ),
        "published": Option("put the models that Speech Robust Bench published beside, never ranked", "flag"),
    },
    questions=questions,
)
