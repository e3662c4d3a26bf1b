"""One spelling for published corpora, the source's own beside it, and users' values untouched."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.corpus import read_corpus
from voxaudit.corpus.harmonize import ACCENTS, DECADES, GENDERS, KINDS, accent, age, gender, harmonize

GUIDE = Path(__file__).parents[2] / "docs/corpora.md"


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ("F", "female"),
        ("female_feminine", "female"),
        ("Female", "female"),
        ("cis woman", "female"),
        ("M", "male"),
        ("male_masculine", "male"),
        ("non-binary", "nonbinary"),
        ("intersex", "other"),
        ("do_not_wish_to_say", None),
        ("Two-Spirit", "Two-Spirit"),
    ],
)
def test_gender(value, ours):
    assert gender(value) == ours


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ("fourties", "40-49"),
        ("teens", "10-19"),
        ("nineties", "90-99"),
        ("23", "20-29"),
        ("23.0", "20-29"),
        ("34;06.12", "30-39"),
        ("7", "0-9"),
        ("18 - 22", "18-22"),
        ("46–65", "46-65"),  # noqa: RUF001
        ("prefer not to say", None),
        ("-19", "-19"),
        ("old", "old"),
    ],
)
def test_age(value, ours):
    assert age(value) == ours


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ("us", "United States English"),
        ("United States English|Midwestern", "United States English; Midwestern"),
        ("United States English,Low,Demure", "United States English; Low; Demure"),
        (
            "India and South Asia (India, Pakistan, Sri Lanka)",
            "India and South Asia (India, Pakistan, Sri Lanka)",
        ),
        ("  Scottish   English ", "Scottish English"),
        ("unknown", None),
    ],
)
def test_accent(value, ours):
    assert accent(value) == ours


@given(st.text(min_size=1))
def test_nothing_is_harmonized_twice(value):
    for kind in KINDS.values():
        once = kind(value)
        assert once is None or kind(once) == once


def test_every_spelling_belongs_to_one_gender_and_is_lower_case():
    spellings = [spelling for group in GENDERS.values() for spelling in group]
    assert len(spellings) == len(set(spellings))
    assert all(spelling == spelling.lower() for spelling in spellings)


def test_the_source_is_kept_where_it_differs_and_left_alone_where_the_user_says_so():
    table = pl.DataFrame(
        {"id": ["1", "2"], "sex": ["F", None], "gender": ["male", "x"], "age": ["20-29", "30-39"]}
    )
    changed = harmonize(table, {"gender": "gender", "age": "age"})
    assert changed.equals(table)  # already ours: no second column
    named = harmonize(table.drop("gender"), {"gender": "sex"})
    assert named.select("gender", "sex").rows() == [("female", "F"), (None, None)]
    assert harmonize(table.drop("gender"), {"gender": "sex"}, given=("gender",)).columns == [
        "id",
        "sex",
        "age",
    ]
    same = harmonize(table.with_columns(gender=pl.Series(["M", "f"])), {"gender": "gender"})
    assert same.select("gender", "source_gender").rows() == [("male", "M"), ("female", "f")]


def test_a_manifest_keeps_its_own_values(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,gender,age,accent\na.wav,female_feminine,fourties,us\n")
    corpus = read_corpus(root / "m.csv")
    assert corpus.table.select("gender", "age", "accent").rows() == [("female_feminine", "fourties", "us")]
    assert corpus.attributes == ["gender", "age", "accent"]


def test_the_guide_has_the_tables():
    text = GUIDE.read_text(encoding="utf-8")
    for ours, spellings in GENDERS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{ours}` |"))
        assert re.sub(r"[|`]", "", row).split(maxsplit=1)[1].strip() == ", ".join(spellings)
    assert all(word in text for word in ("fourties", "source_gender", "`accent`"))
    assert len(ACCENTS) == 14
    assert set(DECADES.values()) == set(range(10, 100, 10))
