"""Changes of level: too loud, too quiet, overdriven, too far away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation, parameter

SPEECH_LEVEL = -26.0
"""Level of speech from 1 m, in dB of full scale (dBFS: root mean square against a full-scale amplitude of 1)."""

NOISE_FLOOR = -50.0
"""Level of the noise that a far-field device hears in a quiet room, in dBFS."""


@dataclass(frozen=True)
class Gain(Perturbation):
    does = "Amplify by {factor:g} and saturate at full scale: a microphone turned up too far (SRB Table 2)"
    severities = ({"factor": 10.0}, {"factor": 20.0}, {"factor": 30.0}, {"factor": 40.0})

    factor: float = parameter(at_least=0, at_most=1_000_000, note="a factor")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `factor * samples` limited to [-1, 1]."""
        return amplify(samples, self.factor)


@dataclass(frozen=True)
class Amp(Perturbation):
    does = (
        "Multiply the amplitude by {theta:g}, saturating at full scale: far from or near to the microphone "
        "(AequeVox)"
    )

    theta: float = parameter(at_least=0, at_most=1_000_000, note="a factor")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `theta * samples` limited to [-1, 1]."""
        return amplify(samples, self.theta)


@dataclass(frozen=True)
class Clipping(Perturbation):
    does = "Limit samples to [-{theta:g}, {theta:g}] of full scale: an overdriven input (AequeVox Table 2)"

    theta: float = parameter(above=0, at_most=1, note="a share of full scale")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples limited to [-theta, theta]."""
        limit = np.float32(self.theta)
        return samples.clip(-limit, limit)  # np.clip looks at its arguments for a tenth of the time

    def leaves(self, samples: Samples, rate: int) -> bool:
        """Say whether the recording never reaches the limit."""
        return bool(np.abs(samples).max(initial=0.0) <= self.theta)


@dataclass(frozen=True)
class ClippingPeak(Perturbation):
    does = (
        "Limit samples to [-{theta:g}, {theta:g}] of the recording's peak: an overdriven input, however quiet"
        " the file"
    )

    theta: float = parameter(above=0, at_most=1, note="a share of the peak")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples limited to [-theta, theta] of their peak."""
        limit = np.float32(self.theta) * np.abs(samples).max(initial=np.float32(0.0))
        return np.clip(samples, -limit, limit)


@dataclass(frozen=True)
class FarField(Perturbation):
    """The speech is brought to -26 dBFS (root mean square over the clip) at 1 m and falls by 6 dB per doubling; white
    noise at -50 dBFS is the device and its quiet room. So the signal-to-noise ratio is `24 - 20 log10(distance)` dB:
    conversation at 60 dB sound pressure over 36 dB of noise. No room, no automatic gain. Silence stays silence.
    """

    does = "Speak from {distance:g} m away: half as loud at twice the distance, while the device's noise stays as it is"
    units: ClassVar[Mapping[str, str]] = {"distance": "m"}
    severities = ({"distance": 1.0}, {"distance": 2.0}, {"distance": 4.0}, {"distance": 8.0})
    random: ClassVar[bool] = True

    distance: float = parameter(at_least=0.1, at_most=1000)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the distant speech and the noise, limited to full scale."""
        factor = self._factor(samples)
        if factor == 0.0:
            return samples.copy()
        noise = generator.standard_normal(len(samples))
        noise *= _amplitude(NOISE_FLOOR) / _rms(noise)
        far: Samples = np.clip(factor * samples.astype(np.float64) + noise, -1.0, 1.0).astype(np.float32)
        return far

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`, and the speech's level, `speech_dbfs`."""
        speech = self._factor(before) * before.astype(np.float64)
        noise = after - speech
        if not speech.any() or not noise.any():
            return {}
        level = 20.0 * float(np.log10(_rms(speech)))
        return {"snr_db": level - 20.0 * float(np.log10(_rms(noise))), "speech_dbfs": level}

    def _factor(self, samples: Samples) -> float:
        rms = _rms(samples.astype(np.float64))
        return _amplitude(SPEECH_LEVEL) / (rms * self.distance) if rms > 0.0 else 0.0


def _amplitude(level: float) -> float:
    return float(10.0 ** (level / 20.0))


def _rms(samples: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(samples**2)))


def amplify(samples: Samples, factor: float) -> Samples:
    """Return `factor * samples`; what exceeds full scale saturates, it never wraps."""
    louder: Samples = np.clip(samples * np.float32(factor), np.float32(-1.0), np.float32(1.0))
    return louder
