"""Keywords: errors that matter, by what the words weigh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: everything that was heard and whose words are known."""
    frame = scores.frame
    if "reference" not in frame.columns:
        frame = frame.select(pl.col("utterance").unique())
    known = replace(scores, frame=frame).with_texts().frame
    if "reference" not in known.columns or known["reference"].null_count() == known.height:
        return []
    return [{"attributes": tuple(name for name in attributes if scores.is_comparable(name))}]


AUDIT = Audit(
    name="keywords",
    title="Errors that matter",
    summary=SUMMARIES["keywords"],
    example=("runs/first", {"attributes": ("gender",)}),
    questions=questions,
    source_help="a run's folder, or a table of transcripts with their references (csv, tsv, jsonl, parquet)",
    options={
        "normalizer": OPTIONS["normalizer"].noting("default: the spoken form of each language, else basic"),
        "attributes": replace(
            OPTIONS["attributes"].noting("their groups are compared"), metavar="COLUMN,..."
        ),
        "keywords": Option(
            "a file with your own words and phrases, one per line (default: the run's)", metavar="FILE"
        ),
        "judge": Option(
            "also ask a language model which errors matter: an OpenAI-compatible service, such as"
            " model=gpt-4o-mini,url=http://localhost:8000/v1 (costs money; its key in OPENAI_API_KEY)",
            "pairs",
            "NAME=VALUE,...",
        ),
        "judged": Option("utterances that the language model is asked about", "count", "N", at_least=1),
    },
)
