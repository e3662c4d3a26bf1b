"""Changes of level: too loud, too quiet, overdriven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation


@dataclass(frozen=True)
class Gain(Perturbation):
    """Amplify by `factor` and saturate at full scale: a microphone turned up too far (SRB Table 2)."""

    name: ClassVar[str] = "gain"
    family: ClassVar[str] = "level"
    severities = ({"factor": 10.0}, {"factor": 20.0}, {"factor": 30.0}, {"factor": 40.0})

    factor: float

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `factor * samples` limited to [-1, 1]."""
        return amplify(samples, self.factor)


@dataclass(frozen=True)
class Amp(Perturbation):
    """Multiply the amplitude by `theta`, saturating at full scale: far from or near to the microphone (AequeVox)."""

    name: ClassVar[str] = "amp"
    family: ClassVar[str] = "level"

    theta: float

    def __post_init__(self) -> None:
        if self.theta < 0.0:
            raise ValueError("theta must be at least 0 (a factor)")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `theta * samples` limited to [-1, 1]."""
        return amplify(samples, self.theta)


@dataclass(frozen=True)
class Clipping(Perturbation):
    """Limit samples to [-theta, theta] of full scale: an overdriven input (AequeVox Table 2)."""

    name: ClassVar[str] = "clipping"
    family: ClassVar[str] = "level"

    theta: float

    def __post_init__(self) -> None:
        if not 0.0 < self.theta <= 1.0:
            raise ValueError("theta must be above 0 and at most 1 (a share of full scale)")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples limited to [-theta, theta]."""
        limit = np.float32(self.theta)
        return np.clip(samples, -limit, limit)


def amplify(samples: Samples, factor: float) -> Samples:
    """Return `factor * samples`; what exceeds full scale saturates, it never wraps."""
    louder: Samples = np.clip(samples * np.float32(factor), np.float32(-1.0), np.float32(1.0))
    return louder
