"""Fair-Speech: `downloaded_file.tsv` beside `asr_fairness_audio/`, a recording named by its hash."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.rows import Reader, Rows

_NAMES = {"socioeconomic_bkgd": "socioeconomic_background"}
_FIXED = {"id": "hash_name", "text": "transcription"}


def _read(_: Path, file: Path) -> Rows:
    """Read the list. Fair-Speech does not publish who speaks: there is no speaker."""
    read = read_delimited(file, "\t", quoted=False)
    table = read.table.rename(_NAMES, strict=False)
    return Rows(
        table.with_columns(audio=pl.col("hash_name").str.strip_suffix(".wav") + ".wav"),
        file.parent,
        columns=_FIXED,
        guess=False,
        search=("asr_fairness_audio",),
        numbers=read.numbers,
        harmonize={"gender": "gender", "age": "age"},
        problems=read.problems,
        lost=read.lost,
    )


def _list(path: Path) -> Path | None:
    files = sorted(path.glob("*.tsv")) if path.is_dir() else [path]
    known = {"hash_name", "transcription"}
    return next((f for f in files if f.suffix == ".tsv" and known <= set(delimited_header(f))), None)


READER = Reader.where(
    _list,
    _read,
    name="fair_speech",
    description="Fair-Speech: downloaded_file.tsv (hash_name, transcription, age ...) and asr_fairness_audio/",
    example="fair_speech with downloaded_file.tsv and asr_fairness_audio/",
    missing="no table with hash_name and transcription; give Fair-Speech's folder",
)
