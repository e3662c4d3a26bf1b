"""The answers of a study: SQLite, one row an answer, committed as it comes; no names, no addresses."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.run.database import Database

_SCHEMA = """
create table if not exists answers (
  participant text not null,
  item text not null,
  answer text not null,
  plays integer not null,
  answered integer not null,
  primary key (participant, item)
) without rowid
"""


class Answers:
    """The store. Safe for the server's threads; a process killed at any moment loses nothing that was answered."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "answers.sqlite"
        self._lock = threading.Lock()
        self._database = Database(self._path, _SCHEMA, durable=True)

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def add(self, participant: str, item: str, answer: dict[str, Any], plays: int) -> None:
        """Keep an answer; the first one stays, so that a request sent twice changes nothing."""
        row = (participant, item, json.dumps(answer, sort_keys=True), plays, int(time.time()))
        with self._lock:
            self._database.write("insert or ignore into answers values (?, ?, ?, ?, ?)", [row])

    def items_of(self, participant: str) -> set[str]:
        """Return which items a participant has answered."""
        rows = self._read("select item from answers where participant = ?", (participant,))
        return {item for (item,) in rows}

    def all(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return (participant, item, answer) of everybody, in a fixed order."""
        rows = self._read("select participant, item, answer from answers order by 1, 2")
        try:
            return [(participant, item, json.loads(answer)) for participant, item, answer in rows]
        except (TypeError, ValueError) as error:
            raise VoxauditError(f"{self._path}: not the answers of a study ({one_line(error)})") from error

    def _read(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return list(self._database.read(query, values))


@contextmanager
def open_answers(folder: Path) -> Iterator[Answers]:
    """Open the store for the length of a `with` block."""
    store = Answers(folder)
    try:
        yield store
    finally:
        store.close()
