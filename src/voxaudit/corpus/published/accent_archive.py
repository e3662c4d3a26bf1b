"""Speech Accent Archive: speakers_all.csv, `recordings/` by its `filename`, and the one passage all read."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.rows import Reader, Rows
from voxaudit.corpus.text_files import read_lines

_FIXED = {"id": "filename", "audio": "audio", "speaker": "speakerid", "text": "text"}


def _list(path: Path) -> Path | None:
    return file if (file := path / "speakers_all.csv").is_file() else None


def _read(path: Path, file: Path) -> Rows:
    """Read the speakers whose recording was published; the text is reading-passage.txt."""
    read = read_delimited(file)
    if "filename" not in read.table.columns:
        raise CorpusError(
            f"{file}: no column 'filename'. Columns there: {', '.join(read.table.columns)[:300]}"
        )
    table = read.table.drop([name for name in read.table.columns if name.startswith(("Unnamed", "column_"))])
    there = pl.lit(True)
    if "file_missing?" in table.columns:
        there = pl.col("file_missing?").str.to_lowercase().str.strip_chars() != "true"
    kept = table.with_columns(read.numbers.alias("number")).filter(there)
    passage = path / "reading-passage.txt"
    text = " ".join(" ".join(read_lines(passage)).split()) if passage.is_file() else None
    problems = [*read.problems]
    if text is None:
        problems.append(
            Problem("no_passage", "no reading-passage.txt beside speakers_all.csv: no texts", False)
        )
    if kept.height < table.height:
        message = f"{table.height - kept.height:,} speakers left out: file_missing? says that they have no recording"
        problems.append(Problem("no_recording", message, False, table.height - kept.height))
    return Rows(
        kept.drop("number", "file_missing?", strict=False).with_columns(
            text=pl.lit(text), audio=pl.col("filename").str.strip_suffix(".mp3") + ".mp3"
        ),
        path,
        columns=_FIXED,
        guess=False,
        search=("recordings", "recordings/recordings"),
        numbers=kept["number"],
        harmonize={"gender": "sex", "age": "age"},
        problems=tuple(problems),
        lost=read.lost,
    )


READER = Reader.where(
    _list,
    _read,
    name="accent_archive",
    description="Speech Accent Archive: speakers_all.csv, recordings/*.mp3 and reading-passage.txt",
    example="speech-accent-archive",
    missing="no speakers_all.csv in this folder",
    detect=lambda path: {"filename", "native_language"} <= set(delimited_header(path / "speakers_all.csv")),
)
