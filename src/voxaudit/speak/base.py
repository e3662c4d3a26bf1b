"""Text to speech behind one function: a voice that can be written down, and text, give audio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from voxaudit.audio import Audio, resample
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import Registry

TRACT_RANGE = (0.8, 1.25)
"""Vocal tract factors that still sound like a grown person."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A synthetic voice: an engine, the language it was built for, and how it is set.

    `pitch` and `speed` multiply the engine's own; `tract` is the length of the vocal tract relative to it
    (above 1 the formants lie lower, as in a larger speaker; pitch and speed stay as set).
    `reads` is the language of the text where it is not the voice's own: with `reads="en"` a German,
    Spanish, French or Italian voice says English with the sounds it has, which is a foreign accent.
    `name` is the speaker, where an engine has several in a language.
    """

    engine: str = "pico"
    language: str = "en-US"
    pitch: float = 1.0
    speed: float = 1.0
    tract: float = 1.0
    reads: str | None = None
    name: str = ""

    def __str__(self) -> str:
        foreign = "" if self.reads is None else f" reads={self.reads}"
        settings = f"pitch={self.pitch:g} speed={self.speed:g} tract={self.tract:g}"
        return " ".join(filter(None, (self.engine, self.language, self.name, settings + foreign)))


Engine = Callable[[Voice, str], Audio]
"""An engine: (voice, text) to audio. It must give the same samples every time, in any process, and print nothing.

It follows `language`, `pitch`, `speed` and `reads`; `tract` is applied outside.
"""

ENGINES = Registry(
    "speech engine",
    {name: f"voxaudit.speak.{name}:speak" for name in ("pico", "hibari", "kokoro")},
    "voxaudit.speech_engines",
)
"""Engines by name; an installed package adds one through the entry-point group `voxaudit.speech_engines`."""


def speak(voice: Voice, text: str) -> Audio:
    """Return `text` spoken by `voice`: float32 mono at the engine's own rate, the same samples every time.

    Raises `VoxauditError` where there is nothing to say, the voice is unknown or out of range, or the
    engine's package is not installed.
    """
    if not text.strip():
        raise VoxauditError("there is no text to speak: give at least one word")
    low, high = TRACT_RANGE
    if not low <= voice.tract <= high:
        raise VoxauditError(f"voice {voice}: tract must be between {low:g} and {high:g}, not {voice.tract:g}")
    engine: Engine = ENGINES.load(voice.engine)
    if voice.tract == 1.0:
        return engine(voice, text)
    # Played slower by the factor, every formant falls by it, and so do pitch and speed: ask for more of these first.
    faster = replace(voice, pitch=voice.pitch * voice.tract, speed=voice.speed * voice.tract, tract=1.0)
    spoken = engine(faster, text)
    return resample(Audio(spoken.samples, round(spoken.rate / voice.tract)), spoken.rate)


# What engines refuse, each within its own limits.

MOST_CHARACTERS = 5000
FIXED = (1.0, 1.0)
"""The range of what an engine cannot set."""


def check_voice(voice: Voice, engine: str, *, pitch: tuple[float, float], speed: tuple[float, float]) -> None:
    """Raise one line where a voice's pitch or speed is beyond what its engine takes."""
    for name, value, (low, high) in (("pitch", voice.pitch, pitch), ("speed", voice.speed, speed)):
        if (low, high) == FIXED != (value, value):
            raise VoxauditError(f"voice {voice}: {engine}'s pitch and tract cannot be set; leave them at 1")
        if not low <= value <= high:
            raise VoxauditError(
                f"voice {voice}: {engine} takes a {name} between {low:g} and {high:g}, not {value:g}"
            )


def check_length(text: str, engine: str) -> None:
    """Raise one line for a text that is too long to be spoken at once."""
    if len(text) > MOST_CHARACTERS:
        raise VoxauditError(
            f"the text to speak has {len(text)} characters: split it, {engine} takes {MOST_CHARACTERS}"
        )


def check_letters(text: str, engine: str) -> None:
    """Raise one line for a letter that is not Latin: to leave words out would make the audio say less than its text."""
    for character in text:
        if character.isalnum() and ord(character) > 255:
            raise VoxauditError(
                f"{engine} cannot say '{character}' in '{one_line(text, 60)}': use Latin letters"
            )


def check_words(words: str, engine: str, text: str) -> None:
    """Raise one line where nothing that can be said is left of a text."""
    if not any(character.isalnum() for character in words):
        raise VoxauditError(
            f"{engine} has nothing to say for the text '{one_line(text, 60)}': give at least one word"
        )
