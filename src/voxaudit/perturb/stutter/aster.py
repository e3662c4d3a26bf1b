"""The five kinds of stuttering as ASTER makes them (Liu et al. 2023): silences, copies and stretches of syllables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from voxaudit.align import Syllable, Timings, Word
from voxaudit.align.syllables import STOPS, VOWELS
from voxaudit.align.timings import Place, placed_syllable, placed_word
from voxaudit.audio import Samples, resample
from voxaudit.perturb.base import parameter
from voxaudit.perturb.stutter.base import (
    Clip,
    Edit,
    Operation,
    StutterError,
    check_clip,
    copies_of,
    find_clip,
    find_syllable,
    word_position,
)
from voxaudit.perturb.stutter.sounds import as_loud
from voxaudit.perturb.stutter.splice import cut_near, repeated, spliced, stretched


@dataclass(frozen=True)
class Block(Operation):
    """`ms` milliseconds of silence before syllable `syllable` of word `word` (ASTER: 50 to 200 ms, inside a word).

    The silence is digital; its first and last 5 ms are the fading voice. `syllable` 0 stops before the word
    begins, as many real blocks do; ASTER does not, and it is never drawn by chance.
    """

    kind: ClassVar[str] = "block"

    word: int
    syllable: int = 1
    ms: float = parameter(100.0, at_least=1, at_most=10_000)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the silence and where it goes: `round(ms * rate / 1000)` samples."""
        _, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        at = cut_near(samples, rate, syllable.start)
        length = max(1, round(self.ms * rate / 1000))
        silence = spliced(samples, at, np.zeros(length, dtype=np.float32), rate)
        after = timings.opened(syllable.start, at / rate, length / rate)
        return Edit(
            at, at, silence, after, (("block", length / rate),), "later" if self.syllable else "sound"
        )


SHORTEST_HELD = 0.03
"""A part of a syllable that can be held on has at least this many seconds; else the whole syllable is stretched."""


@dataclass(frozen=True)
class Prolongation(Operation):
    """Syllable `syllable` of word `word` lasts `factor` times as long, at the same pitch (ASTER: 2 to 4 times).

    What is held on is the vowel and the sounds beside it that can be (fricatives, nasals, liquids, glides); the
    closures and bursts of stops keep their length.
    """

    kind: ClassVar[str] = "prolongation"

    word: int
    syllable: int = 0
    factor: float = parameter(3.0, above=1, at_most=20)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the stretched part: `round((factor - 1) * syllable)` samples longer."""
        _, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        length = round(syllable.end * rate) - round(syllable.start * rate)
        start, stop = (min(round(edge * rate), len(samples)) for edge in continuant(syllable))
        if stop - start < 2:
            raise StutterError(f"prolongation: syllable {self.syllable} of word {self.word} has no length")
        longer = round((self.factor - 1) * length)
        held = stretched(samples, start, stop, longer, rate)
        after = timings.stretched(start / rate, stop / rate, longer / rate)
        place = "later" if self.syllable else "sound"
        return Edit(start, stop, held, after, (("prolongation", (stop - start + longer) / rate),), place)


def continuant(syllable: Syllable) -> tuple[float, float]:
    """Return the part of a syllable that can be held on (start and end in seconds): its vowel and what joins it."""
    phones = syllable.phones
    nuclei = [i for i, phone in enumerate(phones) if phone.name in VOWELS]
    if not nuclei:
        return syllable.start, syllable.end
    first = last = nuclei[0]
    while first > 0 and phones[first - 1].name not in STOPS:
        first -= 1
    while last + 1 < len(phones) and phones[last + 1].name not in STOPS:
        last += 1
    start, end = phones[first].start, phones[last].end
    return (start, end) if end - start >= SHORTEST_HELD else (syllable.start, syllable.end)


@dataclass(frozen=True)
class SoundRepetition(Operation):
    """Syllable `syllable` of word `word` is said `copies` times more before it: `wea- wea- weather` (ASTER: 2 to 4)."""

    kind: ClassVar[str] = "sound_repetition"

    word: int
    syllable: int = 0
    copies: int = copies_of(2)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies, put in before the syllable: `copies` times its length between the cuts."""
        at, part, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        row = _Row.of(samples, rate, syllable, self.copies, self.kind)
        after = timings.opened(syllable.start, row.start / rate, len(row.samples) / rate)
        word = after.words[at]
        said = replace(word.syllables[part], event=self.kind)
        copies = tuple(placed_syllable(said, place) for place in row.places(rate))
        syllables = word.syllables[:part] + copies + word.syllables[part:]
        word = replace(word, start=min(word.start, copies[0].start), syllables=syllables)
        lengths = (("fragment", row.unit / rate),) * self.copies
        return row.edit("fragment", after.with_word(at, word), lengths, "later" if self.syllable else "sound")


