"""What reviewers said: an append-only history in SQLite. The last word of each reviewer on a case counts."""

from __future__ import annotations

import unicodedata
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from voxaudit.audits.stutter.folder import LABELS
from voxaudit.errors import VoxauditError
from voxaudit.render.invisible import printable
from voxaudit.run.database import Database
from voxaudit.score.faults import KINDS

STORE = "review.sqlite"
TRIALS, STUTTER = "trials", "stutter"
SOURCES = (TRIALS, STUTTER)
"""Where cases come from: the trials of a run, the queue of a stutter audit."""

LONGEST_NAME = 60
LONGEST_COMMENT = 2000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS labels (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL, reviewer TEXT NOT NULL, source TEXT NOT NULL, case_id TEXT NOT NULL,
    label TEXT NOT NULL, kind TEXT NOT NULL, comment TEXT NOT NULL, final INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS labels_by_case ON labels (source, case_id, reviewer, number);
"""
_COLUMNS = "reviewer, source, case_id, label, kind, comment, final, time"
_CURRENT = f"""
SELECT {_COLUMNS} FROM labels JOIN
    (SELECT max(number) AS number FROM labels GROUP BY source, case_id, reviewer) USING (number)
WHERE label != '' ORDER BY number
"""


@dataclass(frozen=True)
class Given:
    """One judgment. An empty `label` takes an earlier one back; a `final` one settles the case for all.

    Only a real fault has a `kind`.
    `time` is UTC, ISO 8601; the store sets it where it is empty.
    """

    reviewer: str
    source: str
    case: str
    label: str
    kind: str = ""
    comment: str = ""
    final: bool = False
    time: str = ""

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise VoxauditError("the source of a case is trials or stutter")
        if self.label and self.label not in LABELS:
            raise VoxauditError(f"unknown label. Use one of {', '.join(LABELS)}")
        if self.kind and self.kind not in KINDS:
            raise VoxauditError(f"unknown kind of fault. Use one of {', '.join(KINDS)}")
        if self.kind and self.label != LABELS[0]:
            raise VoxauditError(f"only a case labeled {LABELS[0]} has a kind of fault")
        if len(self.comment) > LONGEST_COMMENT:
            raise VoxauditError(f"a comment has at most {LONGEST_COMMENT} characters")


def reviewer_name(text: str) -> str:
    """Return a reviewer's name or pseudonym as it is kept; one that is empty, long or not printable raises one line."""
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name or len(name) > LONGEST_NAME or printable(name) != name:
        raise VoxauditError(f"a reviewer's name has 1 to {LONGEST_NAME} characters, all of them visible")
    return name


class LabelStore:
    """The labels of a folder. Any number of threads and processes may use it at once.

    Every label is a transaction of its own on its own connection: what the page called saved survives `kill -9` and
    a power failure.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / STORE
        self._open().close()

    def _open(self) -> Database:
        return Database(self.path, _SCHEMA, durable=True)

    def add(self, given: Given) -> Given:
        """Keep a judgment and return it with its time."""
        time = given.time or datetime.now(UTC).isoformat(timespec="milliseconds")
        kept = replace(given, reviewer=reviewer_name(given.reviewer), time=time)
        row = tuple(
            value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for value in astuple(kept)
        )
        with closing(self._open()) as base:
            base.write(f"INSERT INTO labels ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])
        return kept

    def current(self, source: str | None = None) -> list[Given]:
        """Return the last word of every reviewer on every case, oldest first; labels taken back are not there."""
        return [one for one in self._read(_CURRENT) if source in (None, one.source)]

    def history(self) -> list[Given]:
        """Return everything that was ever said, oldest first."""
        return self._read(f"SELECT {_COLUMNS} FROM labels ORDER BY number")

    def _read(self, query: str) -> list[Given]:
        with closing(self._open()) as base:
            rows = list(base.read(query))
        try:
            return [
                Given(reviewer, source, case, label, kind, comment, bool(final), time)
                for reviewer, source, case, label, kind, comment, final, time in rows
            ]
        except VoxauditError as error:
            raise VoxauditError(f"{self.path}: not the database of a review ({error})") from error
