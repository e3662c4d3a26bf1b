"""Words to phones to syllables."""

from __future__ import annotations

import pytest

from voxaudit.align.pronounce import (
    cardinal,
    dictionary,
    guess,
    letters_to_phones,
    pronounce,
    spoken_number,
    spoken_words,
)
from voxaudit.align.syllables import VOWELS, spell, syllabify


@pytest.mark.parametrize(
    ("phones", "parts"),
    [
        ("W EH1 DH ER0", "W EH|DH ER"),
        ("EH K S T R AH", "EH K|S T R AH"),
        ("T AO K IH NG", "T AO|K IH NG"),
        ("S IH NG ER", "S IH NG|ER"),
        ("AE B S T R AE K T", "AE B|S T R AE K T"),
        ("AE T L AH S", "AE T|L AH S"),
        ("HH M", "HH M"),
        ("IY AH", "IY|AH"),
        ("", ""),
    ],
)
def test_maximal_onset(phones, parts):
    names = phones.split()
    assert "|".join(" ".join(p.rstrip("012") for p in names[a:b]) for a, b in syllabify(names)) == parts


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("weather", "wea ther"),
        ("table", "ta ble"),
        ("pocket", "pock et"),
        ("umbrella", "um brel la"),
        ("door", "door"),
    ],
)
def test_letters_of_syllables(word, pieces):
    assert spell(word, len(pieces.split())) == pieces.split()
    for count in range(1, 5):
        assert "".join(spell(word, count)) == word


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("42", "forty two"),
        ("1,000", "one thousand"),
        ("1984", "nineteen eighty four"),
        ("2005", "two thousand five"),
        ("1905", "nineteen oh five"),
        ("3rd", "third"),
        ("20th", "twentieth"),
        ("8th", "eighth"),
        ("90s", "nineties"),
        ("2.5", "two point five"),
        ("$5", "five dollars"),
        ("10%", "ten percent"),
        ("007", "zero zero seven"),
        ("&", "and"),
    ],
)
def test_numbers_are_said(token, said):
    assert spoken_number(token) == said.split()


def test_large_cardinals():
    assert " ".join(cardinal(1_234_567)) == (
        "one million two hundred thirty four thousand five hundred sixty seven"
    )


def test_words_keep_their_spelling():
    words = spoken_words('The "well-known" U.S. band — naïve, don\u2019t... (ok) mp3 -')
    assert words == [
        ("The", ["the"]),
        ("well-known", ["well", "known"]),
        ("U.S", ["u.", "s."]),
        ("band", ["band"]),
        ("naïve", ["naive"]),
        ("don't", ["don't"]),
        ("ok", ["ok"]),
        ("mp3", ["mp", "three"]),
    ]


def test_unknown_words_by_parts_then_by_letters():
    words = {"smart": ["S", "M", "AA", "R", "T"], "phone": ["F", "OW", "N"], "box": ["B", "AA", "K", "S"]}
    assert guess("smartphones", words.get) == ["S", "M", "AA", "R", "T", "F", "OW", "N", "Z"]
    assert guess("box's", words.get) == ["B", "AA", "K", "S", "IH", "Z"]
    assert guess("zim", words.get) == ["Z", "IH", "M"]
    assert guess("привет", words.get) == []
    assert letters_to_phones("bbc") == ["B", "IY", "B", "IY", "S", "IY"]
    assert letters_to_phones("nation")[-3:] == ["SH", "AH", "N"]


def test_most_words_left_out_of_the_dictionary_get_the_right_number_of_syllables():
    pytest.importorskip("pocketsphinx")
    words = dictionary()
    held_out = [word for word in words if word.isalpha() and len(word) > 2][::60]
    assert len(held_out) > 1500

    def without(word):
        return lambda other: None if other == word or other not in words else words[other].split()

    def syllables(phones):
        return sum(phone in VOWELS for phone in phones)

    right = sum(syllables(guess(word, without(word))) == syllables(words[word].split()) for word in held_out)
    assert right / len(held_out) > 0.9
    assert pronounce("well-known") == words["well"].split() + words["known"].split()
