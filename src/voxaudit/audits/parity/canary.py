"""The middle-age canary: adjacent bands of adult ages should be treated alike (Herron et al., section 3.3.3).

Voices change little in middle age. If a recognizer seems to treat 31 to 45 years differently from 46 to 65, the corpus
is more likely to be unbalanced in something else than the recognizer to be unfair about that.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from voxaudit.audits.parity.groups import age_range
from voxaudit.audits.parity.judge import adjust, floats
from voxaudit.audits.parity.options import Settings

ADULT = (18.0, 65.0)
"""Bands that lie within these ages, in years, are middle-aged here."""


def middle_bands(groups: tuple[str, ...]) -> list[str]:
    """Return the bands of adult middle age among an attribute's groups, the youngest first."""
    spans = {group: span for group in groups if (span := age_range(group)) is not None}
    inside = [group for group, (low, high) in spans.items() if low >= ADULT[0] and high <= ADULT[1]]
    return sorted(inside, key=lambda group: spans[group])


def canary(
    pairs: pl.DataFrame, age: str | None, order: dict[str, tuple[str, ...]], settings: Settings
) -> pl.DataFrame:
    """Return the comparisons of adjacent middle-age bands out of the table of pairs, corrected among themselves."""
    if age is None or age not in order or not pairs.height:
        return pl.DataFrame()
    wanted = [frozenset(pair) for pair in pairwise(middle_bands(order[age]))]
    chosen = pairs.filter(pl.col("attribute") == age)
    keep = [frozenset(row) in wanted for row in chosen.select("first", "second").iter_rows()]
    found = chosen.filter(pl.Series(keep, dtype=pl.Boolean)).drop("verdict", "p_adjusted")
    if not found.height:
        return found
    p = found["p"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    found = found.with_columns(p_adjusted=floats(adjust(np.asarray(p), settings, found["recognizer"])))
    return found.with_columns(differs=(pl.col("p_adjusted") < settings.alpha).fill_null(False))
