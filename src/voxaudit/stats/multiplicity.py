"""Many tests at once: p-values adjusted for the family they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from voxaudit.stats.cells import FloatArray, IntArray


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's step-down p-values: the chance of *any* false claim in the family stays below the level.

    A missing p-value (a test that was refused) belongs to no family and stays missing.
    """
    places, ranked = _ranked(p_values)
    stepped = np.maximum.accumulate(ranked * np.arange(len(ranked), 0, -1.0))
    return _put_back(len(p_values), places, stepped)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Benjamini and Hochberg's step-up p-values: the expected *share* of false claims among the claims.

    A missing p-value (a test that was refused) belongs to no family and stays missing.
    """
    places, ranked = _ranked(p_values)
    stepped = ranked * len(ranked) / np.arange(1.0, len(ranked) + 1.0)
    return _put_back(len(p_values), places, np.minimum.accumulate(stepped[::-1])[::-1])


def farther_together(df: FloatArray | float, count: int, confidence: float = 0.95) -> FloatArray:
    """Return how many times as far from their estimates limits lie that hold for `count` at once (Bonferroni).

    They are limits of the t distribution with `df` degrees of freedom.
    """
    from voxaudit.numeric import stdtrit

    tail = (1.0 - confidence) / 2.0
    return np.asarray(stdtrit(df, 1.0 - tail / count) / stdtrit(df, 1.0 - tail))


def _ranked(p_values: Sequence[float | None]) -> tuple[IntArray, FloatArray]:
    """Return the places of the known p-values, the smallest first, and those p-values."""
    values = np.array(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")  # what is missing comes last
    places = order[: len(values) - np.count_nonzero(np.isnan(values))]
    return places, values[places]


def _put_back(size: int, places: IntArray, stepped: FloatArray) -> list[float | None]:
    adjusted: list[float | None] = [None] * size
    for place, value in zip(places.tolist(), np.minimum(stepped, 1.0).tolist(), strict=True):
        adjusted[place] = value
    return adjusted
