"""Tone controls and steep filters as SoX makes them, with SRB's arguments (appendix A), and AequeVox's Butterworth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.numeric import lfilter, sosfilt
from voxaudit.perturb.base import Perturbation, parameter
from voxaudit.perturb.level import amplify

Spectrum = NDArray[np.complex128]

BLOCK = 4096
"""Samples in a block of the steep filters' convolution: long against the filters, short against the cache."""

BLOCKS_AT_ONCE = 16
"""Blocks transformed together, so that an hour of audio takes no more room than a minute."""


WINDOW_SHAPES = (12.3090056, 12.3129154, 12.3349946, 12.3677058, 12.4177162, 12.6228671)
"""Kaiser's beta as SoX corrects it for the width of the transition relative to the cutoff, an octave apart.

Measured from SoX's impulse responses, as is the number of taps, which grows with it; linear in between.
"""

WINDOW_SHAPES_FROM = 0.78125
"""The cutoff, as a share of half the rate, of the second of these shapes; each next one is an octave lower."""


@dataclass(frozen=True)
class _Shelf(Perturbation):
    units: ClassVar[Mapping[str, str]] = {"gain": "dB", "frequency": "Hz"}

    gain: float = parameter(at_least=-100, at_most=100)
    frequency: float = parameter(above=0)
    slope: float = parameter(0.5, above=0, at_most=1)


@dataclass(frozen=True)
class Bass(_Shelf):
    does = "Boost what lies below {frequency:g} Hz by {gain:g} dB: a boomy loudspeaker (SRB Table 2)"
    severities = ({"gain": 20.0}, {"gain": 30.0}, {"gain": 40.0}, {"gain": 50.0})

    frequency: float = parameter(100.0, above=0)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with more bass: all of them louder where half the rate is below `frequency`."""
        if self.frequency >= rate / 2:
            return amplify(samples, 10.0 ** (self.gain / 20.0))
        return _shelf(samples, rate, self.gain, self.frequency, self.slope, low=True)


@dataclass(frozen=True)
class Treble(_Shelf):
    does = "Boost what lies above {frequency:g} Hz by {gain:g} dB: a shrill loudspeaker (SRB Table 2)"
    severities = ({"gain": 10.0}, {"gain": 23.0}, {"gain": 36.0}, {"gain": 50.0})

    frequency: float = parameter(3000.0, above=0)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with more treble: unchanged where half the rate is below `frequency`."""
        if self.frequency >= rate / 2:
            return samples.copy()
        return _shelf(samples, rate, self.gain, self.frequency, self.slope, low=False)


@dataclass(frozen=True)
class _Steep(Perturbation):
    units: ClassVar[Mapping[str, str]] = {"frequency": "Hz"}

    frequency: float = parameter(above=0)


@dataclass(frozen=True)
class Lowpass(_Steep):
    does = "Keep what lies below {frequency:g} Hz, with a steep edge: a muffled line (SRB Table 2)"
    severities = ({"frequency": 4000.0}, {"frequency": 2833.0}, {"frequency": 1666.0}, {"frequency": 500.0})

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies below `frequency` Hz: everything where that is beyond half the rate."""
        if self.frequency >= rate / 2:
            return samples.copy()
        return _convolve(samples, 2.0 * self.frequency / rate, low=True)


@dataclass(frozen=True)
class Highpass(_Steep):
    does = "Keep what lies above {frequency:g} Hz, with a steep edge: a tinny line (SRB Table 2)"
    severities = ({"frequency": 500.0}, {"frequency": 1333.0}, {"frequency": 2166.0}, {"frequency": 3000.0})

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies above `frequency` Hz: nothing where that is beyond half the rate."""
        if self.frequency >= rate / 2:
            return np.zeros_like(samples)
        return _convolve(samples, 2.0 * self.frequency / rate, low=False)


def _shelf(samples: Samples, rate: int, gain: float, frequency: float, slope: float, *, low: bool) -> Samples:
    numerator, denominator = shelf_coefficients(rate, gain, frequency, slope, low=low)
    filtered = lfilter(numerator, denominator, samples.astype(np.float64))
    return np.clip(filtered, -1.0, 1.0, out=filtered).astype(np.float32)


