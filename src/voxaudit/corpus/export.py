"""Write a corpus as a manifest that voxaudit, and others, can read again."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import COLUMNS, Corpus, CorpusError
from voxaudit.tables import write_table

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_manifest_path(path: str | Path) -> Path:
    """Return the path if a manifest can be written there, else raise one line."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise CorpusError(f"{path}: a manifest ends in one of {', '.join(ENDINGS)}")
    if not path.absolute().parent.is_dir():
        raise CorpusError(f"{path}: no such folder as {path.absolute().parent}")
    return path


def write_manifest(corpus: Corpus, path: str | Path) -> None:
    """Write a row per utterance: our columns that have values, then the attributes.

    Audio below the manifest's folder is named relative to it, other audio by its full path. CSV and TSV cannot tell an
    empty text (nobody speaks) from none; .jsonl and .parquet can.
    """
    path = check_manifest_path(path)
    root = os.path.realpath(path.absolute().parent)
    table = corpus.table
    unused = [name for name in COLUMNS if name not in ("id", "audio") and not table[name].count()]
    prefix = root.rstrip(os.sep) + os.sep
    below = pl.col("audio").str.starts_with(prefix)
    short = pl.when(below).then(pl.col("audio").str.strip_prefix(prefix)).otherwise("audio")
    table = table.drop(unused).with_columns(short.alias("audio"))
    write_table(table, path)
