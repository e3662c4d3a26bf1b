"""A recognizer that says it is a service with a price. A module of its own, for the workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from voxaudit.recognize.base import Transcript


@dataclass(frozen=True)
class Billed:
    remote: ClassVar[bool] = True

    rate: int | None = None
    batch_size: int = 1
    price_per_minute: float = 0.6

    def fingerprint(self) -> dict[str, str]:
        return {"engine": "billed"}

    def billed_seconds(self, duration: float) -> float:
        return float(math.ceil(duration))

    def load(self):
        return lambda batch: [Transcript("heard") for _ in batch]
