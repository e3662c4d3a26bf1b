"""What is said beside every error rate: whether one utterance makes it, and what kinds of speakers may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from voxaudit.answer import Column, Note
from voxaudit.errors import one_line
from voxaudit.stats.concentration import one_makes_much
from voxaudit.stats.unseen import none_heard
from voxaudit.wording import counted, named, percent

MANY_SPEAKERS = 30
"""With fewer an answer says what kinds of speakers may be missing."""
MOST_NAMED = 4
"""Utterances that a note names."""

NO_ERRORS = (
    "where no error was made, the upper limit comes from how much was heard, not from how speakers differ"
)
COLUMNS_SHOWN = (
    Column("errors", kind="count"),
    Column("worst_utterance_share", "in the worst utterance", "percent"),
    Column("worst_utterance", "which"),
    Column("worst_percent_share", "in the worst 1 %", "percent"),
    Column("worst_speaker_share", "of the worst speaker", "percent"),
    Column("worst_speaker", "who"),
)
"""How a table shows where errors are."""


def one_utterance(row: Mapping[str, Any]) -> str:
    """Return what a sentence about a rate has to add where one utterance makes much of it; else nothing.

    >>> one_utterance({"errors": 50, "worst_utterance": "u7", "worst_utterance_share": 0.4})
    '; one utterance, u7, makes 40.0 % of the errors'
    """
    if not one_makes_much(row["errors"], row["worst_utterance_share"]):
        return ""
    name = "" if row["worst_utterance"] is None else f", {one_line(row['worst_utterance'], 60)},"
    return f"; one utterance{name} makes {percent(row['worst_utterance_share'])} of the errors"


def concentration_notes(rates: pl.DataFrame, by: Sequence[str], confidence: float) -> Iterator[Note]:
    """Yield notes about a table of rates: those that one utterance makes much of, and how few speakers there are.

    >>> rows = {"errors": [50], "speakers": [8], "worst_utterance": ["u7"], "worst_utterance_share": [0.1]}
    >>> [note.text for note in concentration_notes(pl.DataFrame(rows), [], 0.95)]
    ['8 speakers: up to 37 % of speakers may be of a kind not heard']
    """
    order = rates.sort("worst_utterance_share", descending=True, nulls_last=True, maintain_order=True)
    rows = [row for row in order.iter_rows(named=True) if one_utterance(row)]
    if rows:
        said = []
        for row in rows:
            name = "one" if row["worst_utterance"] is None else one_line(row["worst_utterance"], 60)
            about = ", ".join(named(row[key]) for key in by)
            said.append(f"{name}, {percent(row['worst_utterance_share'])}" + (f" ({about})" if about else ""))
        worst = rows[0]
        facts = {
            "rates": len(rows),
            "utterance": worst["worst_utterance"],
            "share": worst["worst_utterance_share"],
        }
        text = f"one utterance makes more than a fifth of the errors: {'; '.join(said[:MOST_NAMED])}"
        if len(said) > MOST_NAMED:
            text += f"; and {len(said) - MOST_NAMED} more"
        yield Note("one_utterance", text, facts)
    # A table by speaker has one in every row, and says nothing about others.
    several = [count for count in rates["speakers"].to_list() if count is not None and count > 1]
    fewest = min(several, default=MANY_SPEAKERS)
    if fewest < MANY_SPEAKERS:
        share = none_heard(fewest, confidence)
        text = (
            f"{counted(fewest, 'speaker')}: up to {100 * share:.0f} % of speakers may be of a kind not heard"
        )
        yield Note("few_speakers", text, {"speakers": fewest, "share": share})
