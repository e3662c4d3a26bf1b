"""The corpus formats by name, and which of them a path is. A new format is one file and one line here."""

from __future__ import annotations

from pathlib import Path

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.rows import Reader
from voxaudit.errors import one_line
from voxaudit.registry import Registry

FORMATS = Registry(
    "corpus format",
    {
        "kaldi": "voxaudit.corpus.kaldi:READER",
        "librispeech": "voxaudit.corpus.librispeech:READER",
        "common_voice": "voxaudit.corpus.common_voice:READER",
        "audiofolder": "voxaudit.corpus.audiofolder:READER",
        "nemo": "voxaudit.corpus.nemo:READER",
        "manifest": "voxaudit.corpus.manifest:READER",
        "folder": "voxaudit.corpus.folder:READER",
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
    """Return the first format that recognises `path`, and notes about installed formats that could not be asked."""
    notes: list[Problem] = []
    for name in detection_order():
        try:
            reader: Reader = FORMATS.load(name)
            if reader.detect(path):
                return reader, notes
        except Exception as error:  # an installed format that is broken must not keep others from being read
            notes.append(
                Problem("broken_format", f"format {name!r} could not be asked: {one_line(error)}", False)
            )
    what = "folder" if path.is_dir() else "file"
    raise CorpusError(
        f"{path}: this {what} is no corpus that voxaudit knows. Formats: {', '.join(FORMATS.names())};"
        " name one with --format (in Python: format=), see docs/corpora.md",
        tuple(notes),
    )
