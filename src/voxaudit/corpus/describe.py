"""What is known of a corpus once it is read: who is in it, how it was read, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import polars as pl

from voxaudit.audio import length
from voxaudit.corpus.base import Corpus

MOST_ATTRIBUTES = 30
"""Attributes that are listed at most: nobody reads more, and a table can have thousands of columns."""
MOST_GROUPS = 100
"""Groups of an attribute that are listed at most, the largest first."""


def describe_corpus(corpus: Corpus, path: str) -> dict[str, list[dict[str, Any]]]:
    """Return records by table: `corpus` (one record), `columns`, `attributes`, `groups` and `problems`."""
    table = corpus.table
    known = int(table["duration"].count())
    seconds = round(float(table["duration"].sum()), 3) if known and known == len(corpus) else None
    facts = {
        "corpus": corpus.name,
        "path": path,
        "format": corpus.format,
        "usable": not any(problem.fatal for problem in corpus.problems),
        "utterances": len(corpus),
        "left_out": corpus.skipped,
        "speakers": table["speaker"].drop_nulls().n_unique() or None,
        "seconds": seconds,
        "hours": None if seconds is None else seconds / 3600,
        "attributes": len(corpus.attributes),
    }
    groups = {name: _groups(table, name) for name in corpus.attributes[:MOST_ATTRIBUTES]}
    return {
        "corpus": [facts],
        "columns": [{"column": ours, "name": theirs} for ours, theirs in corpus.columns.items()],
        "attributes": [
            {
                "attribute": name,
                "groups": found.height,
                "not_given": table.height - int(found["utterances"].sum()),
            }
            for name, found in groups.items()
        ],
        "groups": [
            {"attribute": name, **row}
            for name, found in groups.items()
            for row in found.head(MOST_GROUPS).to_dicts()
        ],
        "problems": [
            {
                "weight": "problem" if problem.fatal else "note",
                "kind": problem.kind,
                "message": problem.message,
                "count": problem.count,
                "rows": list(problem.rows),
            }
            for problem in sorted(corpus.problems, key=lambda problem: not problem.fatal)
        ],
    }


def _groups(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the groups of an attribute, the largest first, with their utterances and speakers."""
    speakers = pl.col("speaker").drop_nulls().n_unique() if table["speaker"].count() else pl.lit(None)
    return (
        table.select(pl.col(name).alias("group"), "speaker")
        .filter(pl.col("group").is_not_null())
        .group_by("group")
        .agg(utterances=pl.len(), speakers=speakers)
        .sort("utterances", "group", descending=[True, False])
    )


def durations(table: pl.DataFrame) -> pl.Series:
    """Return how many seconds utterances last: as the corpus says, else as the recording does; null without either."""
    known = table["duration"].cast(pl.Float64)
    if not known.null_count() or "audio" not in table.columns:
        return known
    found = [length(path) if one is None else None for one, path in zip(known, table["audio"], strict=True)]
    rest = pl.Series(found, dtype=pl.Float64) - table["start"].fill_null(0.0)
    return known.fill_null(rest.clip(0.0))
