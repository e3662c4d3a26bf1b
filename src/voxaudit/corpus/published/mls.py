"""Multilingual LibriSpeech: `split/transcripts.txt` beside `split/audio/speaker/book/`, and metainfo.txt."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.corpus.languages import language_code
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_in
from voxaudit.corpus.text_files import read_keyed, read_lines


def _detect(path: Path) -> bool:
    places = (path / "metainfo.txt", path.absolute().parent / "metainfo.txt")
    return any(place.is_file() for place in places) and bool(_splits(path))


def _read(path: Path, splits: list[Path]) -> Rows:
    """Read a language's folder, or one of its splits; metainfo.txt gives `gender`."""
    table = pl.concat([_split(folder, path) for folder in splits])
    above = path if (path / "metainfo.txt").is_file() else path.absolute().parent
    table = table.join(_genders(above / "metainfo.txt"), on="speaker", how="left", maintain_order="left")
    language = language_code(above.absolute().name.removeprefix("mls_").removesuffix("_opus"))
    table = table.with_columns(pl.lit(language, pl.String).alias("language"))
    return rows_in(table, path, harmonize={"gender": "gender"})


def _splits(path: Path) -> list[Path]:
    folders = (path, *(path / name for name in ("train", "dev", "test")))
    return [folder for folder in folders if (folder / "transcripts.txt").is_file()]


def _split(folder: Path, root: Path) -> pl.DataFrame:
    place = "" if folder == root else f"{folder.name}/"
    lines = read_keyed(folder / "transcripts.txt")
    ending = "opus" if next((folder / "audio").glob("*/*/*.opus"), None) else "flac"
    part = pl.col("key").str.split("_")
    return lines.select(
        pl.col("key").alias("id"),
        pl.format(
            f"{place}audio/{{}}/{{}}/{{}}.{ending}",
            part.list.get(0, null_on_oob=True).fill_null("?"),
            part.list.get(1, null_on_oob=True).fill_null("?"),
            "key",
        ).alias("audio"),
        part.list.get(0, null_on_oob=True).alias("speaker"),
        pl.col("value").alias("text"),
        pl.lit(folder.absolute().name).alias("split"),
        part.list.get(1, null_on_oob=True).alias("book"),
        pl.col("number").alias(LINE),
        pl.lit(f"{place}transcripts.txt").alias(FILE),
    )


def _genders(file: Path) -> pl.DataFrame:
    found: dict[str, str] = {}
    for line in read_lines(file) if file.is_file() else []:
        speaker, *rest = (part.strip() for part in line.split("|"))
        if speaker.isdigit() and rest:
            found.setdefault(speaker, rest[0])
    return pl.DataFrame(list(found.items()), schema={"speaker": pl.String, "gender": pl.String}, orient="row")


READER = Reader.where(
    _splits,
    _read,
    name="mls",
    description="a language of Multilingual LibriSpeech, or one split: transcripts.txt, audio/, metainfo.txt",
    example="mls_polish, or mls_polish/test",
    missing="no transcripts.txt here or in train, dev, test; give a folder mls_LANGUAGE",
    detect=_detect,
)
