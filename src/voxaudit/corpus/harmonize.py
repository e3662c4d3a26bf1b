"""One spelling for what published corpora spell differently, with the source's own value kept beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

import polars as pl

NOT_GIVEN = frozenset(
    {"na", "n/a", "nan", "none", "null", "unknown", "unspecified", "not specified", "not available", "-"}
    | {"do_not_wish_to_say", "prefer not to say", "prefer not to answer", "decline to answer", "<na>"}
)
"""What people and programs write where nothing is known; compared in lower case."""

GENDERS = {
    "female": ("f", "female", "female_feminine", "woman", "cis woman", "transgender woman", "girl", "famale"),
    "male": ("m", "male", "male_masculine", "man", "cis man", "transgender man", "boy"),
    "nonbinary": ("nonbinary", "non-binary", "non binary", "genderqueer"),
    "other": ("other", "intersex", "transgender"),
}
"""Our values of `gender` and the spellings of published corpora, in lower case. Others stay as they are."""

DECADES = {
    **{"teens": 10, "twenties": 20, "thirties": 30, "forties": 40, "fourties": 40, "fifties": 50},
    **{"sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90},
}
"""Common Voice's age bands; `fourties` is how it spells them."""

ACCENTS = {
    "us": "United States English",
    "england": "England English",
    "indian": "India and South Asia (India, Pakistan, Sri Lanka)",
    "australia": "Australian English",
    "canada": "Canadian English",
    "scotland": "Scottish English",
    "african": "Southern African (South Africa, Zimbabwe, Namibia)",
    "newzealand": "New Zealand English",
    "ireland": "Irish English",
    "philippines": "Filipino",
    "wales": "Welsh English",
    "hongkong": "Hong Kong English",
    "malaysia": "Malaysian English",
    "singapore": "Singaporean English",
}
"""The codes of Common Voice's first releases for English, and how its later ones spell them."""

_GENDER_OF = {spelling: ours for ours, spellings in GENDERS.items() for spelling in spellings}
_RANGE = re.compile(r"(\d{1,3})\s*(?:-|–|to)\s*(\d{1,3})")  # noqa: RUF001
_YEARS = re.compile(r"(\d{1,3})(?:\.0*)?(?:;\d*\.?\d*\.?)?")
_SEVERAL = re.compile(r"\||,(?=\S)")


def gender(value: str) -> str | None:
    """Return `female`, `male`, `nonbinary` or `other` for a known spelling, None for "not given", else the value."""
    spelling = value.lower()
    return None if spelling in NOT_GIVEN else _GENDER_OF.get(spelling, value)


def age(value: str) -> str | None:
    """Return an age as a decade (`20-29`) or as the range it is (`18-22`); what is neither stays as it is.

    A number of years may be 23 or, as CHAT writes it, 23;05.12 (years;months.days).
    """
    spelling = value.lower()
    if spelling in NOT_GIVEN:
        return None
    if found := _RANGE.fullmatch(spelling):
        return f"{int(found[1])}-{int(found[2])}"
    years = _YEARS.fullmatch(spelling)
    decade = int(years[1]) // 10 * 10 if years else DECADES.get(spelling)
    if decade is None:
        return value
    return f"{decade}-{decade + 9}"


def accent(value: str) -> str | None:
    """Return an accent in one spelling: single blanks, `; ` between several, codes written out. Nothing is merged."""
    if value.lower() in NOT_GIVEN:
        return None
    parts = (" ".join(part.split()) for part in _SEVERAL.split(value))
    return "; ".join(ACCENTS.get(part, part) for part in parts if part) or None


KINDS: dict[str, Callable[[str], str | None]] = {"gender": gender, "age": age, "accent": accent}
"""The attributes that are harmonized, and how."""


def harmonize(table: pl.DataFrame, wanted: Mapping[str, str], given: Collection[str] = ()) -> pl.DataFrame:
    """Return a corpus table with attributes of `KINDS` in our spelling: `wanted` names each and its source.

    A source of another name (`accents`, `sex`) stays as it is, beside ours. One of the same name is put in its place;
    if that changes any value, the source's values are kept as `source_gender` (and so on). Names in `given` are the
    user's own and left alone.
    """
    for ours, source in wanted.items():
        taken = ours in given or source not in table.columns or (ours != source and ours in table.columns)
        if taken:
            continue
        levels = table[source].unique().drop_nulls()
        spelled = {level: KINDS[ours](level) for level in levels}
        new = table[source].replace_strict(spelled, return_dtype=pl.String, default=None)
        place = table.columns.index(source)
        if ours != source:
            table = table.insert_column(place, new.alias(ours))
        elif any(level != value for level, value in spelled.items()):
            table = table.rename({source: f"source_{ours}"}).insert_column(place, new.alias(ours))
    return table
