"""Hibari: one small neural voice, American English, far easier to understand than Pico; pip installs `hibari-tts`.

The package draws the noise in the voice at random unless it is given a seed: here it always is, so the same text gives
the same samples in any order and any process. Its other voices would be downloaded; only the one inside is used.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.speak.base import Voice

LANGUAGE = "en-US"
SPEED_RANGE = (0.5, 2.0)
MAX_CHARACTERS = 5000
_SEED = 0
_LOCK = threading.Lock()


def speak(voice: Voice, text: str) -> Audio:
    """Return `text` spoken by the Hibari voice, 24 kHz. Its pitch cannot be set."""
    if voice.language != LANGUAGE or voice.reads not in (None, "en"):
        raise VoxauditError(f"voice {voice}: hibari speaks {LANGUAGE} only; other languages: engine pico")
    if voice.pitch != 1.0:
        raise VoxauditError(
            f"voice {voice}: hibari's pitch and tract cannot be set; leave them at 1, or use pico"
        )
    low, high = SPEED_RANGE
    if not low <= voice.speed <= high:
        raise VoxauditError(
            f"voice {voice}: hibari takes a speed between {low:g} and {high:g}, not {voice.speed:g}"
        )
    if len(text) > MAX_CHARACTERS:
        raise VoxauditError(
            f"the text to speak has {len(text)} characters: split it, hibari takes {MAX_CHARACTERS}"
        )
    for character in text:
        if character.isalnum() and ord(character) > 255:
            raise VoxauditError(
                f"hibari cannot say '{character}' in '{one_line(text, 60)}': use Latin letters"
            )
    if not any(character.isalnum() for character in text):
        raise VoxauditError(
            f"hibari has nothing to say for the text '{one_line(text, 60)}': give at least one word"
        )
    engine = _engine()
    with _LOCK:
        samples = np.asarray(engine(text, speed=voice.speed, seed=_SEED), dtype=np.float32)
    if not len(samples):
        raise VoxauditError(f"hibari said nothing for the text '{one_line(text, 60)}': try a plainer one")
    return Audio(samples, int(engine.sample_rate))


@cache
def _engine() -> Any:
    try:
        package = import_module("hibari")
    except ImportError as error:
        raise missing_extra("hibari-tts", "hibari") from error
    return package.Hibari(voice="heart", threads=1)
