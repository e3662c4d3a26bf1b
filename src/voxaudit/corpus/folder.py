"""A folder of recordings without any list: all that is known is where they are, and the folders' names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from voxaudit.audio import SUFFIXES
from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.rows import Reader, Rows, strings

SPLITS = frozenset(
    {"train", "training", "test", "testing", "eval", "evaluation", "dev", "valid", "validation", "val"}
)
"""Names of folders that are parts of a data set and not labels."""


GLIMPSED = 20_000


def detect(path: Path) -> bool:
    """Say whether there is any audio in this folder or below it."""
    return path.is_dir() and next(audio_files(path), None) is not None


def rows(path: Path) -> Rows:
    """Read every audio file below the folder: no speakers, no texts. Sub folders may be labels (see `labels`)."""
    if not path.is_dir():
        raise CorpusError(f"{path}: not a folder")
    found_files = list(audio_files(path))
    files = sorted(filter(is_utf8, found_files))
    left_out = len(found_files) - len(files)
    table = strings("audio", files).to_frame()
    message = "a folder of audio without metadata"
    found = labels(files)
    if found:
        table = table.with_columns(strings("label", found))
        message += (
            "; its subfolders are read as attribute 'label' (if they are speakers, name them in the setting"
            " `columns`: speaker=label)"
        )
        if all(file.split("/")[0] in SPLITS for file in files):
            table = table.with_columns(strings("split", [file.split("/")[0] for file in files]))
    problems = [Problem("no_metadata", message, False)]
    if left_out:
        message = f"{left_out:,} audio files left out: their names are not UTF-8; rename them"
        problems.append(Problem("file_name", message, False, left_out))
    return Rows(table, path, guess=False, problems=tuple(problems))


def labels(files: list[str]) -> list[str]:
    """Return the label of each file where all lie as `label/file` or `split/label/file`, with two labels or more.

    This is the rule by which Hugging Face takes folders for classes. Otherwise nothing is returned.
    """
    depths = {file.count("/") for file in files}
    if depths not in ({1}, {2}):
        return []
    if depths == {2} and not all(file.split("/")[0] in SPLITS for file in files):
        return []
    found = [file.split("/")[-2] for file in files]
    distinct = set(found)
    return found if len(distinct) > 1 and not distinct <= SPLITS else []


def is_utf8(name: str) -> bool:
    """Say whether a table can hold a file's name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def audio_files(path: Path) -> Iterator[str]:
    """Yield audio files below a folder, relative to it with `/`. Hidden ones are passed over, loops not entered."""
    top = path.stat()
    seen = {(top.st_dev, top.st_ino)}
    pending = [""]
    while pending:
        place = pending.pop()
        try:
            with os.scandir(path / place) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir():
                        status = Path(entry.path).stat()
                        identity = (status.st_dev, status.st_ino)
                        if not entry.is_symlink() or identity not in seen:
                            pending.append(f"{place}{entry.name}/")
                        seen.add(identity)
                    elif os.path.splitext(entry.name)[1].lower() in SUFFIXES and entry.is_file():  # noqa: PTH122
                        yield place + entry.name
        except OSError:
            continue  # a folder that may not be entered, or has vanished meanwhile


def glimpse(path: Path, depth: int = 2) -> Iterator[str]:
    """Yield names of files up to `depth` folders below, relative with `/`: enough to tell what a folder holds.

    Of each folder at most `GLIMPSED` entries are looked at: a million recordings are not listed to find no list.
    """
    count = 0
    pending = [""]
    while pending and count < 10 * GLIMPSED:
        place = pending.pop()
        try:
            with os.scandir(path / place) as entries:
                for entry in islice(entries, GLIMPSED):
                    if entry.is_dir():
                        if place.count("/") < depth and not entry.name.startswith("."):
                            pending.append(f"{place}{entry.name}/")
                    else:
                        count += 1
                        yield place + entry.name
        except OSError:
            continue


READER = Reader(
    name="folder",
    description="a folder of audio files without metadata; subfolders may be labels",
    example="recordings",
    detect=detect,
    rows=rows,
)
