"""From tests to words: adjusted p-values, whether there are enough speakers, and what may be concluded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.audits.parity.options import MEAN, Settings
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.power import smallest_gap, speakers_needed, whole_speakers

FloatArray = NDArray[np.float64]

REFUSED = "refused: fewer than two speakers on a side, or nobody differs"
FEW = "not enough speakers"
NONE_SHOWN = "no difference shown"
ALIKE = "alike within the gap"


def adjust(
    p: FloatArray,
    settings: Settings,
    recognizers: pl.Series | None = None,
    same: Sequence[object] | None = None,
) -> FloatArray:
    """Return the p-values of one table corrected together; nan stays nan.

    The mean of the recognizers repeats what its parts say: its rows are a family of their own, and those of the single
    recognizers are another. Rows with equal `same` test one hypothesis (the two sides of an attribute with two groups)
    and count once.
    """
    keys = list(range(len(p))) if same is None else list(same)
    mean = np.zeros(len(p), dtype=bool) if recognizers is None else (recognizers == MEAN).to_numpy()
    correct = holm if settings.correction == "holm" else benjamini_hochberg
    adjusted = np.full(len(p), np.nan)
    for family in (np.flatnonzero(mean), np.flatnonzero(~mean)):
        first = {keys[place]: place for place in reversed(family)}
        values = correct([None if np.isnan(p[place]) else float(p[place]) for place in first.values()])
        found = {key: np.nan if value is None else value for key, value in zip(first, values, strict=True)}
        adjusted[family] = [found[keys[place]] for place in family]
    return adjusted


def one_hypothesis(table: pl.DataFrame, keys: Sequence[str]) -> list[object]:
    """Return labels for `adjust`: groups of an attribute with just two share one, all other rows have their own."""
    counts = table.select(pl.len().over(keys).alias("rows"), pl.struct(keys).hash().alias("key"))
    return [
        ("pair", key) if rows == 2 else ("row", place) for place, (rows, key) in enumerate(counts.iter_rows())
    ]


def power_columns(
    n: FloatArray, rest: FloatArray, sigma: FloatArray, gap: FloatArray, settings: Settings
) -> dict[str, pl.Series]:
    """Return what Eq. 1 says about groups of `n` speakers against `rest`.

    Columns: sigma; speakers_needed (each side, for `gap`); enough_speakers (both sides reach it); more_needed (in this
    group); smallest_gap (that these speakers would show).
    """
    needed: list[int | None] = []
    smallest: list[float | None] = []
    level, power = settings.confidence, settings.power
    known = np.isfinite(sigma) & (gap > 0)
    for size, others, spread, wanted, usable in zip(n, rest, sigma, gap, known, strict=True):
        needed.append(
            whole_speakers(speakers_needed(wanted, spread, confidence=level, power=power)) if usable else None
        )
        smallest.append(
            smallest_gap(size, others, spread, confidence=level, power=power)
            if usable and others > 0
            else None
        )
    wanted_speakers = np.array([np.inf if number is None else number for number in needed])
    more = [
        None if number is None else max(0, number - int(size)) for number, size in zip(needed, n, strict=True)
    ]
    return {
        "sigma": floats(sigma),
        "enough_speakers": pl.Series((n >= wanted_speakers) & (rest >= wanted_speakers)),
        "speakers_needed": pl.Series(needed, dtype=pl.Int64),
        "more_needed": pl.Series(more, dtype=pl.Int64),
        "smallest_gap": pl.Series(smallest, dtype=pl.Float64),
    }


def verdict(table: pl.DataFrame, settings: Settings, gap: FloatArray) -> pl.Series:
    """Say what each row allows to conclude, from difference, interval, adjusted p and the number of speakers."""
    limits = table.select(low=pl.col("difference_low"), high=pl.col("difference_high"), gap=pl.Series(gap))
    within = (limits["low"] > -limits["gap"]) & (limits["high"] < limits["gap"])
    direction = pl.when(pl.col("difference") > 0).then(pl.lit("worse")).otherwise(pl.lit("better"))
    significant = pl.col("p_adjusted") < settings.alpha
    enough = pl.col("enough_speakers")
    return table.select(
        pl.when(pl.col("p").is_null())
        .then(pl.lit(REFUSED))
        .when(significant & enough)
        .then(direction)
        .when(significant)
        .then(direction + pl.lit(" (few speakers)"))
        .when(pl.Series(within).fill_null(False))
        .then(pl.lit(ALIKE))
        .when(enough)
        .then(pl.lit(NONE_SHOWN))
        .otherwise(pl.lit(FEW))
        .alias("verdict")
    )["verdict"]


def floats(values: FloatArray) -> pl.Series:
    """Return a column of numbers; what is not finite is null."""
    return pl.Series(np.where(np.isfinite(values), values, np.nan), dtype=pl.Float64).fill_nan(None)
