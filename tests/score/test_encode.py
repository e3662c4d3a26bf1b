from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.score import kernel
from voxaudit.score.kernel import encode_words, scratch


def assert_faithful(texts: list[str]) -> None:
    """Check that two codes are equal exactly where the words they stand for are."""
    codes, starts, lengths = encode_words(texts, scratch())
    assert lengths.tolist() == [len(text.split()) for text in texts]
    words = [word for text in texts for word in text.split()]
    numbers = [
        number
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        for number in codes[start : start + length].tolist()
    ]
    pairs = set(zip(words, numbers, strict=True))
    assert len(pairs) == len(set(words)) == len(set(numbers))


words = st.text("abé你\x00\x1b\u0301\ufeff", min_size=1, max_size=30)
spaces = st.text(" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2003\u2028\u3000", min_size=1, max_size=3)
texts = st.lists(st.tuples(spaces, words).map("".join) | spaces, max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, min_size=1, max_size=10))
def test_one_character_stands_for_one_word(batch: list[str]) -> None:
    assert_faithful(batch)


def test_words_end_at_every_kind_of_white_space_and_at_nothing_else() -> None:
    characters = [chr(code) for code in range(0x3100) if not 0xD800 <= code < 0xE000]
    assert_faithful([f"a{character}b" for character in characters])
    assert not any(chr(code).isspace() for code in range(0x3100, sys.maxunicode + 1))


def test_words_of_every_length_with_a_late_difference() -> None:
    stems = ["x" * length for length in range(1, 150)]
    assert_faithful(
        [" ".join(stems), " ".join(f"{stem}y" for stem in stems), " ".join(f"y{stem}" for stem in stems)]
    )


@pytest.mark.parametrize("bits", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("seed", range(5))
def test_words_that_meet_in_a_slot_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, bits: int, seed: int
) -> None:
    monkeypatch.setattr(kernel, "SLOT_BITS", bits)
    generator = random.Random(seed)
    # Short words, and long ones that begin alike, of different lengths and of the same.
    stems = ["", "a" * 8, "a" * 16, "b" * 8]
    vocabulary = {
        generator.choice(stems) + "".join(generator.choices("ab", k=generator.randint(1, 9)))
        for _ in range(300)
    }
    words = sorted(vocabulary)
    assert_faithful([" ".join(generator.choices(words, k=30)) for _ in range(50)])


def test_a_long_word_may_meet_a_short_one_at_the_very_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SLOT_BITS", 0)  # one slot for all: the last word owns it
    assert_faithful(["a" * 64, "a" * 9])
