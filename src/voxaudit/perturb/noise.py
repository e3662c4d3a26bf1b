"""Noise that is added to the speech at a given signal-to-noise ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation, parameter


def in_decibels() -> Any:
    """Return the parameter of a ratio that samples can hold."""
    return parameter(at_least=-200, at_most=200)


@dataclass(frozen=True)
class GaussianNoise(Perturbation):
    """The noise is scaled by its own measured power over the whole clip, so the SNR asked for is the SNR that
    comes out (SRB appendix A; `10 log10(P_speech / P_noise)`). Silence has no SNR and stays silence.
    """

    does = "White Gaussian noise at {snr:g} dB: a hissing line or a cheap microphone"
    units: ClassVar[Mapping[str, str]] = {"snr": "dB"}
    severities = ({"snr": 30.0}, {"snr": 20.0}, {"snr": 10.0}, {"snr": 0.0})
    random: ClassVar[bool] = True

    snr: float = in_decibels()

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus noise; what exceeds full scale is kept, as float audio allows it."""
        return add_at_snr(samples, generator.standard_normal(len(samples)), self.snr)

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`."""
        return measured_snr(before, after)


@dataclass(frozen=True)
class Noise(Perturbation):
    does = "White Gaussian noise at {theta:g} dB SNR, power over the whole clip (AequeVox)"
    units: ClassVar[Mapping[str, str]] = {"theta": "dB"}
    random: ClassVar[bool] = True

    theta: float = in_decibels()

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus noise limited to full scale: what exceeds it saturates."""
        noisy = add_at_snr(samples, generator.standard_normal(len(samples)), self.theta)
        return np.clip(noisy, np.float32(-1.0), np.float32(1.0))

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`."""
        return measured_snr(before, after)


def add_at_snr(samples: Samples, noise: np.ndarray, snr: float) -> Samples:
    """Return `samples` plus `noise` scaled to `snr` dB below the power of `samples`."""
    speech = samples.astype(np.float64)
    speech_power = float(np.mean(speech**2))
    noise_power = float(np.mean(noise**2))
    if speech_power == 0.0 or noise_power == 0.0:
        return samples.copy()
    scale = np.sqrt(speech_power / noise_power) * 10.0 ** (-snr / 20.0)
    noisy: Samples = (speech + scale * noise).astype(np.float32)
    return noisy


def measured_snr(before: Samples, after: Samples) -> dict[str, float]:
    """Return `{"snr_db": 10 log10(P_speech / P_noise)}` where the noise is `after - before`; {} without both."""
    speech = before.astype(np.float64)
    power, noise_power = float(np.mean(speech**2)), float(np.mean((after - speech) ** 2))
    if power == 0.0 or noise_power == 0.0:
        return {}
    return {"snr_db": 10.0 * float(np.log10(power / noise_power))}
