"""Numbers that were measured before, found by content: nothing is measured twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from voxaudit.run.database import Database, marks
from voxaudit.score.quality.measures import Measured

_SCHEMA = """
CREATE TABLE IF NOT EXISTS quality (
    key BLOB PRIMARY KEY, numbers TEXT, reason TEXT
) WITHOUT ROWID;
"""


def quality_key(recording: str, start: float, duration: float | None, scenario: str, group: str) -> bytes:
    """Return the 16-byte identity of a group of numbers.

    It covers the recording's content hash and segment, the scenario's fingerprint and the group's.
    """
    parts = json.dumps([recording, start, duration, scenario, group])
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).digest()[:16]


class QualityStore:
    """Numbers by key, in one SQLite file; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = Database(path, _SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, tuple[tuple[float, ...] | None, str | None]]:
        """Return {key: (numbers, reason why there are none)} of the keys that are known."""
        found: dict[bytes, tuple[tuple[float, ...] | None, str | None]] = {}
        for first in range(0, len(keys), 500):
            some = keys[first : first + 500]
            rows = self._database.read(
                f"SELECT key, numbers, reason FROM quality WHERE key IN ({marks(some)})", some
            )
            for key, numbers, reason in rows:
                found[key] = (None if numbers is None else tuple(json.loads(numbers)), reason)
        return found

    def add(self, measured: Iterable[tuple[bytes, Measured]]) -> None:
        """Keep numbers and reasons, in one transaction."""
        rows = [
            (key, None if one.values is None else json.dumps(one.values), one.reason) for key, one in measured
        ]
        self._database.write("INSERT OR REPLACE INTO quality VALUES (?, ?, ?)", rows)
