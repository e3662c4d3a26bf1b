"""AequeVox's Scale: the recording played too slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation


@dataclass(frozen=True)
class Scale(Perturbation):
    """Play the same samples at `theta` times the rate: `1/theta` longer and lower in pitch (AequeVox)."""

    name: ClassVar[str] = "scale"
    family: ClassVar[str] = "time_pitch"

    theta: float

    def __post_init__(self) -> None:
        if not 0.1 <= self.theta <= 10.0:
            raise ValueError("theta must be from 0.1 to 10 (a factor of the rate)")

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
