"""Repetitions: a syllable or a whole word is said several times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from voxaudit.align import Timings
from voxaudit.align.timings import Place, placed_syllable, placed_word
from voxaudit.audio import Samples
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError, find_syllable, word_position
from voxaudit.perturb.stutter.splice import cut_near, repeated, spliced


def _check(kind: str, copies: int) -> None:
    if not 1 <= copies <= 20:
        raise StutterError(f"{kind}: copies must be from 1 to 20, not {copies}")


@dataclass(frozen=True)
class SoundRepetition(Operation):
    """Syllable `syllable` of word `word` is said `copies` times more before it: `wea- wea- weather` (ASTER: 2 to 4)."""

    kind: ClassVar[str] = "sound_repetition"

    word: int
    syllable: int = 0
    copies: int = 2

    def __post_init__(self) -> None:
        _check(self.kind, self.copies)

    @property
    def target(self) -> int:
        """The word whose sound is repeated."""
        return self.word

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies, put in before the syllable: `copies` times its length between the cuts."""
        at, part, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        start, unit = _unit(samples, rate, syllable.start, syllable.end, self.kind)
        row = spliced(samples, start, repeated(samples, start, start + unit, self.copies, rate), rate)
        after = timings.opened(syllable.start, start / rate, len(row) / rate)
        word = after.words[at]
        said = replace(word.syllables[part], event=self.kind)
        copies = tuple(placed_syllable(said, place) for place in _places(start, unit, self.copies, rate))
        syllables = word.syllables[:part] + copies + word.syllables[part:]
        word = replace(word, start=min(word.start, copies[0].start), syllables=syllables)
        place = "later" if self.syllable else "sound"
        measures, spans = _measures("fragment", unit, self.copies, rate)
        return Edit(start, start, row, after.with_word(at, word), measures, place, spans)


@dataclass(frozen=True)
class WordRepetition(Operation):
    """Word `word` is said `copies` times more before it: `the the weather` (ASTER: up to 4)."""

    kind: ClassVar[str] = "word_repetition"

    word: int
    copies: int = 1

    def __post_init__(self) -> None:
        _check(self.kind, self.copies)

    @property
    def target(self) -> int:
        """The word that is repeated."""
        return self.word

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies, put in before the word: `copies` times its length between the cuts."""
        at = word_position(timings, self.word, self.kind)
        word = timings.words[at]
        start, unit = _unit(samples, rate, word.start, word.end, self.kind)
        row = spliced(samples, start, repeated(samples, start, start + unit, self.copies, rate), rate)
        after = timings.opened(word.start, start / rate, len(row) / rate)
        said = replace(after.words[at], event=self.kind)
        copies = tuple(placed_word(said, place) for place in _places(start, unit, self.copies, rate))
        measures, spans = _measures("word", unit, self.copies, rate)
        return Edit(start, start, row, after.with_words(at, copies), measures, "sound", spans)


def _unit(samples: Samples, rate: int, start: float, end: float, kind: str) -> tuple[int, int]:
    """Return where the unit begins and how many samples it has."""
    first, last = cut_near(samples, rate, start), cut_near(samples, rate, end)
    if last <= first:
        raise StutterError(f"{kind}: there is no sound from {start:.3f} to {end:.3f} s to repeat")
    return first, last - first


def _measures(
    what: str, unit: int, copies: int, rate: int
) -> tuple[tuple[tuple[str, float], ...], tuple[tuple[int, int], ...]]:
    """Return what is compared with real repetitions, and where the copies are: one after the other, without gaps."""
    lengths = (("fragment", unit / rate),) * copies if what == "fragment" else ()
    measures = ((f"{what}_iterations", float(copies)), *lengths, *((f"{what}_gap", 0.0),) * copies)
    return measures, tuple((copy * unit, (copy + 1) * unit) for copy in range(copies))


def _places(start: int, unit: int, copies: int, rate: int) -> list[Place]:
    """Return, for each copy, how the moments of the original behind the copies go to that copy."""

    def place_in(copy: int) -> Place:
        back = (copies - copy) * unit / rate
        low, high = (start + copy * unit) / rate, (start + (copy + 1) * unit) / rate

        def moved(moment: float) -> float:
            return min(max(moment - back, low), high)

        return lambda first, last: (moved(first), moved(last))

    return [place_in(copy) for copy in range(copies)]