@dataclass(frozen=True)
class WordRepetition(Operation):
    """Word `word` is said `copies` times more before it: `the the weather` (ASTER: up to 4)."""

    kind: ClassVar[str] = "word_repetition"

    word: int
    copies: int = copies_of(1)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies, put in before the word: `copies` times its length between the cuts."""
        at = word_position(timings, self.word, self.kind)
        word = timings.words[at]
        row = _Row.of(samples, rate, word, self.copies, self.kind)
        after = timings.opened(word.start, row.start / rate, len(row.samples) / rate)
        said = replace(after.words[at], event=self.kind)
        copies = tuple(placed_word(said, place) for place in row.places(rate))
        return row.edit("word", after.with_words(at, copies))


class _Row(NamedTuple):
    """Copies of `unit` samples one after the other, without gaps, put in at `start`."""

    start: int
    unit: int
    copies: int
    samples: Samples

    @classmethod
    def of(cls, samples: Samples, rate: int, part: Word | Syllable, copies: int, kind: str) -> _Row:
        first, last = cut_near(samples, rate, part.start), cut_near(samples, rate, part.end)
        if last <= first:
            raise StutterError(
                f"{kind}: there is no sound from {part.start:.3f} to {part.end:.3f} s to repeat"
            )
        row = spliced(samples, first, repeated(samples, first, last, copies, rate), rate)
        return cls(first, last - first, copies, row)

    def edit(
        self, what: str, after: Timings, lengths: tuple[tuple[str, float], ...] = (), place: str = "sound"
    ) -> Edit:
        """Return the copies as an edit, with what is compared with real repetitions."""
        gaps = ((f"{what}_gap", 0.0),) * self.copies
        measures = ((f"{what}_iterations", float(self.copies)), *lengths, *gaps)
        spans = tuple((copy * self.unit, (copy + 1) * self.unit) for copy in range(self.copies))
        return Edit(self.start, self.start, self.samples, after, measures, place, spans)

    def places(self, rate: int) -> list[Place]:
        """Return, for each copy, how the moments of the original behind the copies go to that copy."""

        def place_in(copy: int) -> Place:
            back = (self.copies - copy) * self.unit / rate
            low, high = ((self.start + n * self.unit) / rate for n in (copy, copy + 1))

            def moved(moment: float) -> float:
                return min(max(moment - back, low), high)

            return lambda first, last: (moved(first), moved(last))

        return [place_in(copy) for copy in range(self.copies)]


FILLER_WORDS = frozenset({"uh", "um", "er", "erm", "em", "eh", "ah", "oh", "mm", "hm", "huh"})

SHORTEST_FILLER = 0.05
"""A filler has at least this many seconds: less is a tick, not a syllable."""

NO_FILLER = (
    "interjection: no filler in this recording (no syllable of it is written um, uh or er): leave interjections out, or"
    " give a filler clip"
)


class Filler(NamedTuple):
    """A syllable that can serve as a filler: its word and syllable (numbered among the intended) and what it says."""

    word: int
    syllable: int
    text: str


@dataclass(frozen=True)
class Interjection(Operation):
    """A filler, `copies` times, before word `before` (the number of words: after the last).

    The filler is syllable `syllable` of word `word` of the same recording, or, where `clip` holds a clip's key, that
    clip, brought to the rate and the loudness of the words.
    """

    kind: ClassVar[str] = "interjection"
    at: ClassVar[str] = "before"

    before: int
    word: int = -1
    syllable: int = 0
    copies: int = copies_of(1)
    clip: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_clip(self.clip)
        if self.word < 0 and not self.clip:
            raise StutterError(NO_FILLER)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the fillers, put in between two words: `copies` times the filler's length."""
        at, boundary = self._gap(timings)
        cut = cut_near(samples, rate, boundary)
        text, unit, syllable = self._unit(samples, rate, timings, clips)
        row = spliced(samples, cut, unit, rate)
        after = timings.opened(boundary, cut / rate, len(row) / rate)
        each = len(row) / self.copies
        words = []
        for copy in range(self.copies):
            low, high = (cut + copy * each) / rate, (cut + (copy + 1) * each) / rate
            said = _moved(syllable, low, high)
            words.append(Word(text, low, high, (replace(said, text=text),), self.kind))
        name = "um" if text.endswith("m") else "uh"
        measures = ((name, each / rate),) * self.copies
        return Edit(cut, cut, row, after.with_words(at, tuple(words)), measures, "between")

    def _gap(self, timings: Timings) -> tuple[int, float]:
        """Return the position in `timings.words` and the moment of the gap."""
        places = timings.intended
        if self.before == len(places) and places:
            return len(timings.words), timings.words[-1].end
        at = word_position(timings, self.before, self.kind)
        return at, timings.words[at].start

    def _unit(
        self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip]
    ) -> tuple[str, Samples, Syllable]:
        if self.clip:
            clip = find_clip(clips, self.clip)
            sound = as_loud(resample(clip.audio, rate).samples, samples, rate, timings)
            sound = spliced(np.zeros(0, dtype=np.float32), 0, sound, rate)  # fades in from and out to silence
            length = len(sound) / rate
            return clip.text, np.tile(sound, self.copies), Syllable(clip.text, 0.0, length)
        at, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        text = filler_text(timings.words[at], syllable)
        if text is None:
            raise StutterError(f"interjection: syllable {self.syllable} of word {self.word} is no filler")
        start, stop = cut_near(samples, rate, syllable.start), cut_near(samples, rate, syllable.end)
        if stop <= start:
            raise StutterError(
                f"interjection: there is no sound in syllable {self.syllable} of word {self.word}"
            )
        return text, repeated(samples, start, stop, self.copies, rate), syllable


def fillers(timings: Timings) -> list[Filler]:
    """Return the syllables of a recording that can serve as fillers; none is the usual case in short sentences."""
    found = []
    for number, at in enumerate(timings.intended):
        word = timings.words[at]
        own = [syllable for syllable in word.syllables if not syllable.event]
        for part, syllable in enumerate(own):
            text = filler_text(word, syllable)
            if text is not None and syllable.end - syllable.start >= SHORTEST_FILLER:
                found.append(Filler(number, part, text))
    return found


def filler_text(word: Word, syllable: Syllable) -> str | None:
    """Return which filler a syllable is by its letters, as the paper looks for them; None if it is none.

    Sounds do not tell: "are" has a variant that sounds like er, and is no filler.
    """
    text = (word.text if len(word.syllables) == 1 else syllable.text).lower()
    return text if text in FILLER_WORDS else None


def _moved(syllable: Syllable, low: float, high: float) -> Syllable:
    """Return a syllable with its start moved to `low`, nothing behind `high`."""
    origin = syllable.start

    def place(start: float, end: float) -> tuple[float, float]:
        return min(start - origin + low, high), min(end - origin + low, high)

    return replace(placed_syllable(syllable, place), end=high, event="")
