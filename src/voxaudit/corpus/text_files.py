"""Read text files strictly: what is not UTF-8 or does not fit is named with its line, never guessed away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import KEPT, CorpusError, Problem, row_problem
from voxaudit.corpus.rows import strings

_BLANKS = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class TextTable:
    """A table of strings, the number of each row in its file, and the rows that could not be read."""

    table: pl.DataFrame
    numbers: pl.Series
    problems: tuple[Problem, ...] = ()
    lost: int = 0


@dataclass
class Misfits:
    """Counts the rows that do not fit and keeps the first few."""

    count: int = 0
    rows: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    def add(self, row: int | str, value: str) -> None:
        """Note one more row, with what is wrong there."""
        self.count += 1
        if len(self.rows) < KEPT:
            self.rows.append(str(row))
            self.values.append(value)

    def problem(self, kind: str, words: str, unit: str = "line") -> tuple[Problem, ...]:
        """Return the problem of all these rows, or nothing."""
        found = row_problem(kind, words, self.count, self.rows, self.values, unit=unit)
        return (found,) if self.count else ()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what can go wrong while a text file is read into one line; what is no file is not opened."""
    if path.exists() and not path.is_file():  # a device or a pipe would be read for ever
        raise CorpusError(f"{path}: is not a file")
    try:
        yield
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot read this file ({error.strerror or error})") from error


def not_utf8(path: Path) -> CorpusError:
    """Return the error for a file in another encoding, with the line of the first wrong byte."""
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return CorpusError(f"{path}: not UTF-8 but UTF-16; convert with iconv -f UTF-16 -t UTF-8")
    place = ""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        place = f" (line {line}, byte 0x{raw[error.start]:02x})"
    return CorpusError(f"{path}: not UTF-8{place}; convert with iconv, for example iconv -f LATIN1 -t UTF-8")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file, without their ends."""
    return read_column(path).to_list()


def read_column(path: Path) -> pl.Series:
    """Return the lines of a UTF-8 text file, without their ends, as a column: no text is ever a Python string."""
    parts = [pl.Series([], dtype=pl.String)]
    with readable(path), path.open("rb") as file:
        while block := file.read(_BLOCK):
            block += file.readline()
            text = block.decode("utf-8" if len(parts) > 1 else "utf-8-sig").removesuffix("\n")
            # Not splitlines(): U+2028 and its like occur inside transcripts.
            lines = pl.Series([text]).str.split("\n").explode()
            parts.append(lines.str.strip_chars_end("\r") if "\r" in text else lines)
    return pl.concat(parts, rechunk=True)


_BLOCK = 1_000_000
"""Bytes that are made lines of at a time: bounds memory."""


def read_keyed(path: Path) -> pl.DataFrame:
    """Return "key rest of the line" lines as `key`, `value` and `number` (of the line); blank lines are left out."""
    numbers: list[int] = []
    keys: list[str] = []
    values: list[str | None] = []
    for number, line in enumerate(read_lines(path), start=1):
        key, *rest = _BLANKS.split(line.strip(" \t"), maxsplit=1)
        if key:
            numbers.append(number)
            keys.append(key)
            values.append(rest[0] if rest else None)
    return pl.DataFrame(
        [strings("key", keys), strings("value", values), pl.Series("number", numbers, dtype=pl.UInt32)]
    )


def read_mapping(path: Path) -> dict[str, str | None]:
    """Return "key rest of the line" lines as a mapping; the last of several with one key counts."""
    return dict(read_keyed(path).select("key", "value").rows())


def clean_name(name: str) -> str:
    """Return a column's name without white space around it or line breaks within."""
    return " ".join(name.split())
