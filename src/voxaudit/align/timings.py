"""When each word, syllable and phone of a recording is spoken, as a value that edits of the audio carry along."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any, Protocol, runtime_checkable

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, one_line

INTENDED = ""
"""The `event` of what the speaker means to say; anything else names the kind of disfluency that put it there."""

Place = Callable[[float, float], tuple[float, float]]


class AlignmentError(VoxauditError):
    """A recording and a text that cannot be aligned: costs this utterance, not the corpus."""


@dataclass(frozen=True, slots=True)
class Phone:
    """One phone (ARPABET without stress) with its start and end in seconds."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Syllable:
    """One syllable: its letters, its start and end in seconds, its phones (none where they are not known)."""

    text: str
    start: float
    end: float
    phones: tuple[Phone, ...] = ()
    event: str = INTENDED


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word as the text writes it, with its start and end in seconds and its syllables."""

    text: str
    start: float
    end: float
    syllables: tuple[Syllable, ...] = ()
    event: str = INTENDED

    @property
    def phones(self) -> tuple[Phone, ...]:
        """All phones of the word, in order."""
        return tuple(phone for syllable in self.syllables for phone in syllable.phones)

    @property
    def surface(self) -> str:
        """The word as it is heard: `wea- wea- weather`, or `wea-ther-ther` where a later syllable is repeated."""
        leading = 0
        while leading < len(self.syllables) and self.syllables[leading].event:
            leading += 1
        rest = self.syllables[leading:]
        whole = "-".join(s.text for s in rest) if any(s.event for s in rest) else self.text
        return " ".join([f"{s.text}-" for s in self.syllables[:leading]] + [whole])


@dataclass(frozen=True, slots=True)
class Timings:
    """The words of a recording in the order they are spoken, and the length of the recording in seconds.

    Words that a disfluency added carry its kind as `event`; syllables likewise. The other ones are what the
    speaker means: their positions among themselves (`intended`) never change, so that a word can be named by
    its number however often the recording has been edited.
    """

    words: tuple[Word, ...]
    duration: float

    def __post_init__(self) -> None:
        last = 0.0
        for word in self.words:
            if not last - 1e-6 <= word.start <= word.end <= self.duration + 1e-6:
                raise AlignmentError(
                    f"the word '{one_line(word.text, 40)}' from {word.start:.3f} to {word.end:.3f} s does not lie"
                    f" between the word before it ({last:.3f} s) and the end ({self.duration:.3f} s)"
                )
            last = word.end

    @property
    def intended(self) -> tuple[int, ...]:
        """Where in `words` the intended words stand."""
        return tuple(i for i, word in enumerate(self.words) if not word.event)

    @property
    def text(self) -> str:
        """What the speaker means: the intended words."""
        return " ".join(word.text for word in self.words if not word.event)

    @property
    def surface(self) -> str:
        """What is heard: with repeated words and sounds and with fillers."""
        return " ".join(word.surface for word in self.words)

    def mapped(self, map_time: Callable[[float], float]) -> Timings:
        """Return the timings after a change of the time axis, such as a perturbation's `map_time`."""
        return self.placed(lambda start, end: (map_time(start), map_time(end)), map_time(self.duration))

    def shifted(self, seconds: float) -> Timings:
        """Return the timings where `seconds` come before the recording; negative where some were cut off."""
        return self.mapped(lambda moment: moment + seconds)

    def stretched(self, start: float, end: float, seconds: float) -> Timings:
        """Return the timings where `start` to `end` was stretched evenly to be `seconds` longer."""
        factor = (end - start + seconds) / (end - start)

        def later(moment: float) -> float:
            if moment <= start:
                return moment
            return start + (moment - start) * factor if moment < end else moment + seconds

        return self.mapped(later)

    def opened(self, boundary: float, at: float, seconds: float) -> Timings:
        """Return the timings where `seconds` were put in at the cut `at` that was made for `boundary`.

        The cut lies a few milliseconds from the boundary (at a zero crossing); what ended at the boundary now ends
        at the cut, and what began there begins behind the insertion.
        """

        def place(start: float, end: float) -> tuple[float, float]:
            first = max(start, at) + seconds if start >= boundary - _CLOSE else min(start, at)
            last = min(end, at) if end <= boundary + _CLOSE else max(end, at) + seconds
            return first, max(first, last)

        return self.placed(place, self.duration + seconds)

    def placed(self, place: Place, duration: float) -> Timings:
        """Return the timings with every start and end put where `place(start, end)` says."""
        return Timings(tuple(placed_word(word, place) for word in self.words), duration)

    def with_words(self, at: int, words: tuple[Word, ...]) -> Timings:
        """Return the timings with `words` put in before position `at` of `words`."""
        return replace(self, words=self.words[:at] + words + self.words[at:])

    def with_word(self, at: int, word: Word) -> Timings:
        """Return the timings with the word at position `at` replaced."""
        return replace(self, words=(*self.words[:at], word, *self.words[at + 1 :]))

    def to_json(self) -> str:
        """Return the timings as one line of JSON; `Timings.from_json` reads exactly the same values back."""
        words = [astuple(word) for word in self.words]
        return json.dumps({"duration": self.duration, "words": words}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Timings:
        """Return the timings that `to_json` wrote; anything else raises `AlignmentError`."""
        try:
            data = json.loads(text)
            words = tuple(
                Word(str(w[0]), float(w[1]), float(w[2]), tuple(map(_syllable, w[3])), str(w[4]))
                for w in data["words"]
            )
            return cls(words, float(data["duration"]))
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise AlignmentError(f"not timings that voxaudit wrote ({one_line(error, 100)})") from error


_CLOSE = 1e-9


def placed_word(word: Word, place: Place) -> Word:
    """Return a word with its own start and end and those of its parts put where `place` says."""
    start, end = place(word.start, word.end)
    syllables = tuple(placed_syllable(syllable, place) for syllable in word.syllables)
    return replace(word, start=start, end=end, syllables=syllables)


def placed_syllable(syllable: Syllable, place: Place) -> Syllable:
    """Return a syllable with its own start and end and those of its phones put where `place` says."""
    start, end = place(syllable.start, syllable.end)
    phones = tuple(Phone(phone.name, *place(phone.start, phone.end)) for phone in syllable.phones)
    return replace(syllable, start=start, end=end, phones=phones)


def _syllable(row: Any) -> Syllable:
    phones = tuple(Phone(str(p[0]), float(p[1]), float(p[2])) for p in row[3])
    return Syllable(str(row[0]), float(row[1]), float(row[2]), phones, str(row[4]))


@runtime_checkable
class Aligner(Protocol):
    """Finds out when each word of a known text is spoken.

    Implementations are frozen dataclasses whose fields are the settings. An answer depends on its own audio and
    text only, not on what was aligned before.
    """

    def fingerprint(self) -> dict[str, str]:
        """Everything that can change an alignment: engine, its version, model, settings."""

    def align(self, audio: Audio, text: str) -> Timings:
        """Return when the words of `text` are spoken; raise `AlignmentError` with one line where they are not."""
