"""Small makers of what a document consists of: ids, tables from frames, names of groups, lists in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.report.document import Cell, Column, Kind, Refusal, Table
from voxaudit.report.remedies import refuse

MOST_ROWS = 1000
"""Rows of a table in a report; further ones are in the files of the run."""

MISSING = "(missing)"
"""How an attribute without a value is called."""

Spec = tuple[str, str, Kind]
"""Name, heading and kind of a column."""

Answer = TypeVar("Answer")


def finding_id(*parts: object) -> str:
    """Return `audit/recognizer/...` of the parts that are there; a slash inside a part is escaped."""
    return "/".join(str(part).replace("%", "%25").replace("/", "%2F") for part in parts if part is not None)


def named(group: object) -> str:
    """Return a group of an attribute as text."""
    return MISSING if group is None else str(group)


def spoken(name: str) -> str:
    """Return the name of a category as people write it: `time_pitch` is `time pitch`."""
    return name.replace("_", " ")


def listed(names: Iterable[object], most: int = 6) -> str:
    """Return names with commas, the first of them and how many more there are."""
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def counted(count: int, noun: str) -> str:
    """Return `1 pair`, `2 pairs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number_or_none(value: Any) -> float | None:
    """Return a finite number, or None."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def cell(row: Mapping[str, Any], value: str, low: str, high: str) -> Cell | None:
    """Return the value of a row with its interval; None where there is no value."""
    found = number_or_none(row.get(value))
    if found is None:
        return None
    return Cell(found, number_or_none(row.get(low)), number_or_none(row.get(high)))


def table_of(
    id_: str,
    title: str,
    frame: pl.DataFrame,
    columns: Sequence[Spec],
    *,
    intervals: Mapping[str, tuple[str, str]] | None = None,
    note: str = "",
    most: int = MOST_ROWS,
    rest: str = "scores.parquet",
) -> Table:
    """Return a table of a frame's columns. `intervals` says which two columns an interval is made of.

    Of a frame with more than `most` rows the first are kept; the note then says that all are in `rest`.
    """
    pairs = dict(intervals or {})
    places = {name: place for place, name in enumerate(frame.columns)}
    rows = tuple(
        tuple(
            _interval(row[places[pairs[name][0]]], row[places[pairs[name][1]]])
            if name in pairs
            else _plain(row[places[name]], kind)
            for name, _, kind in columns
        )
        for row in frame.head(most).iter_rows()
    )
    if frame.height > most:
        said = f"The first {most:,} of {frame.height:,} rows; all of them follow from {rest}."
        note = f"{note} {said}".strip()
    return Table(id_, title, tuple(Column(*column) for column in columns), rows, note)


def _interval(low: Any, high: Any) -> tuple[float | None, float | None] | None:
    limits = (number_or_none(low), number_or_none(high))
    return None if limits == (None, None) else limits


def _plain(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "text":
        return str(value)
    if kind == "count":
        return int(value)
    return number_or_none(value)


def attempt(question: Callable[[], Answer]) -> Answer | VoxauditError:
    """Return the answer, or the refusal in its place: an audit that cannot answer costs its own chapter only."""
    try:
        return question()
    except VoxauditError as error:
        return error


def refusal(chapter: str, about: str, error: VoxauditError, folder: object = None) -> Refusal:
    """Return an audit's refusal, without the folder's name in front of it."""
    text = one_line(error, 600)
    return refuse(chapter, about, text.removeprefix(f"{folder}: ") if folder is not None else text)


def unique(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return every refusal once, in order."""
    return tuple(dict.fromkeys(refusals))
