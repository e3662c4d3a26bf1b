"""A run's folder: what it was asked, what came out, and how to read it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.corpus.base import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import url_of
from voxaudit.tables import (
    collect,
    read_json,
    read_table,
    require_single,
    require_types,
    scan_table,
    write_json,
)

FORMAT = 1
"""Version of the run folder's layout, in `run.json`."""

_NAMED = {"*": str}
_CORPUS = {"name": str, "utterances": int, "source": str, "speakers": int, "skipped": int, "format": str}
_SHAPE = {
    "corpus": _CORPUS,
    "recognizers": {"*": {"settings": dict, "fingerprint": dict}},
    "scenarios": [str],
    "seed": int,
    "voxaudit": str,
    "created": str,
    "normalizer": str,
    "keywords": [str],
    "sources": {"*": {"description": str, "fingerprint": str, "folder": str}},
    "corpora": {"*": _CORPUS},
    "not_heard": _NAMED,
    "unchanged": {"*": {"unchanged": int, "of": int}},
    "versions": _NAMED,
    "report": {"attributes": [str], "gates": dict},
    "measures": {"sources": _NAMED, "missing": _NAMED},
}
"""What each key of `run.json` holds, if it is there: `*` is any name. Others are the matter of who wrote them."""

TEXT = (pl.String,)
COUNT = (pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8)
NUMBER = (pl.Float64, pl.Float32, *COUNT)
_TABLES: dict[str, dict[str, tuple[Any, ...]]] = {
    "corpus": {
        **dict.fromkeys(("id", "audio", "speaker", "text"), TEXT),
        **dict.fromkeys(("start", "duration"), NUMBER),
    },
    "transcripts": dict.fromkeys(("utterance", "scenario", "recognizer", "text", "failure"), TEXT),
    "scores": {
        **dict.fromkeys(("utterance", "scenario", "recognizer", "speaker?"), TEXT),
        **dict.fromkeys(("hits?", "substitutions?", "deletions?", "insertions?"), COUNT),
        **dict.fromkeys(("words?", "characters?", "character_errors?"), COUNT),
    },
}
"""The columns of a run's tables and the types that each may be of; with `?`, one that a table made by hand may lack."""


