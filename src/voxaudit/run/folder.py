"""A run's folder: what it was asked, what came out, and how to read it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import url_of
from voxaudit.tables import read_table, write_atomically

FORMAT = 1
"""Version of the run folder's layout, in `run.json`."""
_KEYS = {"corpus": dict, "recognizers": dict, "scenarios": list, "seed": int}


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
        return read_table(self.folder / "corpus.parquet")

    @cached_property
    def transcripts(self) -> pl.DataFrame:
        """One row per trial: utterance, scenario, recognizer, text as it was returned, seconds, failure."""
        return read_table(self.folder / "transcripts.parquet")

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row a scored trial: its counts, and the utterance's attributes as columns."""
        return read_table(self.folder / "scores.parquet")

    @property
    def failures(self) -> pl.DataFrame:
        """The trials without a transcript, with the reason."""
        return self.transcripts.filter(pl.col("failure").is_not_null())

    def transcript_chunks(self, rows: int = 100_000) -> Iterator[pl.DataFrame]:
        """Yield the transcripts table in pieces, for runs that do not fit in memory."""
        lazy = pl.scan_parquet(self.folder / "transcripts.parquet")
        total = lazy.select(pl.len()).collect().item()
        for first in range(0, total, rows):
            yield lazy.slice(first, rows).collect()


NOT_PUBLISHED = ("lock", "trials.sqlite", "trials.sqlite-wal", "trials.sqlite-shm", "workers.log")
"""What of a run's folder is of use only where the run is at work."""


def published_files(folder: Path) -> list[Path]:
    """Return the files of a finished run that others want: its configuration, tables and report."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name not in NOT_PUBLISHED)


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
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VoxauditError(f"{path}: cannot read this file ({one_line(error)})") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise VoxauditError(f"{path}: written by another version of voxaudit (format {FORMAT} expected)")
    return config


def require_whole(folder: Path, config: dict[str, Any]) -> None:
    """Raise one line where `run.json` lacks what every run has."""
    for key, kind in _KEYS.items():
        if not isinstance(config.get(key), kind):
            raise VoxauditError(
                f"{folder / 'run.json'}: damaged: '{key}' is missing or is not what it should be"
            )


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write `run.json`."""
    text = json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False) + "\n"
    write_atomically(folder / "run.json", lambda path: path.write_text(text, encoding="utf-8"))
