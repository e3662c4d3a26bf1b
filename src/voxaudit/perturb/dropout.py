"""Pieces of the recording that never arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation

DROP_CHUNK = 0.020
"""Length of the chunks that Drop silences, in seconds."""

FRAME_SHARE = 0.10
"""Share of all chunks that Frame silences."""


@dataclass(frozen=True)
class Drop(Perturbation):
    """Silence `theta` % of all 20 ms chunks, never two neighbours: lost packets (AequeVox)."""

    name: ClassVar[str] = "drop"
    family: ClassVar[str] = "dropout"
    random: ClassVar[bool] = True

    theta: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.theta <= 50.0:
            raise ValueError(
                "theta must be from 0 to 50 (percent of all chunks, of which every second may go)"
            )

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with some chunks set to zero."""
        return silence_chunks(samples, DROP_CHUNK * rate, self.theta / 100.0, generator)


@dataclass(frozen=True)
class Frame(Perturbation):
    """Silence 10 % of all chunks of `theta` ms, never two neighbours: a stuttering connection (AequeVox)."""

    name: ClassVar[str] = "frame"
    family: ClassVar[str] = "dropout"
    random: ClassVar[bool] = True

    theta: float

    def __post_init__(self) -> None:
        if self.theta <= 0.0:
            raise ValueError("theta must be above 0 (the length of a chunk in ms)")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with some chunks set to zero."""
        return silence_chunks(samples, self.theta / 1000.0 * rate, FRAME_SHARE, generator)


def silence_chunks(samples: Samples, size: float, share: float, generator: np.random.Generator) -> Samples:
    """Return a copy with `share` of all chunks of `size` samples set to zero.

    Only every second chunk may be silenced, so that two neighbours never are. The number of chunks is
    rounded to the nearest whole number, half upwards.
    """
    size = max(size, 1.0)
    chunks = int(np.ceil(len(samples) / size))
    candidates = np.arange(1, chunks, 2)
    count = min(int(np.floor(share * chunks + 0.5)), len(candidates))
    kept = samples.copy()
    for chunk in generator.choice(candidates, count, replace=False):
        kept[round(chunk * size) : round((chunk + 1) * size)] = 0.0
    return kept
