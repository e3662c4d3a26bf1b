from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.score.compare import NormalizerRate, disagreement, normalizer_sensitivity
from voxaudit.score.normalize import NORMALIZERS
from voxaudit.score.spoken import ENGLISH, SPEECHES, _said, spoken_form

english = NORMALIZERS["spoken-en"]


@pytest.mark.parametrize(
    "ways",
    [
        (
            "C N 7 3 4 7 8 5 8.",
            "CN 734-7858.",
            "cn7347858",
            "Cn 734 7858",
            "C N seven three four seven eight five eight",
        ),
        ("Ashley dot Brown at email dot com.", "Ashley.brown@email.com", "ashley.brown at email.com"),
        ("www dot example dot org", "www.example.org."),
        ("seven hundred thirty-four", "734", "seven hundred and thirty four", "7 3 4"),
        ("nineteen eighty four", "1984"),
        ("twenty twenty six", "2026", "two thousand and twenty six"),
        ("two thousand five", "2,005", "2005", "two oh oh five"),
        ("a hundred thousand", "100,000", "100 thousand", "one hundred thousand"),
        ("five million", "5 million", "5,000,000"),
        ("one point five million", "1.5 million"),
        ("double seven triple zero", "77000"),
        ("the twenty-first of May", "the 21st of May"),
        ("five dollars and fifty cents", "$5.50"),
        ("five dollars", "$5", "$5.00"),
        ("five percent", "5%", "5 per cent"),
        ("half past three thirty p m", "half past 3:30 PM", "half past 3:30 p.m.", "half past 3:30pm"),
        ("three o'clock", "3:00"),
        ("All right, OK.", "Alright, okay", "alright ok"),
        ("U.S.A. and the P D F", "USA and the PDF", "u s a and the pdf"),
        ("I can't, don't and won't", "I cannot, do not and will not"),
        ("Um, I w-want an e-mail", "I want an email"),
        ("I am here", "I'm here"),
    ],
)
def test_the_same_speech_has_one_form(ways: tuple[str, ...]) -> None:
    assert {english(text) for text in ways} == {english(ways[0])}


def test_different_speech_stays_different() -> None:
    texts = [
        "734",
        "73",
        "7 4 3",
        "seventy",
        "seventeen",
        "7th",
        "july 7",
        "not 7",
        "$7",
        "7%",
        "pin 7",
        "7 pm",
    ]
    assert len({english(text) for text in texts}) == len(texts)


def test_words_in_capitals_are_no_acronyms() -> None:
    assert english("THE CAT SAT ON IT") == "the cat sat on it"


def test_acronyms_that_are_said_as_words_are_not_spelled() -> None:
    assert english("my PIN and my SSN") == "my pin and my s s n"


@pytest.mark.parametrize(
    ("language", "ways"),
    [
        ("es", ("fueron ocho mil treinta y cuatro", "fueron 8,034")),
        ("es", ("juan punto lopez arroba email punto com", "juan.lopez@email.com")),
        ("tr", ("on iki bin beş yüz", "12.500")),
        ("tr", ("İptal et", "iptal et")),
        ("vi", ("tám mươi bốn", "84", "8 4")),
        ("vi", ("minh chấm tran a còng email chấm com", "minh.tran@email.com")),
        ("zh", ("一三九零", "1390", "1 3 9 0")),
        ("zh", ("三百二十五", "325")),
    ],
)
def test_other_languages_by_their_tables(language: str, ways: tuple[str, ...]) -> None:
    rule = NORMALIZERS[f"spoken-{language}"]
    assert {rule(text) for text in ways} == {rule(ways[0])}


@given(st.text(max_size=60))
def test_any_text_has_a_form_without_marks(text: str) -> None:
    for name in ("spoken-en", "spoken-tr", "spoken-zh"):
        assert not set(NORMALIZERS[name](text)) & set(".,!?@$%#")


@given(st.integers(0, 999_999))
def test_a_number_is_its_digits(number: int) -> None:
    assert spoken_form(f"{number:,}", ENGLISH) == " ".join(str(number))


def test_the_rules_of_another_language_are_not_compared() -> None:
    said = pl.Series(["uno dos"])
    names = [one.normalizer for one in normalizer_sensitivity(said, said, "spoken-es")]
    assert names == ["spoken-es@1", "basic@1", "keep-fillers@1", "none@1"]


def test_normalizers_disagree_where_the_difference_is_a_fifth() -> None:
    def rate(name: str, wer: float) -> NormalizerRate:
        return NormalizerRate(name, 100, wer, None, None)

    assert disagreement([rate("basic@1", 0.10), rate("whisper-en@1", 0.081), rate("none@1", 0.5)]) is None
    found = disagreement([rate("basic@1", 0.10), rate("whisper-en@1", 0.079), rate("none@1", 0.5)])
    assert found is not None
    assert [one.normalizer for one in found] == ["whisper-en@1", "basic@1"]


def test_plain_words_are_said_as_the_rules_would_say_them():
    words = (
        "the a and I it's ok Okey hundred two million double oh o dollars cents clock per cent e mail Mr. mr lm pm"
        " I'm U.S.A. CN734 PIN id um, Um k, kay. apt. apartment. alright first hello, Hello. No? at nokta a còng mil y"
    )
    drawn = random.Random(1)
    for speech in SPEECHES.values():
        for _ in range(400):
            text = " ".join(drawn.choices(words.split(), k=drawn.randint(0, 6)))
            assert spoken_form(text, speech) == _said(text, speech)
