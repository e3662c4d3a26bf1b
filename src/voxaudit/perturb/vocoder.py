"""Another tempo at the same pitch by a phase vocoder, after torchaudio's `PitchShift` and its defaults."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

WINDOW = 512
"""Length of the periodic Hann window and of its Fourier transform, in samples."""

HOP = WINDOW // 4
OVERLAP = WINDOW // HOP

BLOCK = 32
"""Frames made at a time: few enough to stay in the processor's cache, however long the recording."""


def stretch(samples: np.ndarray, tempo: float) -> NDArray[np.float64]:
    """Return the samples at `tempo` times the tempo, `len(samples) / tempo` of them, rounded.

    Frame k of the output lies at `k * tempo` of the input's frames: its magnitudes are interpolated there,
    and its phases advance by as much as from the input's frame at or before there to the next.
    """
    from scipy.fft import irfft, rfft

    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(WINDOW) / WINDOW)
    padded = np.pad(samples.astype(np.float64), WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    count = math.ceil(len(frames) / tempo)
    total = np.zeros((count + OVERLAP - 1, HOP))
    weight = np.zeros_like(total)
    phase: NDArray[np.complex128] | None = None
    for start in range(0, count, BLOCK):
        position = np.arange(start, min(start + BLOCK, count)) * tempo
        frame = np.minimum(position.astype(np.intp), len(frames) - 1)
        first = frame[0]
        # A frame of silence follows the last one.
        heard = np.zeros((frame[-1] + 2 - first, WINDOW))
        piece = frames[first : frame[-1] + 2]
        np.multiply(piece, window, out=heard[: len(piece)])
        spectrum, phase = _vocode(rfft(heard, axis=1), frame - first, (position - frame)[:, None], phase)
        _overlap_add(total[start:], irfft(spectrum, axis=1) * window)
        _overlap_add(weight[start:], np.broadcast_to(window**2, (len(position), WINDOW)))
    length = round(len(samples) / tempo)
    inside = slice(WINDOW // 2, WINDOW // 2 + length)
    whole: NDArray[np.float64] = total.reshape(-1)[inside] / weight.reshape(-1)[inside]
    return np.pad(whole, (0, length - len(whole)))


def _vocode(
    spectrum: NDArray[np.complex128],
    frame: NDArray[np.intp],
    share: np.ndarray,
    phase: NDArray[np.complex128] | None,
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return the spectra at `frame + share` of the given ones, and the phases of the one that comes after them.

    `phase` is what the call before returned, None at the beginning.
    """
    # Unit phasors instead of angles: multiplying them adds phases modulo a turn, which is all that is heard,
    # and needs neither arctangents nor unwrapping.
    magnitude = np.abs(spectrum)
    rise = np.diff(magnitude, axis=0)
    silent = magnitude == 0.0
    spectrum[silent] = 1.0
    phasor = spectrum * (1.0 / (magnitude + silent))
    advance = phasor[1:] * phasor[:-1].conj()
    phases = np.concatenate([phasor[:1] if phase is None else phase, advance[frame]])
    np.multiply.accumulate(phases, axis=0, out=phases)
    vocoded: NDArray[np.complex128] = phases[:-1] * (magnitude[frame] + share * rise[frame])
    return vocoded, phases[-1:]


def _overlap_add(total: NDArray[np.float64], frames: np.ndarray) -> None:
    pieces = frames.reshape(len(frames), OVERLAP, HOP)
    for k in range(OVERLAP):
        total[k : k + len(frames)] += pieces[:, k]
