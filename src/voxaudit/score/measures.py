"""What recordings and texts are like: signal-to-noise ratio and complexity, each distinct one measured once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from voxaudit.audio import AudioError, read
from voxaudit.score.complexity import MEASURES, text_complexity
from voxaudit.score.snr import estimate_snr
from voxaudit.wording import counted

QUALITY = {"snr": "recording quality (SNR, dB)"}
COMPLEXITY = {
    "text_words": "words per utterance",
    "unknown_words": "share of words outside the dictionary",
    "word_frequency": "word frequency (log10 per million)",
    "perplexity_bits": "perplexity (bits per word)",
}
MEASURE_NAMES = QUALITY | COMPLEXITY
"""The measures of recordings and texts, and what they are called."""
QUALITY_PART, TEXT_PART = "recording quality", "text complexity"


@dataclass(frozen=True)
class Measured:
    """Measures of recordings and texts: columns `#NAME` to join on `on`, their sources, and why others lack."""

    frame: pl.DataFrame
    on: tuple[str, ...]
    sources: dict[str, str]
    missing: dict[str, str]
    unreadable: int = 0


def measure(
    about: pl.DataFrame,
    on: Sequence[str],
    known: pl.DataFrame,
    *,
    text: str,
    segment: Sequence[str],
    folder: Path,
    most: int,
    dictionary: str | Path | None,
) -> Measured:
    """Measure the texts of a column and the recordings of `segment` (audio, or audio, start and duration).

    `about` has one row for each combination of `on`; a measure that the table `known` has as a column of numbers is not
    made again. `text` is empty and `segment` has nothing where there are none; more recordings than `most` are not
    opened.
    """
    there = [name for name in MEASURE_NAMES if name in known.columns]
    sources = {name: "the table's own column" for name in there if known.schema[name].is_numeric()}
    missing: dict[str, str] = {}
    if text and about[text].count():
        result = text_complexity(about[text].cast(pl.String), dictionary)
        new = [name for name in MEASURES if name not in there and name not in result.missing]
        about = about.with_columns(result.table[name].alias(f"#{name}") for name in new)
        sources |= {name: result.sources[name] for name in new}
        missing |= {name: why for name, why in result.missing.items() if name not in there}
    elif not any(name in sources for name in MEASURES):
        missing[TEXT_PART] = "there are no reference texts (a column `reference`)"
    unreadable = 0
    if "snr" in there:
        missing |= {} if "snr" in sources else {QUALITY_PART: "column 'snr' does not hold numbers"}
    elif not segment:
        missing[QUALITY_PART] = "there are no recordings (a column `audio`) and no column `snr`"
    elif (count := about.select(segment).n_unique()) > most:
        missing[QUALITY_PART] = (
            f"{counted(count, 'recording')}, of which no more than {most} are opened (`recordings`)"
        )
    else:
        about = _with_snr(about, segment, folder)
        unreadable = about["#snr"].null_count()
        sources["snr"] = "estimated from the audio (voxaudit.score.snr)"
        if unreadable == about.height:
            missing[QUALITY_PART] = "no recording could be measured"
    new = [name for name in about.columns if name.startswith("#")]
    return Measured(
        about.select(*on, *new) if new else about, tuple(on) if new else (), sources, missing, unreadable
    )


def _with_snr(about: pl.DataFrame, segment: Sequence[str], folder: Path) -> pl.DataFrame:
    segments = about.select(segment).unique(maintain_order=True)

    def snr(row: tuple[object, ...]) -> float | None:
        audio, start, duration = (*row, None, None)[:3]
        if audio is None:
            return None
        try:
            begin = 0.0 if start is None else float(str(start))
            length = None if duration is None else float(str(duration))
            return estimate_snr(read(folder / str(audio), start=begin, duration=length))
        except AudioError:
            return None

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        values = list(pool.map(snr, segments.iter_rows()))
    measured = segments.with_columns(pl.Series("#snr", values, dtype=pl.Float64))
    return about.join(measured, on=segment, how="left", nulls_equal=True, maintain_order="left")
