"""Words that nobody said, in a transcript: unsupported stretches, loops, and more speech than there was time for.

Three detectors of texts, each for itself: a loop is seldom what was made up, and what was made up seldom loops. A
stretch is compared with what was said *there*, by its sounds: "eye no watt yew mien" has five wrong words and no
invented one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from voxaudit.align.pronounce import pronounce
from voxaudit.score.align import align_words, differences
from voxaudit.score.pairs import Pairs, Words, of_each, places

LONGEST_LOOP = 24
"""Words of the longest piece that is looked for again and again: models have repeated sentences of eleven."""

FEWEST_WORDS = 3
"""Words of the shortest stretch that counts as unsupported: shorter ones are mishearings more often than not."""

PHONES_PER_WORD = 3.0
"""Sounds that a word has at least for its stretch to be far from what was said."""

FASTEST = 32.0
"""Letters per second that no person reaches: some 7 words of English, 9 syllables. No answer of a service to a real
call (14,558) and no reference was as fast; the fastest reference had 14 beyond the first `SLACK` letters."""

SLACK = 16.0
"""Letters that are free: a recording may be cut in the middle of a word, and durations are rounded."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words of a transcript, first and one past the last, and how many of their sounds nobody said there."""

    start: int
    stop: int
    score: float
    words: int
    """How many of its words are more than was said there."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A piece of `size` words that stands `times` times in a row, from the word `start` on."""

    start: int
    size: int
    times: int

    @property
    def stop(self) -> int:
        """One past its last word."""
        return self.start + self.size * self.times

    @property
    def words(self) -> int:
        """How many of its words are repeated ones."""
        return self.size * (self.times - 1)


def unsupported(said: str, heard: str, fewest: int = FEWEST_WORDS) -> list[Stretch]:
    """Return the stretches of `heard` that are far in sound from what was said there. Both texts are normalized.

    Words are aligned; where they differ, the sounds of what was heard are aligned with those of what was said. The
    score of a stretch is the number of sounds that were put in, less one for each word that was lost there: what
    replaces speech is a mishearing rather than an invention. A stretch has at least `fewest` words and `3 * fewest`
    such sounds. Words that only say again what stands beside them are left out: they are repetitions.

    >>> unsupported("he is fixing his bicycle", "he is fixing his bicycle phoenix unicorn werewolf")
    [Stretch(start=5, stop=8, score=21.0, words=3)]
    >>> unsupported("i know what you mean", "eye no watt yew mien")
    []
    """
    if heard.count(" ") + 1 < fewest:
        return []
    return [one for one in _differences(said, heard, fewest) if one.score >= PHONES_PER_WORD * fewest]


def unsupported_stretches(pairs: Pairs, fewest: int = FEWEST_WORDS) -> dict[int, list[Stretch]]:
    """Return what `unsupported` finds in pairs, by their number; pairs without such a stretch are left out."""
    found = pairs.stretches
    found = found[found.last - found.first >= fewest]
    words, spans = pairs.words, pairs.words.spans
    text = np.concatenate([spans.starts[pairs.said[found.pair]], spans.starts[pairs.heard[found.pair]]])
    start, stop = (
        np.concatenate(ends) + text for ends in ((found.start, found.first), (found.stop, found.last))
    )
    codes = words.codes[places(start, stop)]
    # A letter for each sound: texts are compared in a fraction of the time that lists take.
    letters: dict[str, str] = {}
    spelled = {
        code: "".join(letters.setdefault(one, chr(len(letters))) for one in _phones(words.vocabulary[code]))
        for code in np.unique(codes).tolist()
    }
    sounds = np.zeros(len(words.vocabulary), dtype=np.int64)
    sounds[list(spelled)] = [len(text) for text in spelled.values()]
    lost, new = np.split(of_each(np.add, sounds[codes], stop - start), 2)
    # Of sounds put in there are at most half of the edits, and half of the sounds that are more than was said.
    more, least = (new - lost) / 2.0 - (found.stop - found.start), PHONES_PER_WORD * fewest
    some = np.flatnonzero(np.maximum(lost, new) / 2.0 + more >= least)
    said, heard = (
        [
            "".join(map(spelled.__getitem__, words.codes[first:last].tolist()))
            for first, last in zip(start[rows].tolist(), stop[rows].tolist(), strict=True)
        ]
        for rows in (some, some + len(found))
    )
    edits = cpdist(said, heard, scorer=Levenshtein.distance)
    able = np.flatnonzero(edits / 2.0 + more[some] >= least)
    stretches: dict[int, list[Stretch]] = {}
    for at, (pair, begin, end, first, last) in zip(able.tolist(), found[some[able]].rows(), strict=True):
        if begin < end:
            one = _scored(end - begin, first, last, said[at], heard[at])
        else:
            one = _stretch([], words.text(int(pairs.heard[pair])), first, last)
        if one.score >= least:
            stretches.setdefault(pair, []).append(one)
    return stretches


