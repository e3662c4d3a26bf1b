"""CSV and TSV as people and programs write them: every row in its place, or named as the one that is not."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.rows import CHUNK, strings
from voxaudit.corpus.text_files import Misfits, TextTable, clean_name, readable

if TYPE_CHECKING:
    from _csv import Reader as CsvReader


def read_delimited(path: Path, separator: str | None = None, *, quoted: bool | None = None) -> TextTable:
    """Read a CSV or TSV file with a header as strings. Rows are numbered as a spreadsheet does: the header is 1.

    Without `separator`, the ending decides (and a `.csv` whose header has no comma may use semicolons or tabs).
    `quoted=None` takes quotes as CSV does, but as letters in a tab-separated file where they do not pair up:
    many programs write tabs without ever quoting.
    """
    with readable(path):
        separator = separator or _separator(path)
        try:
            if separator == "\t" and quoted is None:
                try:
                    return _parse(path, separator, True)
                except csv.Error:
                    quoted = False
            return _parse(path, separator, quoted is not False)
        except csv.Error as error:
            raise CorpusError(f"{path}: {error}") from None


def delimited_header(path: Path) -> list[str]:
    """Return the column names of a CSV or TSV file, [] where there are none. Never raises."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 20).decode("utf-8-sig", "replace")
        return [clean_name(name) for name in next(csv.reader([line], delimiter=_separator(path)), [])]
    except (OSError, csv.Error):
        return []


def _separator(path: Path) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    with path.open("rb") as file:
        header = file.readline(1 << 20)
    return next((mark for mark in (",", ";", "\t") if mark.encode() in header), ",")


def _parse(path: Path, separator: str, quoted: bool) -> TextTable:
    misfits = Misfits()
    parts: list[pl.DataFrame] = []
    numbers: list[pl.Series] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = _reader(file, separator, quoted)
        try:
            header, number = _first_row(reader, path)
            while chunk := list(islice(reader, CHUNK)):
                places: Sequence[int] = range(number + 1, number + 1 + len(chunk))
                number += len(chunk)
                if any(len(row) != len(header) for row in chunk):
                    pairs = zip(places, chunk, strict=True)
                    fitting = [fit for place, row in pairs if (fit := _fit(place, row, header, misfits))]
                    places, chunk = [place for place, _ in fitting], [row for _, row in fitting]
                if chunk:
                    columns = zip(header, zip(*chunk, strict=True), strict=True)
                    parts.append(pl.DataFrame([strings(*column) for column in columns]))
                    numbers.append(pl.Series("number", places, dtype=pl.UInt32))
        except csv.Error as error:
            raise _located(error, path, separator, quoted) from None
    empty = pl.DataFrame(schema=dict.fromkeys(header, pl.String))
    words = f"[row does|rows do] not have the {len(header)} fields of the header"
    found = misfits.problem("ragged_row", words, "row")
    none = pl.Series("number", [], dtype=pl.UInt32)
    return TextTable(pl.concat([empty, *parts]), pl.concat([none, *numbers]), found, misfits.count)


def _reader(file: io.TextIOWrapper, separator: str, quoted: bool) -> CsvReader:
    if quoted:
        return csv.reader(file, delimiter=separator, strict=True)
    return csv.reader(file, delimiter=separator, quoting=csv.QUOTE_NONE)


def _first_row(reader: CsvReader, path: Path) -> tuple[list[str], int]:
    """Return the header and its row number: it stands below any blank lines."""
    for number, row in enumerate(reader, start=1):
        if row:
            return _header(row, path), number
    raise CorpusError(f"{path}: the file is empty; its first row must name the columns")


def _located(error: csv.Error, path: Path, separator: str, quoted: bool) -> csv.Error:
    """Read again up to the row that is broken: an open quote is noticed long after it was opened."""
    number, line = 1, 1
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = _reader(file, separator, quoted)
        try:
            for _ in reader:
                number, line = number + 1, reader.line_num + 1
        except csv.Error:
            pass
    return csv.Error(f"row {number} (line {line}): {_reason(error)}")


def _reason(error: csv.Error) -> str:
    reason = str(error)
    if "end of data" in reason:
        return "a quote is opened but never closed"
    if "field limit" in reason:
        return "a field is far too long; is a quote opened but never closed?"
    if "expected after" in reason:
        return 'a quote is closed in the middle of a field; write quotes inside a field twice ("")'
    return reason


def _fit(
    number: int, row: list[str], header: Sequence[str], misfits: Misfits
) -> tuple[int, list[str]] | None:
    if not row or (len(row) == 1 and not row[0].strip()):
        return None  # a blank line
    if len(row) < len(header) or any(value.strip() for value in row[len(header) :]):
        misfits.add(number, f"{len(row)} field{'s' if len(row) > 1 else ''}")
        return None
    return number, row[: len(header)]  # separators at the end of the line, as spreadsheets leave them


def _header(row: list[str], path: Path) -> list[str]:
    names = [clean_name(name) for name in row]
    while len(names) > 1 and not names[-1]:
        names.pop()
    names = [name or f"column_{place}" for place, name in enumerate(names, start=1)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise CorpusError(f"{path}: more than one column is called {twice!r}; rename one of them")
    return names
