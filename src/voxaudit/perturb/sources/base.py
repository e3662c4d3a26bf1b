"""What a source is: where the noise and the rooms of a perturbation come from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float64]


class Source(ABC):
    """Frozen, picklable, and cheap until it is used.

    Its text is its fingerprint, so that a perturbation's text, and with it a trial's key, tells sources apart.
    `folder` is the folder it was opened from, empty where there is none.
    """

    folder: str = ""

    @abstractmethod
    def describe(self) -> str:
        """Return one line for the report: name, origin, number of clips."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return what decides the samples it gives: the content, never the path."""

    def for_utterance(self, utterance: str) -> Source:
        """Return the source as it is for one utterance; most are the same for all."""
        return self

    def __repr__(self) -> str:
        return f"<{self.fingerprint()}>"


class NoiseSource(Source):
    """Gives stretches of noise."""

    @abstractmethod
    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return `length` samples at `rate` Hz, not all of them silent, looped or cut at a random place."""

    def for_utterance(self, utterance: str) -> NoiseSource:
        """Return the source as it is for one utterance."""
        return self


class RoomSource(Source):
    """Gives impulse responses of rooms whose measured reverberation is as asked, or as near as there is."""

    @abstractmethod
    def draw(self, asked: float, rate: int, generator: np.random.Generator) -> Signal:
        """Return a response at `rate` Hz that starts with the direct sound.

        `asked` is what the perturbation is set by: RT60 in seconds, or SRMR (a ratio).
        """


IS_SOURCE: Mapping[str, Any] = {"source": True}
"""Metadata of the dataclass field that holds a perturbation's source: no parameter of a scenario's id."""


def digest(parts: Iterable[str]) -> str:
    """Return 16 hexadecimal digits that stand for a sequence of texts."""
    summary = hashlib.sha256()
    for part in parts:
        summary.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return summary.hexdigest()[:16]
