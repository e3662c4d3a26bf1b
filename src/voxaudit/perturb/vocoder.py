"""Another tempo at the same pitch by a phase vocoder, after torchaudio's `PitchShift` and its defaults."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WINDOW = 512
"""Length of the periodic Hann window and of its Fourier transform, in samples."""

HOP = WINDOW // 4


def stretch(samples: np.ndarray, tempo: float) -> NDArray[np.float64]:
    """Return the samples at `tempo` times the tempo, `len(samples) / tempo` of them, rounded.

    Frame k of the output lies at `k * tempo` of the input's frames: its magnitudes are interpolated there,
    and its phases advance by as much as from the input's frame at or before there to the next.
    """
    from scipy.fft import irfft, rfft

    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(WINDOW) / WINDOW)
    padded = np.pad(samples.astype(np.float64), WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    spectrum = rfft(frames * window, axis=1)
    window_sum = _overlap_add(np.broadcast_to(window**2, (_count(len(spectrum), tempo), WINDOW)))
    stretched = _overlap_add(irfft(_vocode(spectrum, tempo), axis=1) * window)
    length = round(len(samples) / tempo)
    inside = slice(WINDOW // 2, WINDOW // 2 + length)
    whole: NDArray[np.float64] = stretched[inside] / window_sum[inside]
    return np.pad(whole, (0, length - len(whole)))


def _vocode(spectrum: NDArray[np.complex128], tempo: float) -> NDArray[np.complex128]:
    # Unit phasors instead of angles: multiplying them adds phases modulo a turn, which is all that is heard,
    # and needs neither arctangents nor unwrapping.
    position = np.arange(_count(len(spectrum), tempo)) * tempo
    frame = np.minimum(position.astype(np.intp), len(spectrum) - 1)
    share = (position - frame)[:, None]
    spectrum = np.concatenate([spectrum, np.zeros((1, spectrum.shape[1]))])
    magnitude = np.abs(spectrum)
    heard = magnitude > 0.0
    phasor = np.where(heard, spectrum, 1.0) / np.where(heard, magnitude, 1.0)
    advance = phasor[1:] * phasor[:-1].conj()
    phases = np.concatenate([phasor[:1], advance[frame[:-1]]])
    for previous, phase in zip(phases[:-1], phases[1:], strict=True):
        phase *= previous
    rise = np.diff(magnitude, axis=0)
    vocoded: NDArray[np.complex128] = phases * (magnitude[frame] + share * rise[frame])
    return vocoded


def _count(frames: int, tempo: float) -> int:
    """Return how many frames come out: as many multiples of `tempo` as lie under `frames`."""
    return int(np.ceil(frames / tempo))


def _overlap_add(frames: np.ndarray) -> NDArray[np.float64]:
    pieces = frames.reshape(len(frames), WINDOW // HOP, HOP)
    total = np.zeros((len(frames) + WINDOW // HOP - 1, HOP))
    for k in range(WINDOW // HOP):
        total[k : k + len(frames)] += pieces[:, k]
    return total.reshape(-1)
