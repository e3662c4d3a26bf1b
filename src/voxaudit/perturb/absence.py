"""Nobody speaks: a recognizer must say nothing, and every word it writes is invented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation, parameter


@dataclass(frozen=True)
class Silence(Perturbation):
    does = "Digital silence as long as the recording: a muted microphone"
    speech: ClassVar[bool] = False

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return zeros."""
        return np.zeros_like(samples)


@dataclass(frozen=True)
class NoiseOnly(Perturbation):
    """The level is the noise's own root mean square over the clip, against a full-scale amplitude of 1."""

    does = "White Gaussian noise at {level:g} dBFS, as long as the recording: an open microphone and nobody there"
    units: ClassVar[Mapping[str, str]] = {"level": "dBFS"}
    severities = ({"level": -60.0}, {"level": -50.0}, {"level": -40.0}, {"level": -30.0})
    random: ClassVar[bool] = True
    speech: ClassVar[bool] = False

    level: float = parameter(
        at_least=-150, at_most=-14, note="dB of full scale; louder noise would be clipped"
    )

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return noise within full scale."""
        noise = generator.standard_normal(len(samples))
        noise *= 10.0 ** (self.level / 20.0) / np.sqrt(np.mean(noise**2))
        limited: Samples = np.clip(noise, -1.0, 1.0).astype(np.float32)
        return limited

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the level that came out, `noise_dbfs`."""
        return {"noise_dbfs": 10.0 * float(np.log10(np.mean(after.astype(np.float64) ** 2)))}