@dataclass(frozen=True)
class Run:
    """A run on disk.

    `run.json` holds the configuration, `trials.sqlite` the store, `corpus.parquet` the utterances,
    `transcripts.parquet` and `scores.parquet` the tables every audit reads.
    """

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The frozen configuration: corpus, recognizers with their fingerprints, scenarios, seed, versions."""
        return read_config(self.folder)

    @cached_property
    def corpus(self) -> pl.DataFrame:
        """The utterances: id, audio, speaker, text, start, duration, then the attributes."""
        corpus, path = self._table("corpus"), self.folder / "corpus.parquet"
        if any(corpus[name].has_nulls() for name in ("id", "audio")):
            raise VoxauditError(f"{path}: damaged: an utterance has no id or no audio")
        require_single(corpus["id"], path)
        return corpus

    @cached_property
    def transcripts(self) -> pl.DataFrame:
        """One row per trial: utterance, scenario, recognizer, text as it was returned, seconds, failure."""
        return self._table("transcripts")

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row a scored trial: its counts, and the utterance's attributes as columns."""
        return self._table("scores", whole=True)

    @cached_property
    def found(self) -> dict[str, Any]:
        """What one audit of the run has worked out and the next one asks for again; it goes with this object."""
        return {}

    @property
    def failures(self) -> pl.DataFrame:
        """The trials without a transcript, with the reason."""
        return self.answers(lambda lazy: lazy.filter(pl.col("failure").is_not_null()))

    def answers(self, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Return what a query makes of the transcripts; texts that it does not ask for are not read."""
        return collect(query(self.scan("transcripts")), self.folder / "transcripts.parquet")

    def transcript_chunks(self, rows: int = 100_000) -> Iterator[pl.DataFrame]:
        """Yield the transcripts table in pieces, for runs that do not fit in memory."""
        total = self.answers(lambda lazy: lazy.select(pl.len())).item()
        for first in range(0, total, rows):
            yield self.answers(lambda lazy, first=first: lazy.slice(first, rows))  # type: ignore[misc]

    def scan(self, name: str) -> pl.LazyFrame:
        """Return a table of the run (`transcripts`, `scores`) to be read in parts, with its columns checked."""
        return scan_table(self.folder / f"{name}.parquet", _TABLES[name])

    def _table(self, name: str, *, whole: bool = False) -> pl.DataFrame:
        path = self.folder / f"{name}.parquet"
        table = read_table(path, whole=whole)
        require_types(table.schema, _TABLES[name], path)
        return table


def clean_corpus(run: Run) -> Corpus:
    """Return the clean speech of a run, which stands first in its table: the corpus that scenarios are made of."""
    about = run.config["corpus"]
    return Corpus(about["name"], "run", run.corpus.head(int(about["utterances"])), source=str(run.folder))


PUBLISHED = (
    *("run.json", "corpus.parquet", "transcripts.parquet", "scores.parquet"),
    *("measures.parquet", "quality.parquet"),
    *("report.html", "summary.md", "findings.json", "junit.xml", "sequential.json"),
)
"""What of a run's folder is copied elsewhere, and nothing else: labels name the people who reviewed."""


def published_files(folder: Path) -> list[Path]:
    """Return the files of a finished run that others want: its configuration, tables and report."""
    return [path for name in PUBLISHED if (path := folder / name).is_file() and not path.is_symlink()]


def local_folder(out: str | Path) -> Path:
    """Return the folder in which a run works; a URL raises one line."""
    if url_of(out) is not None:
        raise VoxauditError(
            f"{url_of(out)}: a run works in a folder on this machine. Choose one, and have the finished run copied"
            " elsewhere",
            see=("publish",),
        )
    return Path(out)


def make_folder(out: str | Path) -> Path:
    """Make the folder in which a run works; a place that cannot be written to raises one line."""
    folder = local_folder(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VoxauditError(f"{error.filename or folder}: {error.strerror or one_line(error)}") from error
    return folder


def open_run(folder: str | Path) -> Run:
    """Open a finished run; a folder without one raises one line."""
    run = Run(Path(folder))
    _ = run.config
    if not (run.folder / "transcripts.parquet").exists():
        raise VoxauditError(f"{folder}: this run is not finished. Run the same command again to complete it")
    return run


def read_config(folder: Path) -> dict[str, Any]:
    """Return `run.json` of a folder."""
    path = folder / "run.json"
    if not path.exists():
        raise VoxauditError(f"{folder}: not a run folder (it has no run.json)")
    config = read_json(path)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise VoxauditError(f"{path}: written by another version of voxaudit (format {FORMAT} expected)")
    wrong = _misshapen(config, _SHAPE)
    if wrong is not None:
        raise _damaged(path, wrong)
    return _Config(path, config)


class _Config(dict[str, Any]):
    """What a `run.json` says. To ask for what it lacks raises one line: runs that audits do not make may have less."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        super().__init__(content)
        self._path = path
        if "corpus" in content:
            self["corpus"] = _Config(path, content["corpus"])

    def __missing__(self, key: str) -> Any:
        raise _damaged(self._path, key)


def _damaged(path: Path, key: str) -> VoxauditError:
    where = one_line(key, 120)
    return VoxauditError(f"{path}: damaged: '{where}' is missing or is not what it should be")


def _misshapen(value: Any, shape: Any) -> str | None:
    """Return the keys that lead to what is not of the shape; empty where it is the value itself, None where all is."""
    if isinstance(shape, type):
        right = type(value) is shape and not (isinstance(value, int) and value < 0)
        return None if right else ""
    if type(value) is not type(shape):
        return ""
    parts = enumerate(value) if isinstance(value, list) else value.items()
    for key, item in parts:
        kind = shape[0] if isinstance(value, list) else shape.get(key, shape.get("*"))
        if kind is not None and (more := _misshapen(item, kind)) is not None:
            return f"{key}.{more}".rstrip(".")
    return None


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write `run.json`."""
    write_json(folder / "run.json", {"format": FORMAT, **config}, indent=2)
