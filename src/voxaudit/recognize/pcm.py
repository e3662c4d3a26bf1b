"""Audio as 16-bit samples: what older engines, commands and web services take."""

from __future__ import annotations

import io
import wave

import numpy as np

from voxaudit.audio import Audio, Samples, pcm16


def wav_bytes(audio: Audio) -> bytes:
    """Return audio as a 16-bit mono WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(audio.rate)
        file.writeframes(pcm16(audio.samples).astype("<i2").tobytes())
    return buffer.getvalue()


def at_least(samples: Samples, length: int) -> Samples:
    """Return samples with silence added at the end up to `length`: engines fail on a handful of samples."""
    return samples if len(samples) >= length else np.pad(samples, (0, length - len(samples)))
