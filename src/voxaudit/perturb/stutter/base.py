"""What a stutter operation is: a frozen dataclass that names its target; a pure function on audio and timings."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from voxaudit.align import Timings
from voxaudit.align.timings import Syllable, Word
from voxaudit.audio import Audio, Samples
from voxaudit.errors import VoxauditError
from voxaudit.options import out_of_range
from voxaudit.perturb.base import parameter


class StutterError(VoxauditError):
    """An operation that this recording has no place for: costs this case, not the audit."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A filler from elsewhere: its text and audio; whose voice it is, None for a synthetic one."""

    text: str
    audio: Audio
    speaker: str | None = None

    @cached_property
    def key(self) -> str:
        """What a chain writes for this clip: the text and a hash of the samples, so that a replay is the same."""
        digest = hashlib.sha256(np.ascontiguousarray(self.audio.samples, "<f4").tobytes())
        return f"{self.text}.{self.audio.rate}.{digest.hexdigest()[:12]}"


@dataclass(frozen=True, eq=False)
class Edit:
    """What an operation does: samples `start` to `stop` give way to `samples`; all others stay, bit for bit.

    `timings` are those of the edited recording. `measures` are the lengths (seconds), gaps and iterations of the event,
    under the names of `measured.MEASURES`. `place` is where in the word it begins: `sound` (the first), `syllable` (a
    later sound of the first), `later`, or `between` words. `copies` are the spans in `samples` that repeat one sound.
    """

    start: int
    stop: int
    samples: Samples
    timings: Timings
    measures: tuple[tuple[str, float], ...] = ()
    place: str = "sound"
    copies: tuple[tuple[int, int], ...] = ()

    @property
    def growth(self) -> int:
        """How many samples longer the recording becomes."""
        return len(self.samples) - (self.stop - self.start)

    def apply(self, samples: Samples) -> Samples:
        """Return the recording after the edit."""
        return np.concatenate([samples[: self.start], self.samples, samples[self.stop :]])


def copies_of(usual: int) -> Any:
    """Return the field of how often something is said over."""
    return parameter(usual, at_least=1, at_most=20)


@dataclass(frozen=True)
class Operation(ABC):
    """One moment of stuttering. Words and syllables are numbered from 0 among the *intended* ones.

    What earlier operations put in is not counted, so that numbers keep their meaning along a chain and the
    operations of a chain can be drawn from the timings of the original alone. Raise `version` when the same
    fields give other samples than before.
    """

    kind: ClassVar[str]
    at: ClassVar[str] = "word"
    """The field with the intended word that is affected; for what goes between words, the one that follows."""
    mode: ClassVar[str] = "aster"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if (wrong := out_of_range(self)) is not None:
            name, allowed = wrong[0].name, wrong[1]
            raise StutterError(f"{self.kind}: {name} must be {allowed}, not {getattr(self, name):g}")

    @classmethod
    def name(cls) -> str:
        """What the operation is called in a chain: `block` as ASTER has it, `realistic.block`."""
        return cls.kind if cls.mode == "aster" else f"{cls.mode}.{cls.kind}"

    @property
    def target(self) -> int:
        """The intended word that is affected, or that follows."""
        return int(getattr(self, self.at))

    @abstractmethod
    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return what the operation changes; raise `StutterError` where the recording has no such place."""

    def __call__(
        self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()
    ) -> tuple[Samples, Timings]:
        """Return the recording (samples at `rate` Hz) and its timings after the operation; the input stays as it is."""
        edit = self.edit(samples, rate, timings, clips)
        return edit.apply(samples), edit.timings

    def __str__(self) -> str:
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return f"{self.name()}:" + ",".join(f"{name}={v}" for name, v, default in values if v != default)


def word_position(timings: Timings, word: int, kind: str) -> int:
    """Return where in `timings.words` the intended word number `word` stands."""
    places = timings.intended
    if not 0 <= word < len(places):
        raise StutterError(
            f"{kind}: there is no word {word} in a recording of {len(places)} (they count from 0)"
        )
    return places[word]


def syllable_position(word: Word, syllable: int, kind: str) -> int:
    """Return where in `word.syllables` the intended syllable number `syllable` stands."""
    places = [i for i, part in enumerate(word.syllables) if not part.event]
    if not 0 <= syllable < len(places):
        raise StutterError(
            f"{kind}: '{word.text}' has no syllable {syllable}: it has {len(places)} (they count from 0)"
        )
    return places[syllable]


def find_syllable(timings: Timings, word: int, syllable: int, kind: str) -> tuple[int, int, Syllable]:
    """Return the position of a word, the position of a syllable in it, and that syllable."""
    at = word_position(timings, word, kind)
    part = syllable_position(timings.words[at], syllable, kind)
    return at, part, timings.words[at].syllables[part]


def find_clip(clips: Sequence[Clip], key: str) -> Clip:
    """Return the filler clip that a chain writes as `key`."""
    found = next((clip for clip in clips if clip.key == key), None)
    if found is None:
        raise StutterError(f"interjection: the filler clip '{key}' was not given")
    return found


def check_clip(key: str) -> None:
    """Raise one line where a chain could not be read back with this clip in it."""
    if any(mark in key for mark in ",;="):
        raise StutterError("interjection: the text of a filler clip must not have , ; or = in it")
