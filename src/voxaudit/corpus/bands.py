"""Groups made of values: ages and other numbers cut into bands, rare groups merged, in the order people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from voxaudit.corpus.harmonize import DECADES
from voxaudit.errors import VoxauditError, one_line
from voxaudit.wording import MISSING

OTHER = "other"
"""The group that rare groups are merged into."""
AGE_CUTS = (18.0, 30.0, 45.0, 65.0)
"""Lower ends of the bands that ages in years are put into."""
ADULT = (18.0, 65.0)
"""Bands that lie within these ages, in years, are middle-aged here."""
MANY_NUMBERS = 10
"""Numbers with more different values than this are cut into bands."""

Bands = Mapping[str, Sequence[float]] | Sequence[str]
"""Where attributes are cut: {"age": (18, 30)}, or as it is written on a command line: ("age=18", "30")."""

_AGES = {name: (float(start), start + 9.0) for name, start in DECADES.items()} | {"teens": (13.0, 19.0)}


def read_bands(bands: Bands) -> dict[str, tuple[float, ...]]:
    """Return the cuts of each attribute.

    >>> read_bands(("age=18", "30", "income=2.5"))
    {'age': (18.0, 30.0), 'income': (2.5,)}
    """
    if isinstance(bands, Mapping):
        return {name: tuple(float(cut) for cut in cuts) for name, cuts in bands.items()}
    cuts: dict[str, tuple[float, ...]] = {}
    name = ""
    for part in (part for text in bands for part in str(text).split(",")):
        head, equals, cut = part.rpartition("=")
        name = head.strip() if equals else name
        try:
            cuts[name] = (*cuts.get(name, ()), float(cut))
        except ValueError:
            name = ""
        if not name:
            raise VoxauditError(
                f"bands are COLUMN=CUT,CUT (age=18,30,45,65), not '{one_line(part, 60)}'", see=("bands",)
            )
    return cuts


def is_age(name: str) -> bool:
    """Say whether a column's name says that it holds ages (`age`, `age_group`, `SpeakerAge`)."""
    parts = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return "age" in parts or "ages" in parts


def age_range(group: str) -> tuple[float, float] | None:
    """Return the youngest and oldest age in years of an age band such as `31-45`, `65+`, `<18` or `thirties`."""
    text = group.strip().lower()
    if text in _AGES:
        return _AGES[text]
    if match := re.fullmatch(r"(\d+)\s*(?:-|–|to|_)\s*(\d+)(?:\s*(?:years?|yrs?|y|yo))?", text):  # noqa: RUF001
        return float(match[1]), float(match[2])
    if match := re.fullmatch(r"(?:>=?|over\s+)?(\d+)\s*(\+|and\s+(?:over|older))?", text):
        exact = not match[2] and text[0].isdigit()
        return float(match[1]), float(match[1]) if exact else 150.0
    if match := re.fullmatch(r"(?:<=?|under\s+)\s*(\d+)", text):
        return 0.0, float(match[1])
    return None


def middle_bands(groups: Sequence[str]) -> list[str]:
    """Return the bands of adult middle age among an attribute's groups, the youngest first."""
    spans = {group: span for group in groups if (span := age_range(group)) is not None}
    inside = [group for group, (low, high) in spans.items() if low >= ADULT[0] and high <= ADULT[1]]
    return sorted(inside, key=lambda group: spans[group])


def cuts_of(name: str, values: pl.Series, given: tuple[float, ...] | None, *, age: bool) -> tuple[float, ...]:
    """Return where the values of a column are cut: as `given`, ages at `AGE_CUTS`, many numbers at their quartiles.

    Text and few numbers are groups as they are: no cuts.
    """
    if given is not None:
        if not values.dtype.is_numeric():
            raise VoxauditError(f"bands of '{name}': the column does not hold numbers", see=("bands",))
        if not given or list(given) != sorted(set(given)):
            raise VoxauditError(
                f"bands of '{name}': cuts must be numbers in rising order, not {list(given)}", see=("bands",)
            )
        return given
    if not values.dtype.is_numeric():
        return ()
    kinds = values.drop_nulls().n_unique()
    if age and kinds > len(AGE_CUTS) + 1:
        return AGE_CUTS
    if kinds <= MANY_NUMBERS:
        return ()
    quartiles = [values.quantile(share, "nearest") for share in (0.25, 0.5, 0.75)]
    smallest = values.min()
    return tuple(sorted({float(cut) for cut in quartiles if cut is not None and cut != smallest}))


def group_names(values: pl.Series, cuts: tuple[float, ...]) -> pl.Series:
    """Return the group of every value: its band where there are cuts, else the value as text."""
    if not cuts:
        return _label(values)
    known = values.drop_nulls()
    whole = bool((known == known.round()).all()) and all(cut == int(cut) for cut in cuts)
    numbers = values.cast(pl.Float64).fill_nan(None)
    index = pl.Series(cuts).search_sorted(numbers.fill_null(0.0), side="right")
    named = pl.Series(band_labels(cuts, whole)).gather(index)
    return pl.select(pl.when(numbers.is_not_null()).then(named)).to_series()


def band_labels(cuts: Sequence[float], whole: bool) -> list[str]:
    """Return the names of the bands that `cuts` make; whole numbers name their last value.

    >>> band_labels((18, 30), True)
    ['<18', '18-29', '30+']
    """

    def middle(low: float, high: float) -> str:
        if not whole:
            return f"{low:g} to {high:g}"
        return f"{low:g}-{high - 1:g}" if high - low > 1 else f"{low:g}"

    return [f"<{cuts[0]:g}", *(middle(low, high) for low, high in pairwise(cuts)), f"{cuts[-1]:g}+"]


def _label(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if (values.drop_nulls() == values.drop_nulls().round()).all():
            return values.cast(pl.Int64, strict=False).cast(pl.String)
    return values.cast(pl.String)


def merge_rare(group: pl.Series, below: int) -> tuple[pl.Series, tuple[str, ...]]:
    """Put groups of fewer than `below` rows into `OTHER`; return which those were, too."""
    counts = group.alias("group").value_counts().sort("group")
    few = counts.filter(pl.col("count") < below, ~pl.col("group").is_in([MISSING, OTHER]))
    rare = few["group"].to_list()
    return group.replace(rare, [OTHER] * len(rare)) if rare else group, tuple(rare)


def in_order(groups: Sequence[str], cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return groups in the order they are shown: bands and ages by their lower ends, what is rare or missing last."""
    bands = [*band_labels(cuts, True), *band_labels(cuts, False)] if cuts else []

    def key(group: str) -> tuple[int, float, str]:
        last = {OTHER: 1, MISSING: 2}.get(group, 0)
        span = age_range(group)
        return last, float(bands.index(group)) if group in bands else span[0] if span else float("inf"), group

    return tuple(sorted(groups, key=key))
