"""Manifests: one table with a row per utterance, as CSV, TSV, JSON lines or Parquet; and those of NeMo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.columns import USUAL_NAMES
from voxaudit.corpus.delimited import read_delimited
from voxaudit.corpus.json_lines import json_keys, read_json_lines
from voxaudit.corpus.rows import Reader, Rows
from voxaudit.errors import VoxauditError
from voxaudit.tables import ENDINGS, read_table, unwritable


def detect(path: Path) -> bool:
    """Say whether this is a table, or a folder with a table called `manifest`."""
    return _manifest(path) is not None


def rows(path: Path) -> Rows:
    """Read a table; columns are found by their usual names."""
    file = _manifest(path) or path
    if file.is_dir():
        raise CorpusError(
            f"{path}: no manifest.csv, .tsv, .jsonl or .parquet in this folder; name the file itself"
        )
    return table_rows(file)


def table_rows(path: Path) -> Rows:
    """Read one table file of any of the four kinds as raw rows."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _parquet_rows(path)
    if ending not in ENDINGS:
        raise CorpusError(
            f"{path}: a manifest ends in one of {', '.join(ENDINGS)}, not {ending or 'nothing'!r}"
        )
    read = read_delimited(path) if ending in (".csv", ".tsv") else read_json_lines(path)
    return Rows(
        read.table,
        path.parent,
        numbers=read.numbers,
        unit="row" if ending in (".csv", ".tsv") else "line",
        empty_text=ending not in (".csv", ".tsv"),
        problems=read.problems,
        lost=read.lost,
    )


def _manifest(path: Path) -> Path | None:
    if not path.is_dir():
        return path if path.suffix.lower() in ENDINGS else None
    inside = (path / f"manifest{ending}" for ending in ENDINGS)
    return next((file for file in inside if file.is_file()), None)


def _parquet_rows(path: Path) -> Rows:
    try:
        table = read_table(path)
    except VoxauditError as error:
        raise CorpusError(str(error)) from error
    nested = unwritable(table.schema)
    others = {name.lower() for name in table.columns if name not in nested}
    if "audio" in nested and others.isdisjoint(USUAL_NAMES["audio"]):
        raise CorpusError(
            f"{path}: column 'audio' holds the recordings themselves; write them to files and name those"
        )
    problems = [
        Problem("unreadable_column", f"column {name!r} holds {table.schema[name]} values: left out", False)
        for name in nested
    ]
    numbers = pl.int_range(1, table.height + 1, dtype=pl.UInt32, eager=True)
    return Rows(table.drop(nested), path.parent, numbers=numbers, empty_text=True, problems=tuple(problems))


READER = Reader(
    name="manifest",
    description="a CSV, TSV, JSON lines or Parquet table with a row per utterance, or a folder with manifest.csv",
    example="manifest.csv with columns path,text,speaker,gender",
    detect=detect,
    rows=rows,
)


# NeMo's: JSON lines with `audio_filepath`, `duration`, `text` and, for segments, `offset`.

_NEMO = {"audio": "audio_filepath", "duration": "duration", "text": "text", "start": "offset"}
_NEMO_ENDINGS = (".json", ".jsonl", ".ndjson")


NEMO = Reader(
    name="nemo",
    description="a NeMo manifest: JSON lines with audio_filepath, duration, text, offset",
    example='train.json with lines {"audio_filepath": "a.wav", "duration": 2.1, "text": "yes"}',
    detect=lambda path: (
        path.suffix.lower() in _NEMO_ENDINGS and path.is_file() and "audio_filepath" in json_keys(path)
    ),
    rows=lambda path: replace(table_rows(path), columns=_NEMO),
)
