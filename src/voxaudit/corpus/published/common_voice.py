"""Common Voice: a folder per language with `clips/` and tab-separated lists that never quote."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.languages import language_code
from voxaudit.corpus.rows import Reader, Rows

LISTS = ("validated", "test", "dev", "train", "other", "invalidated")
"""The lists of a release, the one to read first. The others are read by naming the file."""

_FIXED = {"audio": "path", "text": "sentence", "speaker": "client_id", "duration": "duration"}


def detect(path: Path) -> bool:
    """Say whether this is such a list, or a folder with `clips/` and one of them."""
    if path.is_dir():
        return (path / "clips").is_dir() and any(_is_list(path / f"{name}.tsv") for name in LISTS)
    return path.suffix.lower() == ".tsv" and _is_list(path)


def rows(path: Path) -> Rows:
    """Read a list (of a folder: `validated.tsv` where there is one) with the clips' durations if they are known."""
    problems: tuple[Problem, ...] = ()
    file = path
    if path.is_dir():
        there = [path / f"{name}.tsv" for name in LISTS if (path / f"{name}.tsv").is_file()]
        if not there:
            raise CorpusError(f"{path}: no validated.tsv, test.tsv, dev.tsv or train.tsv in this folder")
        file = there[0]
        if len(there) > 1:
            others = ", ".join(other.name for other in there[1:])
            problems = (
                Problem("several_lists", f"read {file.name}; name a file to read another: {others}", False),
            )
    read = read_delimited(file, "\t", quoted=False)
    if "locale" in read.table.columns:
        language = pl.col("locale")
    else:
        language = pl.lit(language_code(file.absolute().parent.name), pl.String)
    # The first releases name clips without their ending.
    clip = pl.col("path")
    table = read.table.with_columns(
        pl.when(clip.str.contains(r"\.[A-Za-z0-9]+$")).then(clip).otherwise(clip + ".mp3")
        if "path" in read.table
        else [],
        *([] if "language" in read.table.columns else [language.alias("language")]),
    )
    return Rows(
        _with_durations(table, file.parent / "clip_durations.tsv"),
        file.parent,
        columns=_FIXED,
        guess=False,
        search=("clips",),
        harmonize={
            "gender": "gender",
            "age": "age",
            "accent": "accents" if "accents" in table.columns else "accent",
        },
        numbers=read.numbers,
        problems=(*read.problems, *problems),
        lost=read.lost,
    )


def _is_list(path: Path) -> bool:
    return path.is_file() and {"client_id", "path", "sentence"} <= set(delimited_header(path))


def _with_durations(table: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Add seconds from `clip_durations.tsv`, which newer releases have: clip and milliseconds."""
    if "path" not in table or "duration" in table or not file.is_file():
        return table
    known = read_delimited(file, "\t", quoted=False).table
    if known.width < 2:
        return table
    clip, length = known.columns[:2]
    seconds = known.select(
        pl.col(clip).alias("path"),
        duration=(pl.col(length).cast(pl.Float64, strict=False) / 1000).cast(pl.String),
    ).unique("path", keep="first")
    return table.join(seconds, on="path", how="left", maintain_order="left")


READER = Reader(
    name="common_voice",
    description="a Common Voice language folder (clips/ and validated.tsv, test.tsv ...), or one of its lists",
    example="cv-corpus/en, or cv-corpus/en/test.tsv",
    detect=detect,
    rows=rows,
)
