"""Faster and slower speech at the same pitch: SoX's tempo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError
from voxaudit.perturb.base import Perturbation, parameter

SEGMENT = 30.0
"""Length of a segment in ms, as SRB sets it (appendix A)."""

SEARCH_SHARE = 1.0 / 5.587
"""Length over which the best place for a segment is searched, as a share of the segment."""

OVERLAP_SHARE = 1.0 / 6.833
"""Length of the cross-fade between two segments, as a share of the segment."""

STEPS = np.float32(2**24)
"""Steps from silence to full scale in which SoX keeps the sound here; a recording of 16 bits loses nothing."""


@dataclass(frozen=True)
class _Tempo(Perturbation):
    family: ClassVar[str] = "time_pitch"

    factor: float

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples at the new tempo."""
        return change_tempo(samples, rate, self.factor)

    def map_time(self, seconds: float) -> float:
        """Return `seconds / factor`."""
        return seconds / self.factor

    def length(self, samples: int, rate: int) -> int:
        """Return the number of samples at the new tempo."""
        return _length(samples, self.factor)


@dataclass(frozen=True)
class TempoUp(_Tempo):
    does = "Speak {factor:g} times as fast at the same pitch: a hurried speaker (SRB Table 2)"
    severities = ({"factor": 1.25}, {"factor": 1.5}, {"factor": 1.75}, {"factor": 2.0})

    factor: float = parameter(above=1, at_most=100, note="the new tempo over the old")


@dataclass(frozen=True)
class TempoDown(_Tempo):
    does = "Speak at {factor:g} of the tempo, at the same pitch: a slow speaker (SRB Table 2)"
    severities = ({"factor": 0.875}, {"factor": 0.75}, {"factor": 0.625}, {"factor": 0.5})

    factor: float = parameter(at_least=0.1, below=1, note="the new tempo over the old")


def change_tempo(samples: Samples, rate: int, factor: float) -> Samples:
    """Return the samples at `factor` times the tempo, by WSOLA (Verhelst and Roelands 1993).

    Segments of 30 ms are laid one after the other; each is taken from near where the new tempo puts it, at the
    place where its beginning is most like (least squares) what would have followed the segment before it.
    """
    segment = _round(SEGMENT / 1000.0 * rate)
    search = max(_round(SEGMENT * SEARCH_SHARE / 1000.0 * rate), 1)
    overlap = 8 * max(_round(SEGMENT * OVERLAP_SHARE / 1000.0 * rate / 8.0), 1)  # SoX takes multiples of 8
    if segment <= overlap:
        raise VoxauditError(
            f"{rate} Hz is too low a sampling rate to change the tempo: resample to 8000 Hz or more"
        )
    step = segment - overlap
    count = _length(len(samples), factor)
    if not count:
        return np.zeros(0, np.float32)
    # Each rounded from the beginning: rounded steps added up would drift from the tempo.
    starts = np.floor(factor * np.arange(-(-count // step)) * step + 0.5).astype(np.int64)
    before = search // 2
    end = max(int(starts[-1]) + search + segment, before + len(samples))
    padded = np.zeros(end, np.float32)
    heard = padded[before : before + len(samples)]
    # In SoX's own steps, so that the search compares the same numbers as SoX does.
    np.rint(np.multiply(samples, STEPS, out=heard), out=heard)
    np.clip(heard, -STEPS, STEPS, out=heard)
    heard *= 1.0 / STEPS
    windows = sliding_window_view(padded, search)
    share = np.arange(overlap, dtype=np.float32) / np.float32(overlap)
    out = np.empty(len(starts) * step, np.float32)
    position = before
    for begin, start in zip(range(0, len(out), step), starts, strict=True):
        tail = padded[position + step : position + segment]
        if begin:
            position = start + most_similar(windows[start : start + overlap], tail)
        out[begin : begin + step] = padded[position : position + step]
        if begin:
            out[begin : begin + overlap] = tail + share * (out[begin : begin + overlap] - tail)
    return out[:count]


def most_similar(windows: Samples, tail: Samples) -> int:
    """Return the offset at which the sound differs least from `tail`, by least squares; the first of equals.

    Row i of `windows` has the sample that is compared with `tail[i]`, a column per offset.

    >>> sound = np.array([0, 1, 2, 3, 3], np.float32)
    >>> most_similar(sliding_window_view(sound, 4), np.array([2, 3], np.float32))
    2
    """
    errors = windows - tail[:, np.newaxis]
    errors *= errors
    # Summed over rows, in single precision from first to last: all processors choose the same offset.
    return int(np.add.reduce(errors, axis=0).argmin())


def _length(samples: int, factor: float) -> int:
    return _round(samples / factor)


def _round(value: float) -> int:
    """Return the nearest whole number, half upwards."""
    return int(value + 0.5)
