"""A recognizer that answers at once: what is left is the run's own cost. A module of its own, for the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript


@dataclass(frozen=True)
class Instant:
    rate: int | None = None
    batch_size: int = 1

    def fingerprint(self) -> dict[str, str]:
        return {"engine": "instant"}

    def load(self) -> Callable[[Sequence[Audio]], list[Transcript]]:
        return lambda batch: [Transcript("one two three") for _ in batch]
