"""Resampling by a windowed sinc, after torchaudio's definition (`torchaudio.transforms.Resample`, its defaults).

The quality is modest on purpose: SRB's resample, speed and pitch are what this filter leaves of the speech.
Everywhere else audio is resampled by `voxaudit.audio.resample`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ZEROS = 6
"""Zero crossings of the sinc on either side (`lowpass_filter_width`)."""

ROLLOFF = 0.99
"""The cut-off as a share of the lower of the two Nyquist frequencies."""


def sinc_resample(samples: np.ndarray, source: int, target: int) -> NDArray[np.float64]:
    """Return the samples of rate `source` (Hz) at rate `target` (Hz), `resampled_length` of them.

    `y[n] = sum_i x[i] g(i / source - n / target)` with
    `g(t) = (b / source) sinc(b t) cos^2(pi b t / (2 ZEROS))` for `|b t| < ZEROS`, `b = ROLLOFF min(source, target)`.
    """
    from scipy.signal import upfirdn

    if source == target:
        return samples.astype(np.float64)
    length = resampled_length(len(samples), source, target)
    divisor = math.gcd(source, target)
    down, up = source // divisor, target // divisor
    taps, delay = _kernel(down, up)
    # One value for each non-zero tap: upfirdn never multiplies with the zeros between the samples.
    whole: NDArray[np.float64] = upfirdn(taps, samples.astype(np.float64), up, down)[delay : delay + length]
    return np.pad(whole, (0, length - len(whole)))


def resampled_length(samples: int, source: int, target: int) -> int:
    """Return `samples * target / source`, rounded up."""
    return -(-samples * target // source)


@lru_cache(maxsize=16)
def _kernel(down: int, up: int) -> tuple[NDArray[np.float64], int]:
    """Return the taps of `g` on the grid of `down * up` steps, and the output index of their centre."""
    # On that grid x[i] lies at i * up and y[n] at n * down. Zeros in front put the centre on a y.
    scale = ROLLOFF * min(down, up) / (down * up)
    half = math.ceil(ZEROS / scale)
    delay = -(-half // down)
    position = np.arange(-delay * down, half + 1) * scale
    inside = np.abs(position) < ZEROS
    window = np.where(inside, np.cos(position * np.pi / (2 * ZEROS)) ** 2, 0.0)
    return np.sinc(position) * window * (scale * up), delay
