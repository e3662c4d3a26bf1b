"""What an audit reads: the folder of a run, or a table somebody made elsewhere."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.errors import VoxauditError
from voxaudit.run.folder import open_run
from voxaudit.score.table import attribute_names
from voxaudit.tables import read_table, require_columns

TRANSCRIPT_KEYS = ("utterance", "scenario", "recognizer", "text")


def is_run(path: str | Path) -> bool:
    """Say whether a path is the folder of a run."""
    return (Path(path) / "run.json").is_file()


def read_scores(path: str | Path) -> pl.DataFrame:
    """Return the `scores` table of a run's folder or of a file (csv, tsv, jsonl, parquet)."""
    path = Path(path)
    if not path.is_dir():
        return read_table(path)
    if not (path / "scores.parquet").exists():
        raise VoxauditError(f"{path}: no scores.parquet in this folder. Give a table, or a finished run")
    return read_table(path / "scores.parquet")


def read_transcripts(path: str | Path) -> pl.DataFrame:
    """Return transcripts with what is known of their utterances, from a run's folder or a file.

    Columns: utterance, scenario, recognizer, text (null where the recognizer failed), speaker (where there is one),
    reference (the reference text, null without one), then the attributes. A file needs the first four; whatever
    other columns it has are kept as they are.
    """
    path = Path(path)
    if not is_run(path):
        table = read_table(path)
        require_columns(table, TRANSCRIPT_KEYS, path)
        return _answered(table.with_columns(pl.col(name).cast(pl.String) for name in TRANSCRIPT_KEYS))
    run = open_run(path)
    names = attribute_names(run.corpus.columns)
    about = run.corpus.select(
        pl.col("id").alias("utterance"),
        pl.col("speaker"),
        pl.col("text").alias("reference"),
        *(pl.col(column).alias(name) for column, name in names.items()),
    )
    table = _answered(run.transcripts).select(*TRANSCRIPT_KEYS)
    return table.join(about, on="utterance", how="left", maintain_order="left")


def _answered(table: pl.DataFrame) -> pl.DataFrame:
    if "failure" not in table.columns:
        return table
    failed = pl.col("failure").cast(pl.String).fill_null("") != ""
    return table.with_columns(pl.when(~failed).then(pl.col("text")).alias("text")).drop("failure")
