"""Recordings to hear and to see: WAV, the envelope of the waveform, and a spectrogram as PNG."""

from __future__ import annotations

import io
import struct
import threading
import wave
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Audio, Samples, pcm16, resample
from voxaudit.review.cases import Sound

BINS = 800
"""Points of a waveform's envelope."""
COLUMNS, ROWS = 800, 128
"""The largest spectrogram, in pixels."""
RANGE_DB = 60.0
"""From the loudest point of a spectrogram down to its darkest."""
TOP_HZ = 8000
"""Where a spectrogram ends, or at half the rate of the recording."""


@dataclass(frozen=True)
class Shown:
    """A recording, ready for the page."""

    wav: bytes
    wave: dict[str, Any]
    spectrogram: bytes

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.wav) + len(self.spectrogram) + 20 * BINS


def show(sound: Sound) -> Shown:
    """Return a recording as WAV (16 bit), as the data of its waveform, and as a picture."""
    audio = sound.audio
    low, high = envelope(audio.samples)
    wave_data = {
        "duration": audio.duration,
        "rate": audio.rate,
        "peak": float(np.abs(audio.samples).max(initial=0.0)),
        "low": low,
        "high": high,
        "edits": [list(edit) for edit in sound.edits],
        "top": min(TOP_HZ, audio.rate / 2),
    }
    return Shown(wav_bytes(audio), wave_data, spectrogram(audio))


def wav_bytes(audio: Audio) -> bytes:
    """Return audio as a WAV file of 16-bit samples; what exceeds full scale saturates."""
    file = io.BytesIO()
    with wave.open(file, "wb") as target:
        target.setnchannels(1)
        target.setsampwidth(2)
        target.setframerate(audio.rate)
        target.writeframes(pcm16(audio.samples).astype("<i2").tobytes())
    return file.getvalue()


def envelope(samples: Samples, bins: int = BINS) -> tuple[list[float], list[float]]:
    """Return the lowest and the highest sample of each of at most `bins` equal stretches."""
    bins = min(bins, len(samples))
    if not bins:
        return [], []
    edges = np.linspace(0, len(samples), bins + 1)[:-1].astype(np.int64)
    low, high = np.minimum.reduceat(samples, edges), np.maximum.reduceat(samples, edges)
    return [round(float(x), 4) for x in low], [round(float(x), 4) for x in high]


def spectrogram(audio: Audio) -> bytes:
    """Return a PNG of the magnitudes up to 8 kHz on a logarithmic scale, low frequencies at the bottom."""
    audio = resample(audio, 2 * TOP_HZ) if audio.rate > 2 * TOP_HZ else audio
    window = 1 << max(round(audio.rate * 0.02) - 1, 15).bit_length()
    samples = audio.samples
    if len(samples) < window:
        samples = np.pad(samples, (0, window - len(samples)))
    starts = np.linspace(0, len(samples) - window, min(COLUMNS, max(1, len(samples) // (window // 4))))
    shape = np.hanning(window).astype(np.float32)
    frames = samples[starts.astype(np.int64)[:, None] + np.arange(window)[None, :]] * shape
    power = np.abs(np.fft.rfft(frames, axis=1)).astype(np.float32)[:, 1:]
    rows = min(ROWS, power.shape[1])
    power = power[:, : rows * (power.shape[1] // rows)].reshape(len(power), rows, -1).max(axis=2)
    level = 20.0 * np.log10(np.maximum(power, 1e-9))
    scaled = np.clip((level - level.max() + RANGE_DB) / RANGE_DB, 0.0, 1.0)
    return png((scaled.T[::-1] * 255.0).astype(np.uint8))


# From dark to light through blue and amber; lightness rises throughout, so that it reads without colour too.
_STOPS = np.array(
    [[9, 14, 30], [26, 50, 105], [48, 104, 166], [120, 160, 170], [226, 180, 90], [255, 246, 214]]
)


def png(values: NDArray[np.uint8]) -> bytes:
    """Return a picture of values 0 to 255 (rows x columns) as PNG with a palette."""
    height, width = values.shape
    place = np.linspace(0, len(_STOPS) - 1, 256)
    palette = np.stack([np.interp(place, range(len(_STOPS)), _STOPS[:, c]) for c in range(3)], axis=1)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), values], axis=1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", palette.round().astype(np.uint8).tobytes()),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
            chunk(b"IEND", b""),
        )
    )


class Recent:
    """Keeps the recordings that were shown last, up to a number of bytes; each is made once, one at a time."""

    def __init__(self, limit: int = 64_000_000) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, ...], Shown | None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], Sound | None]) -> Shown | None:
        """Return what is kept under `key`, or make it."""
        with self._lock:
            if key not in self._kept:
                sound = make()
                self._kept[key] = None if sound is None else show(sound)
            self._kept.move_to_end(key)
            found = self._kept[key]
            while len(self._kept) > 1 and self._size() > self._limit:
                self._kept.popitem(last=False)
            return found

    def _size(self) -> int:
        return sum(shown.size if shown else 100 for shown in self._kept.values())
