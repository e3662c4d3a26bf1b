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


_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names another one, which SQLite deletes, whatever file it is."""

_PROGRAMS = """
SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL %'
UNION ALL SELECT m.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) WHERE m.type = 'table' AND hidden > 0
"""
"""What of a database is computed when it is read or written: none of ours has any."""


class Database:
    """An SQLite file in write-ahead mode. Several processes may use it at once, of each one thread at a time.

    Every call that writes is one transaction: a process killed at any moment leaves the last finished one. With
    `durable`, so does a power failure, at the price of waiting for the disk.
    """

    def __init__(self, path: Path, schema: str, *, durable: bool = False) -> None:
        self.path = path
        self._require_own_files()
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
            if found := self._connection.execute(_PROGRAMS).fetchone():
                raise sqlite3.DatabaseError(f"'{one_line(found[0], 60)}' in it is no plain table")
            self._connection.executescript(schema)
        except sqlite3.Error as error:
            self.close()
            raise self._failed("open", error) from error

    def _require_own_files(self) -> None:
        """Raise one line where SQLite would write or delete files elsewhere: the folder may be a stranger's."""
        for ending in ("", "-wal", "-shm", "-journal"):
            file = self.path.with_name(self.path.name + ending)
            if file.is_symlink():
                raise VoxauditError(f"{file}: is a link, and would be written to: put the file itself there")
        if file.is_file():
            with file.open("rb") as journal:
                journal.seek(max(0, file.stat().st_size - len(_SUPER_JOURNAL)))
                if journal.read() == _SUPER_JOURNAL:
                    raise VoxauditError(f"{file}: names a file elsewhere, which would be deleted: remove it")

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
        remedy = next(
            (text for start, text in _REMEDIES.items() if (code or "SQLITE_ERROR").startswith(start)), ""
        )
        safe = ". Everything written before is safe" if what == "write" else ""
        return VoxauditError(
            f"{self.path}: cannot {what} this database ({one_line(error)}){safe}{remedy and f': {remedy}'}"
        )


def marks(values: Sequence[Any]) -> str:
    """Return the placeholders of a list of values: `?,?,?`."""
    return ",".join("?" * len(values))