def shelf_coefficients(
    rate: int, gain: float, frequency: float, slope: float, *, low: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numerator and denominator of a shelving filter of `gain` dB below or above `frequency` Hz.

    R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter coefficients". The high shelf is the low
    one with every odd power of z turned round, and its frequency counted from the top.
    """
    turned = 1.0 if low else -1.0
    amplitude = 10.0 ** (gain / 40.0)
    angle = 2.0 * np.pi * frequency / rate
    cosine = turned * np.cos(angle)
    width = np.sin(angle) * np.sqrt((amplitude + 1.0 / amplitude) * (1.0 / slope - 1.0) + 2.0)
    width *= np.sqrt(amplitude)
    more, less = amplitude + 1.0, amplitude - 1.0
    numerator = amplitude * np.array(
        [more - less * cosine + width, turned * 2.0 * (less - more * cosine), more - less * cosine - width]
    )
    denominator = np.array(
        [more + less * cosine + width, -turned * 2.0 * (less + more * cosine), more + less * cosine - width]
    )
    return numerator / denominator[0], denominator / denominator[0]


def sinc_taps(cutoff: float) -> NDArray[np.float64]:
    """Return SoX's low-pass with 6 dB loss at `cutoff` (a share of half the rate): a sinc in a Kaiser window.

    SoX's defaults are 120 dB of attenuation and a transition as wide as 5 % of the band.
    """
    shape = float(np.interp(np.log2(WINDOW_SHAPES_FROM / cutoff), np.arange(-1.0, 5.0), WINDOW_SHAPES))
    taps = 315 + 2 * max(int(np.ceil((shape - 12.329123) / 0.0785907)), 0)
    place = np.arange(taps) - taps // 2
    lowpass: NDArray[np.float64] = cutoff * np.sinc(cutoff * place) * np.kaiser(taps, shape)
    return lowpass


@lru_cache(maxsize=64)
def _spectrum(cutoff: float, low: bool) -> tuple[Spectrum, int]:
    taps = sinc_taps(cutoff)
    if not low:
        taps = -taps
        taps[len(taps) // 2] += 1.0
    spectrum: Spectrum = np.fft.rfft(taps, BLOCK)
    spectrum.flags.writeable = False
    return spectrum, len(taps)


def _convolve(samples: Samples, cutoff: float, *, low: bool) -> Samples:
    """Return the filtered samples, neither later nor longer than they came (overlap-save)."""
    spectrum, taps = _spectrum(cutoff, low)
    fresh = BLOCK - taps + 1
    count = len(samples)
    blocks = -(-count // fresh)
    padded = np.zeros(blocks * fresh + taps - 1)
    padded[taps // 2 : taps // 2 + count] = samples
    overlapping = np.lib.stride_tricks.sliding_window_view(padded, BLOCK)[::fresh]
    out = np.empty((blocks, fresh), np.float32)
    for first in range(0, blocks, BLOCKS_AT_ONCE):
        bins = np.fft.rfft(overlapping[first : first + BLOCKS_AT_ONCE])
        bins *= spectrum
        filtered = np.fft.irfft(bins, BLOCK)[:, taps - 1 :]
        np.clip(filtered, -1.0, 1.0, out=out[first : first + BLOCKS_AT_ONCE], casting="unsafe")
    return out.reshape(-1)[:count]


# AequeVox's high- and low-pass: Butterworth filters of order 2.


@dataclass(frozen=True)
class _Butterworth(Perturbation):
    """A filter of order 2; with `zero_phase=1` it is run forward and then backward, as AequeVox's script does.

    Both runs together attenuate twice as many decibels (6 instead of 3 at `theta`) and delay nothing.
    """

    theta: float = parameter(above=0, note="a frequency in Hz")
    zero_phase: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_phase not in (0.0, 1.0):
            raise ValueError("zero_phase is 0 (filtered once) or 1 (forward and backward)")


@dataclass(frozen=True)
class Hp(_Butterworth):
    does = "Butterworth high-pass of order 2 at {theta:g} Hz: a small loudspeaker (AequeVox)"
    units: ClassVar[Mapping[str, str]] = {"theta": "Hz"}

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies above `theta` Hz: nothing where that is beyond half the rate."""
        if self.theta >= rate / 2:
            return np.zeros_like(samples)
        return _butterworth(samples, self.theta, rate, "highpass", self.zero_phase > 0)


@dataclass(frozen=True)
class Lp(_Butterworth):
    does = "Butterworth low-pass of order 2 at {theta:g} Hz: speech through a wall (AequeVox)"
    units: ClassVar[Mapping[str, str]] = {"theta": "Hz"}

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies below `theta` Hz: everything where that is beyond half the rate."""
        if self.leaves(samples, rate):
            return samples.copy()
        return _butterworth(samples, self.theta, rate, "lowpass", self.zero_phase > 0)

    def leaves(self, samples: Samples, rate: int) -> bool:
        """Say whether nothing lies above `theta` Hz at this rate."""
        return self.theta >= rate / 2


def _butterworth(samples: Samples, frequency: float, rate: int, kind: str, twice: bool) -> Samples:
    from scipy.signal import sosfiltfilt

    sections = _butterworth_sections(frequency, rate, kind)
    wide = samples.astype(np.float64)
    # The other direction pads by a few samples, which so short a clip does not have.
    filtered = sosfiltfilt(sections, wide, padlen=min(9, len(wide) - 1)) if twice else sosfilt(sections, wide)
    limited: Samples = filtered.clip(-1.0, 1.0, out=filtered).astype(np.float32)
    return limited


@lru_cache(maxsize=32)  # to design one takes as long as to filter a second
def _butterworth_sections(frequency: float, rate: int, kind: str) -> NDArray[np.float64]:
    from scipy.signal import butter

    return np.asarray(butter(2, frequency, kind, fs=rate, output="sos"))
