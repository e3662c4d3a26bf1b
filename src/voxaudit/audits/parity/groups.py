"""Attributes become groups: numbers into bands, rare groups merged, missing values a group of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from voxaudit.audits.parity.options import AGE_CUTS, MISSING, OTHER, Refusal, Settings
from voxaudit.errors import VoxauditError

MANY_NUMBERS = 10
"""A numeric attribute with more different values than this is cut into bands."""

_DECADES = {
    "teens": (13, 19),
    "twenties": (20, 29),
    "thirties": (30, 39),
    "forties": (40, 49),
    "fourties": (40, 49),  # as Common Voice spells it
    "fifties": (50, 59),
    "sixties": (60, 69),
    "seventies": (70, 79),
    "eighties": (80, 89),
    "nineties": (90, 99),
}


@dataclass(frozen=True)
class Groups:
    """One row a speaker with a group for every attribute, as text; and what was done to get there."""

    people: pl.DataFrame
    attributes: tuple[str, ...]
    order: dict[str, tuple[str, ...]]
    """The groups of each attribute in the order they are shown."""
    merged: dict[str, tuple[str, ...]]
    banded: dict[str, tuple[float, ...]]
    age: str | None
    notes: tuple[str, ...]
    refusals: tuple[Refusal, ...]


def assign_groups(raw: pl.DataFrame, attributes: Sequence[str], settings: Settings) -> Groups:
    """Give every speaker a group of each attribute.

    `raw` has one row a speaker and, for every attribute, the smallest and the largest value among the speaker's rows
    (`@name` and `@name_max`, null where never known). A speaker in two groups makes the attribute unusable here: it
    does not describe speakers.
    """
    unknown = set(settings.bands) - set(attributes)
    if unknown:
        raise VoxauditError(f"--bands names '{min(unknown)}', which is not among the attributes")
    age = settings.age or next((name for name in attributes if is_age(name)), None)
    if settings.age and settings.age not in attributes:
        raise VoxauditError(f"--age names '{settings.age}', which is not among the attributes")
    people = raw.select("speaker")
    kept: list[str] = []
    order: dict[str, tuple[str, ...]] = {}
    merged: dict[str, tuple[str, ...]] = {}
    banded: dict[str, tuple[float, ...]] = {}
    notes: list[str] = []
    refusals: list[Refusal] = []
    for name in attributes:
        low, high = raw[f"@{name}"], raw[f"@{name}_max"]
        cuts = _cuts(name, low, settings, age == name)
        if cuts:
            banded[name] = cuts
            group, last = _band(low, cuts), _band(high, cuts)
            notes.append(f"'{name}' is cut into bands at {', '.join(f'{cut:g}' for cut in cuts)}")
        else:
            group, last = _label(low), _label(high)
        two = (group != last).fill_null(False)
        if two.any():
            example = raw["speaker"].filter(two)[0]
            refusals.append(
                Refusal(
                    f"attribute '{name}'",
                    f"{int(two.sum())} speakers are in several groups of it (for example '{example}'), so it does not"
                    " describe speakers",
                    "correct the labels, or name it in --controls of `voxaudit disparity`",
                )
            )
            continue
        group, rare = _merge_rare(group.fill_null(MISSING), settings.merge_below)
        if rare:
            merged[name] = rare
            notes.append(f"'{name}': merged into '{OTHER}': {', '.join(rare)}")
        known = _ordered(group.unique().to_list(), cuts)
        if len(known) < 2:
            refusals.append(
                Refusal(
                    f"attribute '{name}'",
                    f"it has one group only ('{known[0]}'): there is nothing to compare",
                )
            )
            continue
        kept.append(name)
        order[name] = known
        people = people.with_columns(group.alias(name))
    return Groups(people, tuple(kept), order, merged, banded, age, tuple(notes), tuple(refusals))


def is_age(name: str) -> bool:
    """Whether a column's name says that it holds ages (`age`, `age_group`, `SpeakerAge`)."""
    parts = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return "age" in parts or "ages" in parts


def age_range(group: str) -> tuple[float, float] | None:
    """Return the youngest and oldest age in years of an age band such as `31-45`, `65+`, `<18` or `thirties`."""
    text = group.strip().lower()
    if text in _DECADES:
        return _DECADES[text]
    if found := re.fullmatch(r"(\d+)\s*(?:-|–|to|_)\s*(\d+)(?:\s*(?:years?|yrs?|y|yo))?", text):  # noqa: RUF001
        return float(found[1]), float(found[2])
    if found := re.fullmatch(r"(?:>=?|over\s+)?(\d+)\s*(\+|and\s+(?:over|older))?", text):
        start = float(found[1])
        exact = not found[2] and text[0].isdigit()
        return start, start if exact else 150.0
    if found := re.fullmatch(r"(?:<=?|under\s+)\s*(\d+)", text):
        return 0.0, float(found[1])
    return None


def _cuts(name: str, values: pl.Series, settings: Settings, age: bool) -> tuple[float, ...]:
    given = settings.bands.get(name)
    if given is not None:
        if not values.dtype.is_numeric():
            raise VoxauditError(f"--bands {name}: the column does not hold numbers")
        if not given or list(given) != sorted(set(given)):
            raise VoxauditError(f"--bands {name}: cuts must be numbers in rising order, not {list(given)}")
        return tuple(given)
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


def _band(values: pl.Series, cuts: tuple[float, ...]) -> pl.Series:
    whole = bool((values.drop_nulls() == values.drop_nulls().round()).all()) and all(
        cut == int(cut) for cut in cuts
    )
    labels = band_labels(cuts, whole)
    index = pl.Series(cuts).search_sorted(values.cast(pl.Float64).fill_nan(None).fill_null(0.0), side="right")
    named = pl.Series(labels).gather(index)
    return pl.select(
        pl.when(values.is_not_null() & values.cast(pl.Float64).is_not_nan()).then(named)
    ).to_series()


def band_labels(cuts: Sequence[float], whole: bool) -> list[str]:
    """Return the names of the bands that `cuts` make: `<18`, `18-29`, `30+`; whole numbers name their last value."""
    middle = [
        f"{low:g}-{high - 1:g}"
        if whole and high - low > 1
        else f"{low:g}"
        if whole
        else f"{low:g} to {high:g}"
        for low, high in pairwise(cuts)
    ]
    return [f"<{cuts[0]:g}", *middle, f"{cuts[-1]:g}+"]


def _label(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        known = values.fill_nan(None)
        if (known.drop_nulls() == known.drop_nulls().round()).all():
            return known.cast(pl.Int64, strict=False).cast(pl.String)
        return known.cast(pl.String)
    return values.cast(pl.String)


def _merge_rare(group: pl.Series, below: int) -> tuple[pl.Series, tuple[str, ...]]:
    counts = group.alias("group").value_counts().sort("group")
    rare = counts.filter((pl.col("count") < below) & ~pl.col("group").is_in([MISSING, OTHER]))[
        "group"
    ].to_list()
    return group.replace(rare, [OTHER] * len(rare)) if rare else group, tuple(rare)


def _ordered(groups: list[str], cuts: tuple[float, ...]) -> tuple[str, ...]:
    bands = [*band_labels(cuts, True), *band_labels(cuts, False)] if cuts else []

    def key(group: str) -> tuple[int, float, str]:
        last = {OTHER: 1, MISSING: 2}.get(group, 0)
        span = age_range(group)
        return last, float(bands.index(group)) if group in bands else span[0] if span else float("inf"), group

    return tuple(sorted(groups, key=key))