def support_score(said: str, heard: str) -> float:
    """Return the largest score of any stretch, whatever its length: what the detector's AUC is taken of."""
    return max((one.score for one in _differences(said, heard)), default=0.0)


def _differences(said: str, heard: str, fewest: int = 1) -> list[Stretch]:
    """Return the stretches of at least so many words in which a transcript differs from what was said."""
    if said == heard or not heard:
        return []
    words, heard_words = said.split(), heard.split()
    return [
        _stretch(words[start:stop], heard_words, first, last)
        for start, stop, first, last in differences(words, heard_words)
        if last - first >= fewest
    ]


def _stretch(lost: Sequence[str], words: Sequence[str], start: int, stop: int) -> Stretch:
    if not lost and _said_again(words, start, stop):
        return Stretch(start, stop, 0.0, 0)
    sounds = [[phone for word in some for phone in _phones(word)] for some in (lost, words[start:stop])]
    return _scored(len(lost), start, stop, *sounds)


def _scored(lost: int, start: int, stop: int, said: Sequence[str], heard: Sequence[str]) -> Stretch:
    """Return a stretch in place of so many lost words, by the sounds that were said and heard."""
    steps: list[Any] = Levenshtein.opcodes(said, heard).as_list()
    put_in = sum(last - first for kind, _, _, first, last in steps if kind == "insert")
    return Stretch(start, stop, float(put_in - lost), max(1, stop - start - lost))


