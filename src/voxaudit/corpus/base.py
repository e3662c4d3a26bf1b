"""What a corpus is: utterances in one table, and the list of what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from voxaudit.errors import VoxauditError

COLUMNS = ("id", "audio", "speaker", "text", "start", "duration")
"""The columns of a corpus table that have a meaning; all others are attributes."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One recording, or a segment of one (`start` and `duration` in seconds; no duration: to the end)."""

    id: str
    audio: Path
    speaker: str | None = None
    text: str | None = None
    start: float = 0.0
    duration: float | None = None
    attributes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a corpus. `fatal` ones stop a run unless bad rows are skipped.

    `count` says how often it occurs; `rows` names the first of the rows as the file counts them: `"4"`, or
    `"train/metadata.csv:4"` where a corpus has several files.
    """

    kind: str
    message: str
    fatal: bool = True
    count: int = 1
    rows: tuple[str, ...] = ()


class CorpusError(VoxauditError):
    """A corpus that cannot be used as it is. The message lists every fatal problem; `problems` has them all."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass(frozen=True)
class Corpus:
    """Utterances as a table (columns `COLUMNS`, then one per attribute), ready to be heard.

    `problems` lists everything the checks found, all at once; `skipped` says how many rows were left out.
    `columns` says which column of the source each of ours came from (`{"text": "sentence"}`); `source` is the
    full path it was read from.
    """

    name: str
    format: str
    table: pl.DataFrame
    problems: tuple[Problem, ...] = ()
    skipped: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @classmethod
    def of_files(cls, files: Iterable[Path]) -> Corpus:
        """Return audio files as a corpus of their own: an utterance each, named by its path."""
        files = list(dict.fromkeys(files))
        for file in files:
            if not file.is_file():
                raise VoxauditError(f"{file}: no such audio file")
        schema = {column: pl.Float64 if column in ("start", "duration") else pl.String for column in COLUMNS}
        rows = [{"id": str(file), "audio": str(file.absolute())} for file in files]
        return cls("files", "files", pl.DataFrame(rows, schema=schema))

    def __len__(self) -> int:
        return self.table.height

    def __iter__(self) -> Iterator[Utterance]:
        for row in self.table.iter_rows(named=True):
            known = {column: row.pop(column) for column in COLUMNS}
            yield Utterance(
                id=known["id"],
                audio=Path(known["audio"]),
                speaker=known["speaker"],
                text=known["text"],
                start=known["start"] or 0.0,
                # Without a start the column only informs: a rounded duration must not cut the end off.
                duration=None if known["start"] is None else known["duration"],
                attributes=row,
            )

    @property
    def attributes(self) -> list[str]:
        """Names of the attribute columns."""
        return [column for column in self.table.columns if column not in COLUMNS]
