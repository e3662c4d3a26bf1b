"""Transcripts shared between runs, found by content: nothing is heard twice on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import cache_folder
from voxaudit.recognize.base import Transcript, UtteranceError, as_transcript
from voxaudit.run.database import Database, marks
from voxaudit.run.store import TRACES, transcript_from_row, transcript_row, write_traces
from voxaudit.run.trial import Outcome

_SCHEMA = """
CREATE TABLE IF NOT EXISTS transcripts (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, confidence REAL, word_times TEXT, seconds REAL NOT NULL
) WITHOUT ROWID;
"""


@contextmanager
def opened_cache(cache: bool | str | Path) -> Iterator[Cache | None]:
    """Open the cache for the length of a `with` block: True for the user's folder, or a folder; None for False.

    The user's folder is used where it can be (a container's user may have no home); one that was named must be usable.
    """
    kept = None
    try:
        kept = Cache(cache_folder() if cache is True else Path(cache)) if cache else None
    except VoxauditError as error:
        if cache is not True:
            raise
        _say_without(error)
    try:
        yield kept
    finally:
        if kept is not None:
            kept.close()


class Cache:
    """Transcripts by trial key. Failures are never kept here; several runs may use it at once.

    A row that makes no sense is not there. A cache that cannot be written (a full disk) is used no more: it saves
    time, and costs no run.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # a ValueError where the name is none
            reason = getattr(error, "strerror", None) or one_line(error)
            raise VoxauditError(
                f"{one_line(str(folder))}: cannot be the cache ({reason})", see=("cache",)
            ) from error
        self._database = Database(folder / "transcripts.sqlite", _SCHEMA + TRACES)
        self._broken = False

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Transcript, float]]:
        """Return {key: (transcript, seconds it took)} of the keys that are known."""
        found = {}
        for first in range(0, len(keys), 500):
            some = keys[first : first + 500]
            rows = self._database.read(
                "SELECT key, text, confidence, word_times, trace, seconds FROM transcripts LEFT JOIN traces USING (key)"
                f" WHERE key IN ({marks(some)})",
                some,
            )
            for key, *row, seconds in rows:
                with suppress(UtteranceError, TypeError, ValueError, RecursionError):
                    transcript = as_transcript(transcript_from_row(*row))
                    found[key] = (transcript, float(seconds))
        return found

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Keep the transcripts among these outcomes, in one transaction."""
        known = [outcome for outcome in outcomes if outcome.transcript is not None]
        rows = [(one.trial.key, *transcript_row(one.transcript), one.seconds) for one in known]
        if not rows or self._broken:
            return
        try:
            write_traces(self._database, known)
            self._database.write("INSERT OR REPLACE INTO transcripts VALUES (?, ?, ?, ?, ?)", rows)
        except VoxauditError as error:
            self._broken = True
            _say_without(error)


def _say_without(error: Exception) -> None:
    print(f"voxaudit: the run goes on without the cache: {error}", file=sys.stderr)
