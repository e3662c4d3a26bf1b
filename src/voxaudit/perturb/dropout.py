"""Pieces of the recording that never arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation, parameter

FRAME_SHARE = 0.10
"""Share of all chunks that Frame silences."""

PACKET = 0.020
"""Length of the packets that PacketLoss loses, in seconds: what most internet telephones send at a time."""


@dataclass(frozen=True)
class Drop(Perturbation):
    """Eq. 8 of the paper."""

    does = "Silence {theta:g} % of all {chunk:g} ms chunks, never two neighbors: lost packets (AequeVox)"
    units: ClassVar[Mapping[str, str]] = {"theta": "%", "chunk": "ms"}
    random: ClassVar[bool] = True

    theta: float = parameter(
        at_least=0, at_most=50, note="percent of all chunks, of which every second may go"
    )
    chunk: float = parameter(20.0, above=0, note="its length in ms")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with some chunks set to zero."""
        return silence_chunks(samples, self.chunk / 1000.0 * rate, self.theta / 100.0, generator)


@dataclass(frozen=True)
class Frame(Perturbation):
    does = (
        "Silence 10 % of all chunks of {theta:g} ms, never two neighbors: a stuttering connection (AequeVox)"
    )
    units: ClassVar[Mapping[str, str]] = {"theta": "ms"}
    random: ClassVar[bool] = True

    theta: float = parameter(above=0, note="the length of a chunk in ms")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with some chunks set to zero."""
        return silence_chunks(samples, self.theta / 1000.0 * rate, FRAME_SHARE, generator)


@dataclass(frozen=True)
class PacketLoss(Perturbation):
    """Gilbert and Elliott's model with two states: all that is sent arrives in the good one, nothing in the bad one.

    The bad state is left with probability `1 / burst` per packet and entered with `loss / (100 - loss) / burst`, so
    that `loss` is its share in the long run; a short recording may lose more or less. A lost packet is silence.
    """

    does = (
        "Lose {loss:g} % of the 20 ms packets, in bursts of {burst:g} packets on average: a bad mobile or Wi-"
        "Fi connection"
    )
    units: ClassVar[Mapping[str, str]] = {"loss": "%", "burst": "packets"}
    severities = ({"loss": 1.0}, {"loss": 3.0}, {"loss": 10.0}, {"loss": 20.0})
    random: ClassVar[bool] = True

    loss: float = parameter(at_least=0, below=100, note="percent of all packets")
    burst: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst < max(1.0, self.loss / (100.0 - self.loss)):
            raise ValueError("burst must be at least 1 (packets), and at least loss / (100 - loss)")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with the lost packets set to zero."""
        size = max(PACKET * rate, 1.0)
        lost = lost_packets(int(np.ceil(len(samples) / size)), self.loss / 100.0, self.burst, generator)
        kept = samples.copy()
        for packet in np.flatnonzero(lost):
            kept[round(packet * size) : round((packet + 1) * size)] = 0.0
        return kept

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the share of the packets with any sound in them that were lost, `loss_percent`."""
        size = max(PACKET * rate, 1.0)
        starts = np.rint(np.arange(0.0, len(before), size)).astype(np.intp)
        starts = starts[starts < len(before)]
        sounding = np.logical_or.reduceat(before != 0.0, starts)
        arrived = np.logical_or.reduceat(after != 0.0, starts)
        if not sounding.any():
            return {}
        return {"loss_percent": 100.0 * float(np.mean(~arrived[sounding]))}


def lost_packets(count: int, share: float, burst: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Return which of `count` packets are lost: `share` of them in the long run, `burst` on end on average."""
    leave, enter = 1.0 / burst, share / (1.0 - share) / burst
    draws = generator.random(count)
    lost = np.zeros(count, dtype=np.bool_)
    bad = False
    for packet, draw in enumerate(draws):
        threshold = share if packet == 0 else 1.0 - leave if bad else enter
        bad = bool(draw < threshold)
        lost[packet] = bad
    return lost


def silence_chunks(samples: Samples, size: float, share: float, generator: np.random.Generator) -> Samples:
    """Return a copy with `share` of all chunks of `size` samples set to zero.

    Only every second chunk may be silenced, so that two neighbors never are. The number of chunks is
    rounded to the nearest whole number, half upwards.
    """
    size = max(size, 1.0)
    chunks = int(np.ceil(len(samples) / size))
    candidates = np.arange(1, chunks, 2)
    count = min(int(np.floor(round(share * chunks, 9) + 0.5)), len(candidates))
    kept = samples.copy()
    for chunk in generator.choice(candidates, count, replace=False):
        kept[round(chunk * size) : round((chunk + 1) * size)] = 0.0
    return kept
