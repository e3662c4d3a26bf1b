"""LibriSpeech: `subset/speaker/chapter/*.trans.txt` beside FLAC files, and SPEAKERS.TXT."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import Problem
from voxaudit.corpus.folder import glimpse
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_in
from voxaudit.corpus.text_files import read_keyed, read_lines

_PATTERNS = ("[0-9]*/[0-9]*/*.trans.txt", "*/[0-9]*/[0-9]*/*.trans.txt")

_TRANSCRIPT = re.compile(r"(?:[^/]+/)?\d[^/]*/\d[^/]*/[^/]*\.trans\.txt")


def _files(path: Path) -> list[Path]:
    return sorted({file for pattern in _PATTERNS for file in path.glob(pattern)}) if path.is_dir() else []


def _read(path: Path, files: list[Path]) -> Rows:
    """Read all transcripts; what SPEAKERS.TXT (here or one folder up) says of a speaker becomes attributes."""
    table = pl.concat([_chapter(file, path) for file in files])
    table, problems = _with_speakers(table, path)
    return rows_in(table, path, harmonize={"gender": "sex"}, problems=problems)


def _chapter(file: Path, root: Path) -> pl.DataFrame:
    folder = file.parent
    place = folder.relative_to(root).as_posix()
    lines = read_keyed(file)
    return lines.select(
        pl.col("key").alias("id"),
        (pl.lit(f"{place}/") + pl.col("key") + ".flac").alias("audio"),
        pl.lit(folder.parent.name).alias("speaker"),
        pl.col("value").alias("text"),
        pl.lit(folder.parent.absolute().parent.name).alias("subset"),
        pl.lit(folder.name).alias("chapter"),
        pl.col("number").alias(LINE),
        pl.lit(f"{place}/{file.name}").alias(FILE),
    )


def _with_speakers(table: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    places = (path / "SPEAKERS.TXT", path.absolute().parent / "SPEAKERS.TXT")
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return table, (
            Problem("no_speakers_file", "no SPEAKERS.TXT here or one folder up: sex is not known", False),
        )
    speakers = _speakers(file)
    lacking = set(table["speaker"].unique()) - set(speakers["speaker"])
    problems: tuple[Problem, ...] = ()
    if lacking:
        names = ", ".join(sorted(lacking)[:3]) + (", ..." if len(lacking) > 3 else "")
        message = (
            f"{len(lacking):,} speaker{'s are' if len(lacking) > 1 else ' is'} not in SPEAKERS.TXT ({names})"
        )
        problems = (Problem("unknown_speaker", message, False, len(lacking)),)
    return table.join(speakers, on="speaker", how="left", maintain_order="left"), problems


def _speakers(file: Path) -> pl.DataFrame:
    """Return speaker, sex, minutes and name; lines with a semicolon are comments."""
    found = []
    for line in read_lines(file):
        # A reader's name may itself hold a bar.
        parts = [part.strip() for part in line.split("|", 4)]
        if not line.lstrip().startswith(";") and len(parts) == 5:
            found.append((parts[0], parts[1], parts[3], parts[4]))
    columns = ("speaker", "sex", "minutes", "name")
    return pl.DataFrame(found, schema=dict.fromkeys(columns, pl.String), orient="row").unique(
        "speaker", keep="first"
    )


READER = Reader.where(
    _files,
    _read,
    name="librispeech",
    description="LibriSpeech's folder or one of its subsets: */*/*.trans.txt with FLAC files, and SPEAKERS.TXT",
    example="LibriSpeech, or LibriSpeech/dev-clean",
    missing="no */*/*.trans.txt in this folder; give LibriSpeech's folder or one of its subsets",
    detect=lambda path: path.is_dir() and any(map(_TRANSCRIPT.fullmatch, glimpse(path, 3))),
)
