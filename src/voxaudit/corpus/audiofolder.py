"""Hugging Face audiofolder: audio beside metadata.csv, .jsonl or .parquet, for the whole or for each split."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl

from voxaudit.corpus import folder
from voxaudit.corpus.delimited import delimited_header
from voxaudit.corpus.json_lines import json_keys
from voxaudit.corpus.manifest import table_rows
from voxaudit.corpus.rows import Reader, Rows, strings

_FIXED = {"audio": "file_name"}


def detect(path: Path) -> bool:
    """Say whether the folder, or its subfolders, have metadata with a `file_name`."""
    return path.is_dir() and bool(_metadata(path))


def rows(path: Path) -> Rows:
    """Read the metadata; subfolders with their own become attribute `split`. Without any: see `folder`."""
    metadata = _metadata(path) if path.is_dir() else []
    if not metadata:
        return folder.rows(path)
    parts = [(name, file, table_rows(file)) for name, file in metadata]
    if not parts[0][0]:
        return replace(parts[0][2], columns=_FIXED)
    return Rows(
        pl.concat([_placed_table(name, part.table) for name, _, part in parts], how="diagonal"),
        path,
        columns=_FIXED,
        empty_text=all(part.empty_text for *_, part in parts),
        numbers=pl.concat([part.numbers for *_, part in parts if part.numbers is not None]),
        files=pl.concat(
            [strings("file", [f"{name}/{file.name}"] * part.table.height) for name, file, part in parts]
        ),
        problems=tuple(
            replace(
                problem,
                message=f"{name}/{file.name}: {problem.message}",
                rows=tuple(f"{name}/{file.name}:{row}" for row in problem.rows),
            )
            for name, file, part in parts
            for problem in part.problems
        ),
        lost=sum(part.lost for *_, part in parts),
    )


def _metadata(path: Path) -> list[tuple[str, Path]]:
    """Return the metadata of the folder itself, or else of its subfolders, with the names of these."""
    file = _metadata_file(path)
    if file is not None:
        return [("", file)]
    try:
        with os.scandir(path) as entries:
            names = sorted(
                entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")
            )
    except OSError:
        return []
    return [(name, file) for name in names if (file := _metadata_file(path / name)) is not None]


def _metadata_file(folder: Path) -> Path | None:
    """Return the folder's metadata. Other corpora have a metadata.csv too: `file_name` tells them apart."""
    csv, lines, parquet = (folder / f"metadata.{ending}" for ending in ("csv", "jsonl", "parquet"))
    if csv.is_file() and "file_name" in delimited_header(csv):
        return csv
    if lines.is_file() and "file_name" in json_keys(lines):
        return lines
    return parquet if parquet.is_file() else None


def _placed_table(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Make paths relative to the whole folder; a `split` column stays as it is where there is one."""
    table = table.with_columns(pl.all().cast(pl.String))
    if "file_name" in table.columns:
        file = pl.col("file_name").str.strip_chars()
        inside = (file != "") & ~file.str.starts_with("/")
        table = table.with_columns(file_name=pl.when(inside).then(pl.lit(f"{name}/") + file).otherwise(file))
    return table if "split" in table.columns else table.with_columns(split=pl.lit(name))


READER = Reader(
    name="audiofolder",
    description="a Hugging Face audiofolder: metadata.csv, .jsonl or .parquet with file_name, whole or per split",
    example="my_dataset with train/metadata.csv and train/*.wav",
    detect=detect,
    rows=rows,
)
