"""Repetitions: a syllable or a whole word is said several times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from voxaudit.align import Syllable, Timings, Word
from voxaudit.align.timings import Place, placed_syllable, placed_word
from voxaudit.audio import Samples
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError, find_syllable, word_position
from voxaudit.perturb.stutter.splice import cut_near, repeated, spliced


@dataclass(frozen=True)
class SoundRepetition(Operation):
    """Syllable `syllable` of word `word` is said `copies` times more before it: `wea- wea- weather` (ASTER: 2 to 4)."""

    kind: ClassVar[str] = "sound_repetition"

    word: int
    syllable: int = 0
    copies: int = 2

    def __post_init__(self) -> None:
        _check(self.kind, self.copies)

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
    copies: int = 1

    def __post_init__(self) -> None:
        _check(self.kind, self.copies)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies, put in before the word: `copies` times its length between the cuts."""
        at = word_position(timings, self.word, self.kind)
        word = timings.words[at]
        row = _Row.of(samples, rate, word, self.copies, self.kind)
        after = timings.opened(word.start, row.start / rate, len(row.samples) / rate)
        said = replace(after.words[at], event=self.kind)
        copies = tuple(placed_word(said, place) for place in row.places(rate))
        return row.edit("word", after.with_words(at, copies))


def _check(kind: str, copies: int) -> None:
    if not 1 <= copies <= 20:
        raise StutterError(f"{kind}: copies must be from 1 to 20, not {copies}")


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
