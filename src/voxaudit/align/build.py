"""Timings from what aligners report: words with their phones, or words alone."""

from __future__ import annotations

from collections.abc import Sequence

from voxaudit.align.pronounce import pronounce
from voxaudit.align.syllables import spell, syllabify, without_stress
from voxaudit.align.timings import Phone, Syllable, Word


def word_from_phones(text: str, phones: Sequence[Phone]) -> Word:
    """Return a word with syllables by maximal onset over its timed phones."""
    clean = [Phone(without_stress(phone.name), phone.start, phone.end) for phone in phones]
    ranges = syllabify([phone.name for phone in clean])
    letters = spell(text, len(ranges))
    syllables = tuple(
        Syllable(piece, clean[a].start, clean[b - 1].end, tuple(clean[a:b]))
        for piece, (a, b) in zip(letters, ranges, strict=True)
    )
    return Word(text, clean[0].start, clean[-1].end, syllables)


def word_alone(text: str, start: float, end: float) -> Word:
    """Return a word whose phones have no times: the dictionary's phones, each given the same share of the word.

    A word that no dictionary or rule can pronounce is one syllable without phones.
    """
    names = pronounce(text)
    if not names:
        return Word(text, start, end, (Syllable(text, start, end),))
    step = (end - start) / len(names)
    edges = [start + i * step for i in range(len(names))] + [end]
    phones = [Phone(name, a, b) for name, a, b in zip(names, edges, edges[1:], strict=False)]
    return word_from_phones(text, phones)
