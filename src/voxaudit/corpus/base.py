"""What a corpus is: utterances in one table, and the list of what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    def __init__(
        self, message: str, problems: tuple[Problem, ...] = (), *, see: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, see=see)
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


SHOWN = 3
"""How many rows a message names."""
KEPT = 20
"""How many rows a `Problem` names."""

NO_ROWS = "no_rows"
REMEDY = "Fix them, or leave the bad rows out with the setting `skip_bad_rows`"


def row_problem(
    kind: str,
    words: str,
    count: int,
    rows: Sequence[str] = (),
    values: Sequence[str | None] = (),
    *,
    unit: str = "row",
    note: str = "",
    fatal: bool = True,
) -> Problem:
    """Return the problem of `count` rows: "2 audio files do not exist (rows 4, 9: 'x.wav', 'y.wav')".

    `words` are those after the number, singular and plural where they differ: `[file does|files do] not exist`; `rows`
    and `values` need hold only the first few.
    """
    places = _places(rows[:SHOWN], count, unit)
    shown = [quote(value) for value in values[:SHOWN] if value]
    quoted = ", ".join(dict.fromkeys(shown))
    if quoted and len(values) > SHOWN:
        quoted += ", ..."
    inside = "; ".join(part for part in (": ".join(part for part in (places, quoted) if part), note) if part)
    said = re.sub(r"\[([^|\[\]]*)\|([^\[\]]*)\]", r"\1" if count == 1 else r"\2", words)
    message = f"{count:,} {said}" + (f" ({inside})" if inside else "")
    return Problem(kind, message, fatal, count, tuple(rows[:KEPT]))


def quote(value: str, limit: int = 60) -> str:
    """Return a value in quotes, shortened, with control characters escaped: it stays on its line."""
    return repr(value if len(value) <= limit else value[: limit - 3] + "...")


def refusal(where: str, problems: Sequence[Problem]) -> CorpusError:
    """Return the error that lists every fatal problem of a corpus at once, with the remedy."""
    fatal = [problem for problem in problems if problem.fatal]
    total = sum(problem.count for problem in fatal)
    head = f"{total:,} problem{'s' if total != 1 else ''}: " if any(p.kind != NO_ROWS for p in fatal) else ""
    remedy = "" if any(problem.kind == NO_ROWS for problem in fatal) else f". {REMEDY}"
    return CorpusError(f"{where}: {head}{'; '.join(p.message for p in fatal)}{remedy}", tuple(problems))


def _places(rows: Sequence[str], count: int, unit: str) -> str:
    if not rows:
        return ""
    more = f" and {count - len(rows):,} more" if count > len(rows) else ""
    if any(":" in row for row in rows):  # these name their file themselves
        return ", ".join(rows) + more
    return f"{unit}{'s' if count > 1 else ''} {', '.join(rows)}{more}"
