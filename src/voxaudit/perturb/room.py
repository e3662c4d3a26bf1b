"""Reverberation: speech heard through the impulse response of a room, simulated or recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.acoustics import measure_drr, measure_rt60, reverberate, srmr
from voxaudit.perturb.base import Perturbation, parameter
from voxaudit.perturb.sources.base import IS_SOURCE, RoomSource, Signal
from voxaudit.perturb.sources.responses import SimulatedHalls, SimulatedRooms

ROOMS, HALLS = SimulatedRooms(), SimulatedHalls()


@dataclass(frozen=True)
class Rir(Perturbation):
    """Length, timing and RMS level of the speech stay as they are; a sound falls by 60 dB in `rt60`."""

    does = "A room that rings for {rt60:g} seconds: a bare office, a stairwell (SRB Table 2)"
    units: ClassVar[Mapping[str, str]] = {"rt60": "seconds"}
    severities = ({"rt60": 0.27}, {"rt60": 0.58}, {"rt60": 0.99}, {"rt60": 1.33})
    random: ClassVar[bool] = True

    rt60: float = parameter(at_least=0.1, at_most=10)
    source: RoomSource = field(default=ROOMS, metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the speech in a room drawn at random."""
        return reverberate(samples, self.source.draw(self.rt60, rate, generator))

    def measure(self, samples: Samples, rate: int, generator: np.random.Generator) -> dict[str, float]:
        """Return the room's measured reverberation time `rt60_s` and direct-to-reverberant ratio `drr_db`."""
        return _room(self.source.draw(self.rt60, rate, generator), rate)


@dataclass(frozen=True)
class RealRir(Perturbation):
    """Length, timing and RMS level of the speech stay as they are. SRMR is measured with a synthetic talker in
    the room. Without recordings a built-in set of simulated responses stands in, and the report says so.
    """

    does = "A recorded room with an SRMR of about {srmr:g}: the lower, the more reverberant (SRB Table 2)"
    severities = ({"srmr": 9.1}, {"srmr": 7.1}, {"srmr": 4.1}, {"srmr": 1.8})
    random: ClassVar[bool] = True

    srmr: float = parameter(at_least=0.1, at_most=100, note="a ratio")
    source: RoomSource = field(default=HALLS, metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the speech in one of the rooms with about this SRMR."""
        return reverberate(samples, self.source.draw(self.srmr, rate, generator))

    def measure(self, samples: Samples, rate: int, generator: np.random.Generator) -> dict[str, float]:
        """Return `rt60_s` and `drr_db` of the room, and the `srmr` of this speech in it."""
        response = self.source.draw(self.srmr, rate, generator)
        ratio = srmr(reverberate(samples, response), rate)
        return _room(response, rate) | ({"srmr": ratio} if np.isfinite(ratio) else {})


def _room(response: Signal, rate: int) -> dict[str, float]:
    measured = {"rt60_s": measure_rt60(response, rate), "drr_db": measure_drr(response, rate)}
    return {name: value for name, value in measured.items() if np.isfinite(value)}
