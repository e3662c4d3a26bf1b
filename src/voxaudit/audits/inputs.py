"""What an audit reads: the folder of a run, or a table somebody made elsewhere."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.errors import VoxauditError
from voxaudit.run.folder import open_run
from voxaudit.score.table import attribute_names
from voxaudit.tables import read_table, require_columns

TRANSCRIPT_KEYS = ("utterance", "scenario", "recognizer", "text")

AEQUEVOX_COLUMNS = {
    "asr": "recognizer",
    "asr_pair": "pair",
    "transformation": "perturbation",
    "theta": "setting",
    "dataset": "corpus",
}
"""Columns of AequeVox's published tables, and what they are called here."""


def with_own_names(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table of AequeVox's under our names of columns; a column that is there under both is left alone."""
    there = set(table.columns)
    names = {old: new for old, new in AEQUEVOX_COLUMNS.items() if old in there and new not in there}
    return table.rename(names)


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
        # In text files nothing is guessed: the id 007 is not 7.
        table = read_table(path, strings=path.suffix.lower() in (".csv", ".tsv"))
        require_columns(table, TRANSCRIPT_KEYS, path)
        return answered(table.lazy().with_columns(pl.col(TRANSCRIPT_KEYS).cast(pl.String))).collect()
    run = open_run(path)
    table = answered(run.transcripts.lazy()).select(TRANSCRIPT_KEYS).collect()
    about = about_utterances(run.corpus)
    return table.join(about, on="utterance", how="left", maintain_order="left")


def about_utterances(corpus: pl.DataFrame) -> pl.DataFrame:
    """Return what the table of a run's corpus knows: utterance, speaker, reference, then the attributes."""
    return corpus.select(
        pl.col("id").alias("utterance"),
        pl.col("speaker"),
        pl.col("text").alias("reference"),
        *(pl.col(column).alias(name) for column, name in attribute_names(corpus.columns).items()),
    )


def answered(table: pl.LazyFrame) -> pl.LazyFrame:
    """Return transcripts whose text is null where a column `failure` says that the recognizer failed; without it."""
    if "failure" not in table.collect_schema().names():
        return table
    failed = pl.col("failure").cast(pl.String).fill_null("") != ""
    return table.with_columns(pl.when(~failed).then(pl.col("text")).alias("text")).drop("failure")


def require_trials(table: pl.LazyFrame, where: str | Path) -> None:
    """Raise one line where a row does not say which utterance, scenario or recognizer it is about."""
    names = TRANSCRIPT_KEYS[:-1]
    found = table.select(pl.col(names).is_null().arg_true().first()).collect().row(0)
    for name, row in zip(names, found, strict=True):
        if row is not None:
            raise VoxauditError(
                f"{where}, row {row + 1}: column {name} is empty; fill it in or leave the row out"
            )
