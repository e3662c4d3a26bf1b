"""Log-mel spectra as the P.808 model of DNSMOS expects them: 120 bands every 10 ms, relative to a window's loudest."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples

RATE = 16_000
HOP = 160
SIZE = 321
BANDS = 120

_BEFORE = SIZE // 2  # samples of a frame that lie before its centre
_QUIETEST = 1e-10
_RANGE = 80.0  # dB under the loudest band at which everything is cut off

Spectra = NDArray[np.float32]


def band_levels(samples: Samples, first: int, count: int) -> Spectra:
    """Return the level (dB) of every mel band in `count` frames, of which `first` is the first: count x 120.

    Frame i is centred on sample `160 i`; what lies outside `samples` is zero.
    """
    start = first * HOP - _BEFORE
    length = (count - 1) * HOP + SIZE
    inside = samples[max(start, 0) : max(start + length, 0)]
    before = max(-start, 0)
    padded = np.pad(inside, (before, length - before - len(inside)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, SIZE)[::HOP]
    from scipy.fft import rfft

    spectrum = rfft(frames * _window(), axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    levels: Spectra = 10.0 * np.log10(np.maximum(power @ _bands(), _QUIETEST))
    return levels


def window_features(levels: Spectra) -> Spectra:
    """Return what the model is fed for the levels of one window: 1 for its loudest band, -1 for 80 dB below."""
    loudest = levels.max()
    features: Spectra = (np.maximum(levels - loudest, -_RANGE) + 40.0) / np.float32(40.0)
    return features


@cache
def _window() -> Samples:
    # Periodic: the frame's length is the period.
    return (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(SIZE) / SIZE)).astype(np.float32)


@cache
def _bands() -> Spectra:
    """Return the mel filters, spectrum bins x bands: triangles of equal area on Slaney's mel scale, 0 to 8 kHz."""
    edges = _hertz(np.linspace(0.0, _mel(RATE / 2), BANDS + 2))
    bins = np.arange(SIZE // 2 + 1) * (RATE / SIZE)
    rising = (bins[:, np.newaxis] - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - bins[:, np.newaxis]) / np.diff(edges)[1:]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return (triangles * (2.0 / (edges[2:] - edges[:-2]))).astype(np.float32)


# Slaney's scale: linear to 1 kHz, then 27 steps for every factor 6.4.
_LINEAR = 200.0 / 3.0
_KNEE = 1000.0
_STEP = np.log(6.4) / 27.0


def _mel(hertz: float) -> float:
    return float(_KNEE / _LINEAR + np.log(hertz / _KNEE) / _STEP) if hertz > _KNEE else hertz / _LINEAR


def _hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    knee = _KNEE / _LINEAR
    above = _KNEE * np.exp(_STEP * (np.maximum(mel, knee) - knee))
    return np.where(mel > knee, above, mel * _LINEAR)
