"""AequeVox's high- and low-pass: Butterworth filters of order 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation


@dataclass(frozen=True)
class _Butterworth(Perturbation):
    family: ClassVar[str] = "filter"

    theta: float

    def __post_init__(self) -> None:
        if self.theta <= 0.0:
            raise ValueError("theta must be above 0 (a frequency in Hz)")


@dataclass(frozen=True)
class Hp(_Butterworth):
    """Butterworth high-pass of order 2 at `theta` Hz: a small loudspeaker (AequeVox)."""

    name: ClassVar[str] = "hp"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies above `theta` Hz: nothing where that is beyond half the rate."""
        if self.theta >= rate / 2:
            return np.zeros_like(samples)
        return _filter(samples, self.theta, rate, "highpass")


@dataclass(frozen=True)
class Lp(_Butterworth):
    """Butterworth low-pass of order 2 at `theta` Hz: speech through a wall (AequeVox)."""

    name: ClassVar[str] = "lp"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies below `theta` Hz: everything where that is beyond half the rate."""
        if self.theta >= rate / 2:
            return samples.copy()
        return _filter(samples, self.theta, rate, "lowpass")


def _filter(samples: Samples, frequency: float, rate: int, kind: str) -> Samples:
    from scipy.signal import butter, sosfilt

    sections = butter(2, frequency, kind, fs=rate, output="sos")
    filtered = sosfilt(sections, samples.astype(np.float64))
    limited: Samples = np.clip(filtered, -1.0, 1.0).astype(np.float32)
    return limited