def _said_again(words: Sequence[str], start: int, stop: int) -> bool:
    """Say whether some words are those right before or right behind them, once or several times."""
    size = stop - start
    return any(
        list(words[start:stop]) == list(piece) * (size // part)
        for part in range(1, size + 1)
        if size % part == 0
        for piece in (words[max(start - part, 0) : start], words[stop : stop + part])
    )


@lru_cache(maxsize=65_536)
def _phones(word: str) -> tuple[str, ...]:
    """Return the sounds of a word, its letters where English has none."""
    return tuple(pronounce(word)) or tuple(word)


def heard_by_nobody_else(heard: str, others: Sequence[str], fewest: int = FEWEST_WORDS) -> list[Stretch]:
    """Return the stretches of a transcript that are unsupported by each of some others: no references are needed.

    >>> heard_by_nobody_else("good day thank you for watching", ["good day", "could day"])
    [Stretch(start=2, stop=6, score=14.0, words=4)]
    """
    if not others:
        return []
    common: dict[int, float] | None = None
    for other in others:
        own = {
            place: one.score / (one.stop - one.start)
            for one in unsupported(other, heard, fewest)
            for place in range(one.start, one.stop)
        }
        common = (
            own
            if common is None
            else {place: min(score, own[place]) for place, score in common.items() if place in own}
        )
        if not common:
            return []
    found: list[Stretch] = []
    places = sorted(common or {})
    while places:
        size = next((n for n, place in enumerate(places) if place != places[0] + n), len(places))
        if size >= fewest:
            score = round(sum((common or {})[place] for place in places[:size]), 6)
            found.append(Stretch(places[0], places[0] + size, score, size))
        places = places[size:]
    return found


def witnesses(heard: str, others: Sequence[str]) -> list[str]:
    """Return the other transcripts that share two words in place with this one: who heard nothing contradicts nothing.

    >>> witnesses("good day thank you for watching", ["good day", "", "the"])
    ['good day']
    """

    def shared(other: str) -> int:
        return sum(len(edit.reference) for edit in align_words(other, heard) if edit.kind == "equal")

    return [other for other in others if other and shared(other) >= 2]


def heard_by_most(stretch: Stretch, others: Sequence[Sequence[Stretch]]) -> bool:
    """Say whether at least half of two or more other transcripts support a stretch: then the reference is in doubt.

    `others` are what is unsupported in the same transcript if another one of them is taken for what was said.
    """
    if len(others) < 2:
        return False
    against = sum(
        any(one.start < stretch.stop and stretch.start < one.stop for one in found) for found in others
    )
    return 2 * against <= len(others)


def fewest_times(size: int) -> int:
    """Return how often a piece of so many words stands in a row before it is a loop.

    People say "no no no no" and "hold on, hold on, hold on, hold on"; nobody says a sentence of ten words four times.
    """
    return {1: 8, 2: 6, 3: 5}.get(size, 4 if size <= 6 else 3)


_LEAST_AGAIN = 7  # words that stand there again in the least loop, one word eight times


def may_loop(words: Words) -> NDArray[np.bool_]:
    """Say in which texts a piece stands in a row often enough for a loop: few do, and only those are gone through.

    A piece of n words that stands there t times makes n * (t - 1) words in a row that stand again n places behind.
    """
    lengths = words.spans.lengths
    found = np.zeros(len(lengths), dtype=bool)
    able = np.flatnonzero(lengths > _LEAST_AGAIN)
    for first in range(0, len(able), _TEXTS):
        some = able[first : first + _TEXTS]
        some = some[np.argsort(-lengths[some])]
        size, start = lengths[some], words.spans.starts[some]
        ends = np.cumsum(size + 1)
        # Between texts stand codes that no word has: a row that crossed one would be shorter than the piece.
        codes = -1 - np.arange(ends[-1])
        codes[places(ends - size - 1, ends - 1)] = words.codes[places(start, start + size)]
        for piece in range(1, LONGEST_LOOP + 1):
            times = fewest_times(piece)
            row = piece * (times - 1)
            long = np.count_nonzero(size >= piece * times)
            part = codes[: ends[long - 1] if long else 0]
            again = np.flatnonzero(part[piece:] == part[:-piece])
            in_a_row = again[row - 1 :] - again[: 1 - row] == row - 1
            found[some[np.searchsorted(ends, again[: 1 - row][in_a_row], side="right")]] = True
    return found


_TEXTS = 16_384
"""Texts that are gone through at a time: bounds memory, and their words stay in the processor's cache."""


def find_loops(text: str, said: str | None = None) -> list[Loop]:
    """Return the loops of a normalized text: pieces of 1 to 24 words in a row more often than people say them.

    Where it is known what was said, a loop is none that was said at least half as often, in these words or in others
    (a service may translate). Loops do not overlap; of pieces that fit, the shortest is taken. Digits are said many
    times in a row in numbers: they need twice as many.

    >>> find_loops("so " + "thank you " * 9 + "bye")
    [Loop(start=1, size=2, times=9)]
    >>> find_loops("hold on " * 6, "hold on " * 4)
    []
    """
    words = text.split()
    if len(words) - len(set(words)) < _LEAST_AGAIN:
        return []
    often = {word for word, times in Counter(words).items() if times >= 3}
    found: list[Loop] = []
    # Every word of a loop stands there three times.
    place = 0
    while place < len(words):
        loop = _loop_at(words, place) if words[place] in often else None
        if loop is None:
            place += 1
        else:
            found.append(loop)
            place = loop.stop
    if not found or said is None:
        return found
    spoken = said.split()
    most = max((loop.times for loop in find_loops(said)), default=0)
    return [
        loop
        for loop in found
        if 2 * most < loop.times
        and not _says(spoken, words[loop.start : loop.start + loop.size], (loop.times + 1) // 2)
    ]


def _loop_at(words: list[str], place: int) -> Loop | None:
    left, first = len(words) - place, words[place]
    again, end = place, place + min(LONGEST_LOOP, left // 3) + 1
    while first in words[again + 1 : end]:
        again = words.index(first, again + 1, end)
        size = again - place
        needed = fewest_times(size)
        if size * needed > left:
            continue
        piece = words[place:again]
        times = 1
        while words[place + times * size : place + (times + 1) * size] == piece:
            times += 1
        if all(_DIGITS.fullmatch(word) for word in piece):
            needed *= 2
        if times >= needed:
            return Loop(place, size, times)
    return None


def _says(spoken: Sequence[str], piece: Sequence[str], times: int) -> bool:
    """Say whether a piece was said so many times in a row."""
    wanted = list(piece) * times
    return any(
        list(spoken[place : place + len(wanted)]) == wanted for place in range(len(spoken) - len(wanted) + 1)
    )


def words_too_many(text: str, seconds: float) -> int:
    """Return how many of a text's words are more than anybody can say in so many seconds; 0 where it can be said.

    >>> words_too_many("yes please do", 1.0), words_too_many("thank you for watching this video " * 6, 2.0)
    (0, 19)
    """
    words = text.split()
    letters = sum(map(len, words))
    room = SLACK + FASTEST * seconds
    return 0 if letters <= room else round(len(words) * (letters - room) / letters)
