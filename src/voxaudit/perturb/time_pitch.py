"""Speed, pitch and rate as torchaudio defines them (`Speed`, `PitchShift`, `Resample`), as in SRB; AequeVox's scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.numeric import irfft, rfft, sparse_product
from voxaudit.perturb.base import Perturbation, parameter

SEMITONES_PER_OCTAVE = 12

Signal = TypeVar("Signal", NDArray[np.float32], NDArray[np.float64])


@dataclass(frozen=True)
class _Speed(Perturbation):
    version: ClassVar[int] = 2

    factor: float

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples resampled from `factor * rate` to `rate`, saturating at full scale."""
        return _saturate(sinc_resample(samples, self._source(rate), rate))

    def map_time(self, seconds: float) -> float:
        """Return `seconds / factor`."""
        return seconds / self.factor

    def length(self, samples: int, rate: int) -> int:
        """Return `samples / factor`, rounded up; the source rate counts in whole Hz."""
        return resampled_length(samples, self._source(rate), rate)

    def _source(self, rate: int) -> int:
        return int(self.factor * rate)


@dataclass(frozen=True)
class SpeedUp(_Speed):
    does = "Play {factor:g} times as fast, higher in pitch: a hurried playback (SRB Table 2)"
    severities = ({"factor": 1.25}, {"factor": 1.5}, {"factor": 1.75}, {"factor": 2.0})

    factor: float = parameter(at_least=1, at_most=10, note="times as fast; for slower speech take speed_down")


@dataclass(frozen=True)
class SpeedDown(_Speed):
    does = "Play at {factor:g} of the speed, lower in pitch: a tape that drags (SRB Table 2)"
    severities = ({"factor": 0.875}, {"factor": 0.75}, {"factor": 0.625}, {"factor": 0.5})

    factor: float = parameter(at_least=0.1, at_most=1, note="of the speed; for faster speech take speed_up")


@dataclass(frozen=True)
class _Pitch(Perturbation):
    version: ClassVar[int] = 2
    units: ClassVar[Mapping[str, str]] = {"semitones": "semitones"}
    severities = ({"semitones": 3.0}, {"semitones": 6.0}, {"semitones": 9.0}, {"semitones": 12.0})

    semitones: float = parameter(at_least=0, at_most=24, note="12 are an octave")


@dataclass(frozen=True)
class PitchUp(_Pitch):
    does = (
        "Raise the pitch by {semitones:g} semitones, at the same tempo: a higher voice, a disguised one (SRB "
        "Table 2)"
    )

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples `semitones` higher; the length stays."""
        return shift_pitch(samples, rate, self.semitones)


@dataclass(frozen=True)
class PitchDown(_Pitch):
    does = (
        "Lower the pitch by {semitones:g} semitones, at the same tempo: a deeper voice, a disguised one (SRB "
        "Table 2)"
    )

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples `semitones` lower; the length stays."""
        return shift_pitch(samples, rate, -self.semitones)


@dataclass(frozen=True)
class Resample(Perturbation):
    """Down to `factor * rate` and back up, as SRB does it, so that the recognizer still hears its usual rate."""

    family: ClassVar[str] = "filter"
    version: ClassVar[int] = 2
    does = (
        "Keep only what fits into {factor:g} of the sampling rate: an old or thrifty recorder (SRB Table 2)"
    )
    severities = ({"factor": 0.75}, {"factor": 0.5}, {"factor": 0.25}, {"factor": 0.125})

    factor: float = parameter(at_least=0.01, at_most=1, note="of the sampling rate")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples after the lower rate, saturating at full scale; the length stays."""
        low_rate = max(int(self.factor * rate), 1)
        low = sinc_resample(samples, rate, low_rate)
        return _saturate(sinc_resample(low, low_rate, rate)[: len(samples)])


def shift_pitch(samples: Samples, rate: int, semitones: float) -> Samples:
    """Return the samples `semitones` higher (lower where negative), as long as before.

    The tempo is stretched by `2 ** (semitones / 12)` with a phase vocoder and taken back by resampling.
    """
    tempo = 2.0 ** (-semitones / SEMITONES_PER_OCTAVE)
    source = int(rate / tempo)
    if source == rate:
        return _saturate(samples)
    shifted = sinc_resample(stretch(samples, tempo), source, rate)[: len(samples)]
    return _saturate(np.pad(shifted, (0, len(samples) - len(shifted))))


def _saturate(samples: Samples) -> Samples:
    limited: Samples = np.clip(samples, -1.0, 1.0)
    return limited


# AequeVox's Scale: the recording played too slowly.


@dataclass(frozen=True)
class Scale(Perturbation):
    does = (
        "Play the same samples at {theta:g} times the rate: {theta.inverse:.3g} times longer and lower in "
        "pitch (AequeVox)"
    )

    theta: float = parameter(at_least=0.1, at_most=10, note="a factor of the rate")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples resampled from `theta * rate` to `rate`, saturating at full scale."""
        import soxr

        length = self.length(len(samples), rate)
        slow = soxr.resample(samples, self.theta * rate, rate, quality="HQ")[:length]
        whole: Samples = np.pad(slow, (0, length - len(slow)))
        return np.clip(whole, np.float32(-1.0), np.float32(1.0))

    def map_time(self, seconds: float) -> float:
        """Return `seconds / theta`."""
        return seconds / self.theta

    def length(self, samples: int, rate: int) -> int:
        """Return `samples / theta`, rounded."""
        return round(samples / self.theta)


