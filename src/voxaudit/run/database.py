"""One way to keep rows in SQLite: opened, read and written alike, and one line for whatever goes wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line

PATIENCE = 60.0
"""Seconds to wait while another process writes."""

_REMEDIES = {
    "SQLITE_NOTADB": "move it elsewhere and try again",
    "SQLITE_CORRUPT": "the file is broken: bring back a copy, or move it elsewhere and try again",
    "SQLITE_BUSY": "another process is using it: try again when that has ended",
    "SQLITE_READONLY": "make the file and its folder writable",
    "SQLITE_CANTOPEN": "its folder must be there, and writable",
    "SQLITE_FULL": "free some space and try again",
    "SQLITE_IOERR": "free some space, or look after the disk, and try again",
    "SQLITE_ERROR": "written by another program, or another version: move it elsewhere and try again",
}


class Database:
    """An SQLite file in write-ahead mode. Several processes may use it at once, of each one thread at a time.

    Every call that writes is one transaction: a process killed at any moment leaves the last finished one. With
    `durable`, so does a power failure, at the price of waiting for the disk.
    """

    def __init__(self, path: Path, schema: str, *, durable: bool = False) -> None:
        self.path = path
        try:
            # Not always the same thread uses it: tables are written from polars' own.
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._failed("open", error) from error
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._connection.executescript(schema)
        except sqlite3.Error as error:
            self.close()
            raise self._failed("open", error) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a query finds."""
        try:
            yield from self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise self._failed("read", error) from error

    def write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for every row, in one transaction; an error takes all of it back."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(statement, rows)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first error says more
                        self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise self._failed("write", error) from error

    def _failed(self, what: str, error: sqlite3.Error) -> VoxauditError:
        code = getattr(error, "sqlite_errorname", "")
        remedy = next((text for start, text in _REMEDIES.items() if code.startswith(start)), "")
        safe = ". Everything written before is safe" if what == "write" else ""
        return VoxauditError(
            f"{self.path}: cannot {what} this database ({one_line(error)}){safe}{remedy and f': {remedy}'}"
        )


def marks(values: Sequence[Any]) -> str:
    """Return the placeholders of a list of values: `?,?,?`."""
    return ",".join("?" * len(values))
