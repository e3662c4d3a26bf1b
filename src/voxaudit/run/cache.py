"""Transcripts shared between runs, found by content: nothing is heard twice on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from voxaudit.files import cache_folder
from voxaudit.recognize.base import Transcript
from voxaudit.run.database import Database, marks
from voxaudit.run.store import transcript_from_row, transcript_row
from voxaudit.run.trial import Outcome

_SCHEMA = """
CREATE TABLE IF NOT EXISTS transcripts (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, confidence REAL, word_times TEXT, seconds REAL NOT NULL
) WITHOUT ROWID;
"""


@contextmanager
def opened_cache(cache: bool | str | Path) -> Iterator[Cache | None]:
    """Open the cache for the length of a `with` block: True for the user's folder, or a folder; None for False."""
    if not cache:
        yield None
        return
    kept = Cache(cache_folder() if cache is True else Path(cache))
    try:
        yield kept
    finally:
        kept.close()


class Cache:
    """Transcripts by trial key. Failures are never kept here; several runs may use it at once."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = Database(folder / "transcripts.sqlite", _SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Transcript, float]]:
        """Return {key: (transcript, seconds it took)} of the keys that are known."""
        found = {}
        for first in range(0, len(keys), 500):
            some = keys[first : first + 500]
            rows = self._database.read(
                f"SELECT key, text, confidence, word_times, seconds FROM transcripts WHERE key IN ({marks(some)})",
                some,
            )
            for key, text, confidence, times, seconds in rows:
                found[key] = (transcript_from_row(text, confidence, times), seconds)
        return found

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Keep the transcripts among these outcomes, in one transaction."""
        rows = [
            (outcome.trial.key, *transcript_row(outcome.transcript), outcome.seconds)
            for outcome in outcomes
            if outcome.transcript is not None
        ]
        if rows:
            self._database.write("INSERT OR REPLACE INTO transcripts VALUES (?, ?, ?, ?, ?)", rows)
