"""What the audio and the texts are like, added to a table as columns: signal-to-noise ratio and text complexity."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from voxaudit.audio import AudioError, read
from voxaudit.score.complexity import MEASURES, text_complexity
from voxaudit.score.snr import estimate_snr

QUALITY_PART, TEXT_PART = "recording quality", "text complexity"
NO_AUDIO = (
    "there is no audio and no column 'snr' (name the column of paths with --audio, or audit a run folder)"
)
NO_TEXT = "there are no reference texts (name their column with --text, or audit a run folder)"


@dataclass(frozen=True)
class Measured:
    """A table with the measures as columns, what they were measured with, and why parts are missing."""

    table: pl.DataFrame
    sources: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def add_measures(
    table: pl.DataFrame,
    *,
    text: str | None = None,
    audio: str | None = None,
    folder: Path | None = None,
    start: str | None = None,
    duration: str | None = None,
    dictionary: str | Path | None = None,
) -> Measured:
    """Measure the texts of column `text` and the recordings of column `audio` (paths, relative to `folder`).

    `start` and `duration` name columns in seconds that cut segments out of recordings. A measure that the table
    already has as a column is kept. Every distinct text and segment is measured once.
    """
    there = [name for name in ("snr", *MEASURES) if name in table.columns]
    sources = {name: "the table's own column" for name in there if table.schema[name].is_numeric()}
    missing: dict[str, str] = {}
    notes: list[str] = []
    if text is not None:
        found = text_complexity(table[text].cast(pl.String), dictionary)
        new = [name for name in MEASURES if name not in table.columns and name not in found.missing]
        table = table.with_columns(found.table[name] for name in new)
        sources |= {name: found.sources[name] for name in new}
        missing |= {name: why for name, why in found.missing.items() if name not in table.columns}
    elif not any(name in sources for name in MEASURES):
        missing[TEXT_PART] = NO_TEXT
    if "snr" in there and "snr" not in sources:
        missing[QUALITY_PART] = "column 'snr' does not hold numbers"
    if "snr" not in there:
        if audio is None:
            missing[QUALITY_PART] = NO_AUDIO
        else:
            table, unreadable = _with_snr(table, audio, folder or Path(), start, duration)
            sources["snr"] = "estimated from the audio (voxaudit.score.snr)"
            if unreadable:
                notes.append(
                    f"{unreadable} recordings could not be read or are silent: their quality is not known"
                )
            if table["snr"].count() == 0:
                missing[QUALITY_PART] = "no recording could be measured"
    return Measured(table, sources, missing, tuple(notes))


def _with_snr(
    table: pl.DataFrame, audio: str, folder: Path, start: str | None, duration: str | None
) -> tuple[pl.DataFrame, int]:
    parts = [name for name in (audio, start, duration) if name is not None]
    segments = table.select(parts).unique(maintain_order=True)

    def measure(row: tuple[object, ...]) -> float | None:
        where = dict(zip(parts, row, strict=True))
        if where[audio] is None:
            return None
        begin = float(str(where[start])) if start and where[start] is not None else 0.0
        length = float(str(where[duration])) if duration and where[duration] is not None else None
        try:
            return estimate_snr(read(folder / str(where[audio]), start=begin, duration=length))
        except AudioError:
            return None

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        values = list(pool.map(measure, segments.iter_rows()))
    measured = segments.with_columns(pl.Series("snr", values, dtype=pl.Float64))
    joined = table.join(measured, on=parts, how="left", nulls_equal=True, maintain_order="left")
    return joined, sum(value is None for value in values)
