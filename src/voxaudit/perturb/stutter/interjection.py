"""Interjection: a filler (um, uh) between words, found in the same recording so that the voice stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from voxaudit.align import Syllable, Timings, Word
from voxaudit.align.timings import placed_syllable
from voxaudit.audio import Samples, resample
from voxaudit.perturb.stutter.base import (
    Clip,
    Edit,
    Operation,
    StutterError,
    check_clip,
    find_clip,
    find_syllable,
    word_position,
)
from voxaudit.perturb.stutter.splice import cut_near, repeated, spliced

FILLER_WORDS = frozenset({"uh", "um", "er", "erm", "em", "eh", "ah", "oh", "mm", "hm", "huh"})

SHORTEST = 0.05
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
    copies: int = 1
    clip: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.copies <= 20:
            raise StutterError(f"interjection: copies must be from 1 to 20, not {self.copies}")
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
            if text is not None and syllable.end - syllable.start >= SHORTEST:
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


def as_loud(clip: Samples, samples: Samples, rate: int, timings: Timings) -> Samples:
    """Return a clip at the root mean square level of the recording's words, never beyond full scale."""
    spans = [
        samples[round(word.start * rate) : round(word.end * rate)] for word in timings.words if not word.event
    ]
    speech = np.concatenate(spans).astype(np.float64) if spans else np.zeros(0)
    own = float(np.sqrt(np.mean(clip.astype(np.float64) ** 2))) if len(clip) else 0.0
    if own == 0.0:
        raise StutterError("interjection: the filler clip is silent")
    wanted = float(np.sqrt(np.mean(speech**2))) if len(speech) else own
    gain = min(wanted / own, 1.0 / float(np.max(np.abs(clip))))
    return (clip * np.float32(gain)).astype(np.float32)