# Resampling by a windowed sinc, after torchaudio's definition (`torchaudio.transforms.Resample`, its defaults).
#
# The quality is modest on purpose: SRB's resample, speed and pitch are what this filter leaves of the speech.
# Everywhere else audio is resampled by `voxaudit.audio.resample`.

ZEROS = 6
"""Zero crossings of the sinc on either side (`lowpass_filter_width`)."""

ROLLOFF = 0.99
"""The cut-off as a share of the lower of the two Nyquist frequencies."""


DENSE = 32
"""Outputs after which the ratio of two rates repeats itself, at most, for a dense matrix; else it is a sparse one."""


def sinc_resample(samples: Signal, source: int, target: int) -> Signal:
    """Return the samples of rate `source` (Hz) at rate `target` (Hz), `resampled_length` of them, in their precision.

    `y[n] = sum_i x[i] g(i / source - n / target)` with
    `g(t) = (b / source) sinc(b t) cos^2(pi b t / (2 ZEROS))` for `|b t| < ZEROS`, `b = ROLLOFF min(source, target)`.
    """
    if source == target:
        return samples.copy()
    length = resampled_length(len(samples), source, target)
    divisor = math.gcd(source, target)
    down, up = source // divisor, target // divisor
    # Whole periods of the ratio: few outputs (most of a dense matrix is zeros), or many (a call costs 20 us).
    periods = max(1, (DENSE // 2 if up <= DENSE else 2**13) // up)
    inputs, outputs = down * periods, up * periods
    multiply, width, before = _sinc_matrix(inputs, outputs, samples.dtype)
    blocks = -(-length // outputs)
    padded = np.zeros(blocks * inputs + width, samples.dtype)
    padded[before : before + len(samples)] = samples
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[::inputs]
    resampled = np.empty((blocks, outputs), samples.dtype)
    # So little at a time that BLAS takes one thread whatever it may: the samples do not depend on their number.
    some = max(1, 2**18 // (outputs * width)) if up <= DENSE else 1
    for start in range(0, blocks, some):
        resampled[start : start + some] = multiply(windows[start : min(start + some, blocks)])
    return resampled.reshape(-1)[:length]


def resampled_length(samples: int, source: int, target: int) -> int:
    """Return `samples * target / source`, rounded up."""
    return -(-samples * target // source)


@lru_cache(maxsize=32)  # all of Speech Robust Bench's; the largest have 2 MB at 16 kHz
def _sinc_matrix(
    inputs: int, outputs: int, precision: np.dtype[Any]
) -> tuple[Callable[[Signal], Signal], int, int]:
    """Return what multiplies by `g`: `outputs` samples for every `inputs`; how many it takes, how many before them."""
    band = ROLLOFF * min(1.0, outputs / inputs)
    reach = int(ZEROS / band) + 1
    place = np.arange(outputs)[:, None] * inputs
    index = place // outputs + np.arange(2 * reach + 2)
    # Every multiple of 1 / outputs is met once on either side of 0, where g is the same: half is computed.
    position = np.arange((reach + 1) * outputs + 1) / outputs * band
    window = np.where(position < ZEROS, np.cos(position * np.pi / (2 * ZEROS)) ** 2, 0.0)
    taps = (band * np.sinc(position) * window).astype(precision)[np.abs((index - reach) * outputs - place)]
    width = int(index[-1, -1]) + 1
    if outputs <= DENSE:
        dense = np.zeros((outputs, width), precision)
        np.put_along_axis(dense, index, taps, axis=1)
        return lambda pieces: pieces.copy() @ dense.T, width, reach
    index = index.astype(np.int32)
    return lambda pieces: sparse_product(index, taps, pieces[0]), width, reach


# Another tempo at the same pitch by a phase vocoder, after torchaudio's `PitchShift` and its defaults.

WINDOW = 512
"""Length of the periodic Hann window and of its Fourier transform, in samples."""

HOP = WINDOW // 4
OVERLAP = WINDOW // HOP

BLOCK = 64
"""Frames heard or made at a time: few enough to stay in the processor's cache, however long the recording."""

RUN = 8
"""Frames whose phases are added up one after the other, for all runs of a block at once."""


def stretch(samples: Signal, tempo: float) -> Signal:
    """Return the samples at `tempo` times the tempo, `len(samples) / tempo` of them, rounded, in their precision.

    Frame k of the output lies at `k * tempo` of the input's frames: its magnitudes are interpolated there,
    and its phases advance by as much as from the input's frame at or before there to the next.
    """
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(WINDOW) / WINDOW)
    fade = window.astype(samples.dtype)
    # Frames are centered on their samples, the ends reflected, as `torch.stft` has it by default.
    padded = np.pad(samples.astype(np.float64), WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    count = math.ceil(len(frames) / tempo)
    total = np.zeros((count + OVERLAP - 1, HOP), samples.dtype)
    weight = np.zeros_like(total)
    phase: NDArray[np.complex128] | None = None
    block = max(1, int(BLOCK / max(tempo, 1.0)))
    for start in range(0, count, block):
        position = np.arange(start, min(start + block, count)) * tempo
        frame = np.minimum(position.astype(np.intp), len(frames) - 1)
        first = frame[0]
        # A frame of silence follows the last one.
        heard = np.zeros((frame[-1] + 2 - first, WINDOW))
        piece = frames[first : frame[-1] + 2]
        np.multiply(piece, window, out=heard[: len(piece)])
        share = (position - frame)[:, None].astype(samples.dtype)
        spectrum, phase = _vocode(rfft(heard), frame - first, share, phase)
        _overlap_add(total[start:], irfft(spectrum) * fade)
    _overlap_add(weight, np.broadcast_to(fade**2, (count, WINDOW)))
    length = round(len(samples) / tempo)
    inside = slice(WINDOW // 2, WINDOW // 2 + length)
    # The window acts on the way in and out: divided by the sum of its squares (Griffin and Lim 1984).
    whole = total.reshape(-1)[inside] / weight.reshape(-1)[inside]
    return np.pad(whole, (0, length - len(whole)))


def _vocode(
    spectrum: NDArray[np.complex128],
    frame: NDArray[np.intp],
    share: np.ndarray,
    phase: NDArray[np.complex128] | None,
) -> tuple[NDArray[Any], NDArray[np.complex128]]:
    """Return the spectra at `frame + share` of the given ones, and the phases of the one that comes after them.

    `phase` is what the call before returned, None at the beginning. The spectra have the precision of `share`.
    """
    # Unit phasors instead of angles: multiplying them adds phases modulo a turn, which is all that is heard,
    # and needs neither arctangents nor unwrapping. In double precision, since the error of a quiet moment's phase
    # stays in all that follows; magnitudes, and what is made of both, need no more than the samples have.
    magnitude = np.abs(spectrum)
    silent = magnitude == 0.0
    spectrum[silent] = 1.0
    phasor = spectrum * (1.0 / (magnitude + silent))
    advance = phasor[1:] * phasor[:-1].conj()
    phases = np.ones((-(-(len(frame) + 1) // RUN), RUN, spectrum.shape[1]), np.complex128)
    flat = phases.reshape(-1, spectrum.shape[1])
    flat[0] = phasor[0] if phase is None else phase
    advance.take(frame, axis=0, out=flat[1 : len(frame) + 1], mode="clip")
    # A running product, as np.multiply.accumulate has it at a third of the time: within runs, then across them.
    for k in range(1, RUN):
        phases[:, k] *= phases[:, k - 1]
    for k in range(1, len(phases)):
        phases[k] *= phases[k - 1, -1]
    level = magnitude.astype(share.dtype)
    levels = np.diff(level, axis=0).take(frame, axis=0)
    levels *= share
    levels += level.take(frame, axis=0)
    return flat[: len(frame)].astype(np.result_type(share, np.complex64)) * levels, flat[len(frame)].copy()


def _overlap_add(total: np.ndarray, frames: np.ndarray) -> None:
    pieces = frames.reshape(len(frames), OVERLAP, HOP)
    for k in range(OVERLAP):
        total[k : k + len(frames)] += pieces[:, k]
