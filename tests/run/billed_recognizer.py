"""A recognizer that says it is a service with a price. A module of its own, for the workers."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from dataclasses import dataclass
from typing import ClassVar

from voxaudit.recognize.base import Transcript


@dataclass(frozen=True)
class Billed:
    remote: ClassVar[bool] = True

    rate: int | None = None
    batch_size: int = 1
    price_per_minute: float = 0.6
    store: str = ""
    """Where the run keeps its trials: then an answer says how many of them were kept when it was asked for."""

    def fingerprint(self) -> dict[str, str]:
        return {"engine": "billed"}

    def billed_seconds(self, duration: float) -> float:
        return float(math.ceil(duration))

    def load(self):
        return lambda batch: [
            Transcript(f"heard after {self.kept()}" if self.store else "heard") for _ in batch
        ]

    def kept(self) -> int:
        with contextlib.closing(sqlite3.connect(self.store, timeout=30)) as base:
            return int(base.execute("SELECT count(*) FROM trials").fetchone()[0])
