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
from voxaudit.speak.base import FIXED, Voice, check_length, check_letters, check_voice, check_words

LANGUAGE = "en-US"
_SEED = 0
_LOCK = threading.Lock()


def speak(voice: Voice, text: str) -> Audio:
    """Return `text` spoken by the Hibari voice, 24 kHz. Its pitch cannot be set."""
    if voice.language != LANGUAGE or voice.reads not in (None, "en"):
        raise VoxauditError(f"voice {voice}: hibari speaks {LANGUAGE} only; other languages: engine pico")
    check_voice(voice, "hibari", pitch=FIXED, speed=(0.5, 2.0))
    check_length(text, "hibari")
    check_letters(text, "hibari")
    check_words(text, "hibari", text)
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
