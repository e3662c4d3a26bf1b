"""Invisible characters: joiners that spell stay, everything that can deceive is replaced."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.cli.output import printable as on_the_terminal
from voxaudit.render.invisible import JOINERS, printable
from voxaudit.render.markdown import escape

WORD = "\u062e\u0648\u0627\u0647\u0645"
PERSIAN = f"\u0645\u06cc\u200c{WORD}"
HINDI = ("क्\u200dष", "क्\u200c", "क्\u200d.")


@pytest.mark.parametrize("word", [PERSIAN, *HINDI, "നന്\u200d"])
def test_joiners_that_spell_stay(word):
    assert printable(word) == word
    assert on_the_terminal(word) == word
    assert escape(word) == word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a\ufffdb"),
        ("a\u2066b\u2069", "a\ufffdb\ufffd"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd"),
        ("\u200cword", "\ufffdword"),
        ("word\u200c", "word\ufffd"),
        ("word\u200d \u200dword", "word\ufffd \ufffdword"),
        (f"\u06cc\u200c\u200c{WORD}", f"\u06cc\ufffd\ufffd{WORD}"),
        ("1\u200d2", "1\ufffd2"),
        ("\u200b\ufeff", "\ufffd\ufffd"),
        ("plain", "plain"),
    ],
)
def test_what_can_deceive_is_replaced(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(JOINERS + "\u202e\x1b")))
def test_nothing_invisible_is_left_but_joiners_beside_letters(text):
    shown = printable(text)
    assert len(shown) == len(text)
    for place, mark in enumerate(shown):
        assert mark.isprintable() or mark in JOINERS
        if mark in JOINERS:
            assert unicodedata.category(shown[place - 1])[0] in "LM"
