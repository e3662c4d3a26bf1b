"""Speed, pitch and sampling rate by the definitions of torchaudio (`Speed`, `PitchShift`, `Resample`), as in SRB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.sinc import resampled_length, sinc_resample
from voxaudit.perturb.vocoder import stretch

SEMITONES_PER_OCTAVE = 12


@dataclass(frozen=True)
class _Speed(Perturbation):
    family: ClassVar[str] = "time_pitch"

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
    """Play `factor` times as fast, higher in pitch: a hurried playback (SRB Table 2)."""

    name: ClassVar[str] = "speed_up"
    severities = ({"factor": 1.25}, {"factor": 1.5}, {"factor": 1.75}, {"factor": 2.0})

    def __post_init__(self) -> None:
        if not 1.0 <= self.factor <= 10.0:
            raise ValueError("factor must be from 1 to 10 (times as fast); for slower speech take speed_down")


@dataclass(frozen=True)
class SpeedDown(_Speed):
    """Play at `factor` of the speed, lower in pitch: a tape that drags (SRB Table 2)."""

    name: ClassVar[str] = "speed_down"
    severities = ({"factor": 0.875}, {"factor": 0.75}, {"factor": 0.625}, {"factor": 0.5})

    def __post_init__(self) -> None:
        if not 0.1 <= self.factor <= 1.0:
            raise ValueError("factor must be from 0.1 to 1 (of the speed); for faster speech take speed_up")


@dataclass(frozen=True)
class _Pitch(Perturbation):
    family: ClassVar[str] = "time_pitch"
    severities = ({"semitones": 3.0}, {"semitones": 6.0}, {"semitones": 9.0}, {"semitones": 12.0})

    semitones: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.semitones <= 24.0:
            raise ValueError("semitones must be from 0 to 24 (12 are an octave)")


@dataclass(frozen=True)
class PitchUp(_Pitch):
    """Raise the pitch by `semitones`, at the same tempo: a higher voice, a disguised one (SRB Table 2)."""

    name: ClassVar[str] = "pitch_up"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples `semitones` higher; the length stays."""
        return shift_pitch(samples, rate, self.semitones)


@dataclass(frozen=True)
class PitchDown(_Pitch):
    """Lower the pitch by `semitones`, at the same tempo: a deeper voice, a disguised one (SRB Table 2)."""

    name: ClassVar[str] = "pitch_down"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples `semitones` lower; the length stays."""
        return shift_pitch(samples, rate, -self.semitones)


@dataclass(frozen=True)
class Resample(Perturbation):
    """Keep only what fits into `factor` of the sampling rate: an old or thrifty recorder (SRB Table 2).

    Down to `factor * rate` and back up, as SRB does it, so that the recognizer still hears its usual rate.
    """

    name: ClassVar[str] = "resample"
    family: ClassVar[str] = "filter"
    severities = ({"factor": 0.75}, {"factor": 0.5}, {"factor": 0.25}, {"factor": 0.125})

    factor: float

    def __post_init__(self) -> None:
        if not 0.01 <= self.factor <= 1.0:
            raise ValueError("factor must be from 0.01 to 1 (of the sampling rate)")

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


def _saturate(samples: np.ndarray) -> Samples:
    limited: Samples = np.clip(samples, -1.0, 1.0).astype(np.float32)
    return limited
