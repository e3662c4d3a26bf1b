"""Recordings that a list names without saying where they are: found by their names, below a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from voxaudit.corpus.folder import audio_files


def audio_by_name(folder: Path) -> dict[str, str]:
    """Return {file name without its ending: path relative to `folder`} of all audio below it.

    Of several files of one name, the one with the shortest path is taken, then by the alphabet.
    """
    found: dict[str, str] = {}
    for path in sorted(audio_files(folder), key=lambda path: (path.count("/"), path)):
        found.setdefault(path.rsplit("/", 1)[-1].rsplit(".", 1)[0], path)
    return found


def beside(names: Iterable[str], folder: Path) -> tuple[Path, dict[str, str]]:
    """Return where recordings of these names are: the folder itself, else the one above (`stm/` beside `wav/`)."""
    wanted = set(names)
    for place in (folder, folder.parent):
        found = {name: path for name, path in audio_by_name(place).items() if name in wanted}
        if found:
            return place, found
    return folder, {}


def with_overlap(table: pl.DataFrame, session: str) -> pl.DataFrame:
    """Add `overlap` (yes, no): whether any other segment of the same session is heard at the same time.

    `start` and `end` are columns of seconds as text.
    """
    work = table.select(
        pl.col(session).alias("session"),
        pl.col("start").cast(pl.Float64, strict=False),
        pl.col("end").cast(pl.Float64, strict=False),
    ).with_row_index("row")
    work = work.sort("session", "start", "end")
    before = pl.col("end").cum_max().shift(1).over("session")
    after = pl.col("start").shift(-1).over("session")
    both = ((pl.col("start") < before) | (pl.col("end") > after)).fill_null(False)
    answer = work.select("row", pl.when(both).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("overlap"))
    return table.with_columns(answer.sort("row")["overlap"])
