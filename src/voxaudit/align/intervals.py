"""Words and phones as plain intervals, as other aligners write them, put together to timings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from voxaudit.align.base import AlignmentError
from voxaudit.align.build import word_alone, word_from_phones
from voxaudit.align.syllables import VOWELS, without_stress
from voxaudit.align.timings import Phone, Timings, Word
from voxaudit.errors import one_line

_SILENCES = re.compile(r"|<.*>|\[.*\]|\{.*\}|sil|sp|spn|eps|nsn|#.*", re.IGNORECASE)
_NEAR = 0.005


@dataclass(frozen=True, slots=True)
class Interval:
    """A label from `start` to `end` in seconds."""

    start: float
    end: float
    label: str


def timings_from_intervals(
    words: Sequence[Interval], phones: Sequence[Interval], duration: float, where: str
) -> Timings:
    """Return timings from words and phones in time order; labels of silence and noise are left out.

    A phone belongs to the word that contains its middle. Phones that are not ARPABET (a stress digit may follow)
    and words without phones fall back on the dictionary's syllables, sharing the word's time evenly.
    `where` names the source in errors.
    """
    spoken = [word for word in words if not _SILENCES.fullmatch(word.label.strip())]
    if not spoken:
        raise AlignmentError(f"{where}: no word in this alignment")
    sounds = [phone for phone in phones if not _SILENCES.fullmatch(phone.label.strip())]
    usable = any(without_stress(phone.label) in VOWELS for phone in sounds)
    try:
        built, at = [], 0
        for word in spoken:
            inside, at = _inside(word, sounds, at) if usable else ([], at)
            built.append(_word(word, inside))
        return Timings(tuple(_in_order(built)), duration)
    except AlignmentError as error:
        raise AlignmentError(f"{where}: {one_line(error)}") from error


def _inside(word: Interval, sounds: Sequence[Interval], at: int) -> tuple[list[Interval], int]:
    while at < len(sounds) and _middle(sounds[at]) < word.start:
        at += 1
    first = at
    while at < len(sounds) and _middle(sounds[at]) <= word.end:
        at += 1
    return list(sounds[first:at]), at


def _middle(interval: Interval) -> float:
    return (interval.start + interval.end) / 2


def _word(word: Interval, inside: Sequence[Interval]) -> Word:
    label = word.label.strip()
    if not any(without_stress(phone.label) in VOWELS for phone in inside):
        return word_alone(label, word.start, word.end)
    return word_from_phones(
        label,
        [Phone(p.label, max(p.start, word.start), max(min(p.end, word.end), word.start)) for p in inside],
    )


def _in_order(words: Sequence[Word]) -> list[Word]:
    """Return the words with overlaps of rounding (a few milliseconds) taken away."""
    ordered: list[Word] = []
    for word in words:
        if ordered and 0 < ordered[-1].end - word.start <= _NEAR:
            edge = ordered[-1].end
            syllables = tuple(
                type(s)(s.text, max(s.start, edge), max(s.end, edge), s.phones, s.event)
                for s in word.syllables
            )
            word = Word(word.text, edge, max(word.end, edge), syllables, word.event)
        ordered.append(word)
    return ordered
