"""JSON lines (or one array of objects) as a table of strings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.rows import table_of
from voxaudit.corpus.text_files import Misfits, TextTable, clean_name, readable
from voxaudit.errors import one_line

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Numbers keep their spelling: an id of 007 or 1.10 is not a quantity."""


def read_json_lines(path: Path) -> TextTable:
    """Read JSON lines (or one JSON array of objects) as strings, with the line (or place) of each."""
    misfits = Misfits()
    numbers: list[int] = []

    def records() -> Iterator[dict[str, object]]:
        for number, value in _values(path, misfits):
            if isinstance(value, dict) and value:
                numbers.append(number)
                yield value
            else:
                what = "an empty object" if value == {} else f"not an object: {one_line(str(value), 30)}"
                misfits.add(number, what)

    with readable(path):
        table = table_of(records(), clean_name)
    found = misfits.problem("bad_json", "[line is not a JSON object|lines are not JSON objects]")
    return TextTable(table, pl.Series("number", numbers, dtype=pl.UInt32), found, misfits.count)


def read_json(path: Path) -> Any:
    """Return a whole JSON document; numbers keep their spelling."""
    with readable(path):
        try:
            return _DECODER.decode(path.read_text(encoding="utf-8-sig").strip())
        except (json.JSONDecodeError, RecursionError) as error:
            raise CorpusError(f"{path}: not valid JSON ({one_line(error, 100)})") from None


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON object, an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def json_keys(path: Path) -> list[str]:
    """Return the keys of the first object of a file, [] where there is none. Never raises."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            start = file.read(1 << 20).decode("utf-8-sig", "replace").lstrip(" \t\r\n[")
        record, _ = _DECODER.raw_decode(start)
    except (OSError, ValueError, RecursionError):
        return []
    return [clean_name(name) for name in record] if isinstance(record, dict) else []


def _values(path: Path, misfits: Misfits) -> Iterator[tuple[int, object]]:
    if _is_array(path):
        yield from enumerate(read_json(path), start=1)
        return
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            text = line.strip()
            if text:
                try:
                    value = _DECODER.decode(text)
                except (json.JSONDecodeError, RecursionError) as error:
                    misfits.add(number, one_line(error, 50))
                else:
                    yield number, value


def _is_array(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
