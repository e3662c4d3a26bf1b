"""Corpus formats: readers that turn a path into raw rows, all of them by name, and which of them a path is.

A new format is one file and one line in `FORMATS`. The checks come later, for all alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.errors import one_line
from voxaudit.registry import Registry

CHUNK = 4096
"""Rows turned into columns at a time: Python objects of a whole file would take ten times its size."""


@dataclass(frozen=True)
class Rows:
    """What a reader found, before any check: a table of strings with the source's own column names.

    `root` is where relative audio paths start, `search` are further folders (relative to it) to look in.
    `columns` fixes which column is which (`{"audio": "path"}`); with `guess`, the others are found by their
    usual names, without it only by ours. `numbers` and `files` say where each row stands in the source.
    `empty_text` says that the source tells an empty text (nobody speaks) from none (JSON's "" and null).
    `harmonize` names attributes whose spelling is known and made ours: `{"gender": "sex"}` (see harmonize.py).
    A row that could not be read at all is not in the table: it is counted in `lost`, with a `Problem`.
    """

    table: pl.DataFrame
    root: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    guess: bool = True
    search: tuple[str, ...] = ()
    numbers: pl.Series | None = None
    files: pl.Series | None = None
    unit: str = "row"
    empty_text: bool = False
    harmonize: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    lost: int = 0

    def noting(self, problems: tuple[Problem, ...]) -> Rows:
        """Return the rows with more problems; the lines that fatal ones are about count as lost."""
        lost = sum(problem.count for problem in problems if problem.fatal)
        return replace(self, problems=(*self.problems, *problems), lost=self.lost + lost)

    def leaving_out(self, places: Sequence[str], why: str, what: str = "segments") -> Rows:
        """Return the rows with a note of the segments, by id or place, that were left out on purpose."""
        if not places:
            return self
        text = f"{len(places):,} {what} left out: {why} (first: {places[0]})"
        return self.noting((Problem("unclear_text", text, False, len(places)),))


@dataclass(frozen=True)
class Reader:
    """A corpus format: how to recognize it and how to read its rows.

    `detect` is asked about every path without a given format: it must be quick and must not raise.
    `rows` raises `CorpusError` with one line where the source cannot be read at all.
    """

    name: str
    description: str
    example: str
    detect: Callable[[Path], bool]
    rows: Callable[[Path], Rows]

    @classmethod
    def where(
        cls,
        find: Callable[[Path], Any],
        read: Callable[[Path, Any], Rows],
        *,
        name: str,
        description: str,
        example: str,
        missing: str,
        detect: Callable[[Path], bool] | None = None,
    ) -> Reader:
        """Return the format that a path is in where `find` finds something (files, a folder) for `read` to read.

        `missing` says, behind the path, what was not found. `detect` is for layouts that several formats share, or that
        take long to list.
        """

        def rows(path: Path) -> Rows:
            found = find(path)
            if not found:
                raise CorpusError(f"{path}: {missing}")
            return read(path, found)

        return cls(name, description, example, detect or (lambda path: bool(find(path))), rows)


LINE, FILE = "row:number", "row:file"
"""Keys of a record that say where it stands in its source; no column has such a name."""


def rows_of(records: Iterable[Mapping[str, object]], root: Path, **rest: Any) -> Rows:
    """Return records with our column names as rows; `LINE` and `FILE` in them say where each stands."""
    return rows_in(table_of(records), root, **rest)


def rows_in(table: pl.DataFrame, root: Path, **rest: Any) -> Rows:
    """Return a table with our column names, and perhaps `LINE` and `FILE`, as rows."""
    # Not strict: a stranger's JSON may have such a key, too.
    numbers = table[LINE].cast(pl.UInt32, strict=False) if LINE in table.columns else None
    files = table[FILE] if FILE in table.columns else None
    plain = table.drop(LINE, FILE, strict=False)
    return Rows(plain, root, guess=False, numbers=numbers, files=files, **rest)


def table_of(records: Iterable[Mapping[str, object]], rename: Callable[[str], str] = str) -> pl.DataFrame:
    """Return records as a table of strings; a column that a record lacks is null there.

    `rename` makes a column's name of a key; where two keys get one name, the first is taken.
    """
    records = iter(records)
    parts = []
    while chunk := list(islice(records, CHUNK)):
        columns: dict[str, pl.Series] = {}
        for key in dict.fromkeys(key for record in chunk for key in record):
            values = [record.get(key) for record in chunk]
            name = rename(key)
            columns.setdefault(
                name, strings(name, [value if type(value) is str else as_text(value) for value in values])
            )
        parts.append(pl.DataFrame(list(columns.values())))
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def strings(name: str, values: Sequence[str | None]) -> pl.Series:
    """Return a column of strings. Half surrogate pairs, which no UTF-8 can hold, become U+FFFD."""
    try:
        return pl.Series(_utf8(name), values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(
            _utf8(name), [value if value is None else _utf8(value) for value in values], dtype=pl.String
        )


def as_text(value: object) -> str | None:
    """Return a value as a source would spell it; lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


# The corpus formats by name, and which of them a path is. A new format is one file and one line here.


def _at(place: str, names: str) -> dict[str, str]:
    """Return where the readers are that are called READER in a module of their own name."""
    return {name: f"voxaudit.corpus.{place}{name}:READER" for name in names.split()}


FORMATS = Registry(
    "corpus format",
    {
        **_at("published.", "librispeech mls common_voice fleurs vctk l2_arctic accent_archive fair_speech"),
        **_at("published.", "casual_conversations coraal tedlium ami"),
        "ami_far": "voxaudit.corpus.published.ami:FAR_READER",
        **_at("published.", "chime6"),
        "chime6_far": "voxaudit.corpus.published.chime6:FAR_READER",
        **_at("published.", "voxpopuli gigaspeech aishell afrispeech edacc ravdess"),
        "sep28k": "voxaudit.corpus.published.stuttering:SEP28K",
        "fluencybank_timestamped": "voxaudit.corpus.published.stuttering:TIMESTAMPED",
        "uclass": "voxaudit.corpus.published.stuttering:UCLASS",
        "libristutter": "voxaudit.corpus.published.stuttering:LIBRISTUTTER",
        "as70": "voxaudit.corpus.published.stuttering:AS70",
        "torgo": "voxaudit.corpus.published.disordered:TORGO",
        "uaspeech": "voxaudit.corpus.published.disordered:UASPEECH",
        "speech_accessibility": "voxaudit.corpus.published.disordered:SAP",
        "shar": "voxaudit.corpus.shards:SHAR",
        "nemo_tarred": "voxaudit.corpus.shards:NEMO",
        "webdataset": "voxaudit.corpus.shards:WEBDATASET",
        **_at("", "kaldi chat"),
        **{name: f"voxaudit.corpus.nist:{name.upper()}" for name in ("stm", "ctm", "trn")},
        "seglst": "voxaudit.corpus.seglst:READER",
        "lhotse": "voxaudit.corpus.lhotse:READER",
        **_at("", "audiofolder hugging_face"),
        "nemo": "voxaudit.corpus.manifest:NEMO",
        **_at("", "manifest folder"),
    },
    group="voxaudit.corpora",
)

GENERAL = ("manifest", "folder")
"""Formats that fit almost anything: asked last, after those of installed packages."""


def detection_order() -> list[str]:
    """Return the names of the formats in the order in which they are asked "is this yours?"."""
    names = FORMATS.names()
    return [name for name in names if name not in GENERAL] + list(GENERAL)


def detect_format(path: Path) -> tuple[Reader, list[Problem]]:
    """Return the first format that recognizes `path`, and notes about installed formats that could not be asked."""
    notes: list[Problem] = []
    for name in detection_order():
        try:
            reader: Reader = FORMATS.load(name)
            if reader.detect(path):
                return reader, notes
        except Exception as error:  # an installed format that is broken must not keep others from being read
            why = one_line(error.__cause__ or error)
            notes.append(Problem("broken_format", f"format {name!r} could not be tried: {why}", False))
    what = "folder" if path.is_dir() else "file"
    raise CorpusError(
        f"{path}: this {what} is not a corpus that voxaudit knows. Formats: {', '.join(FORMATS.names())};"
        " name one in the setting `format`, see docs/corpora.md",
        tuple(notes),
    )
