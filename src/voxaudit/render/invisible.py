"""Characters that nobody sees: most can deceive, two of them are spelling."""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"
"""ZERO WIDTH NON-JOINER and JOINER: Persian, Urdu and the scripts of India are misspelt without them."""
VIRAMA = 9
"""The combining class of the sign after which a joiner decides how a consonant is written."""


def printable(text: str, instead: str = "\ufffd") -> str:
    """Return text without what cannot be seen, such as control characters and overrides of the writing direction.

    Joiners stay where they spell: between letters, and after a virama. Anywhere else they are replaced too.
    """
    if text.isprintable():
        return text
    return "".join(
        mark if mark.isprintable() or (mark in JOINERS and _spells(text, place)) else instead
        for place, mark in enumerate(text)
    )


def _spells(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return _letter(before) and (_letter(after) or unicodedata.combining(before) == VIRAMA)


def _letter(mark: str) -> bool:
    """Return whether a character is a letter or a mark on one."""
    return bool(mark) and unicodedata.category(mark)[0] in "LM"
