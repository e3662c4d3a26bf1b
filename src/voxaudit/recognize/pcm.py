"""Audio as engines, commands and web services take it: 16-bit files, pieces neither too short nor too long."""

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


def split_at_pauses(samples: Samples, rate: int, longest: float) -> list[Samples]:
    """Return consecutive pieces of at most `longest` seconds that together are all of `samples`.

    Each cut is at the quietest 0.2 s of the second half of what fits, the last one where several are equal:
    a function of the samples only. What fits as a whole is not cut.
    """
    hop = max(1, rate // 100)
    window = 20  # hops: 0.2 s
    most = int(longest * rate)
    pieces = []
    while len(samples) > most:
        first = most // 2
        blocks = samples[first:most].astype(np.float64)
        blocks = blocks[: len(blocks) // hop * hop].reshape(-1, hop)
        energy = np.concatenate(([0.0], np.cumsum(np.square(blocks).sum(axis=1))))
        around = energy[window:] - energy[:-window]
        quietest = len(around) - 1 - int(np.argmin(around[::-1]))
        cut = first + (quietest + window // 2) * hop
        pieces.append(samples[:cut])
        samples = samples[cut:]
    return [*pieces, samples]
