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
        "librispeech": "voxaudit.corpus.published.librispeech:READER",
        "mls": "voxaudit.corpus.published.mls:READER",
        "common_voice": "voxaudit.corpus.published.common_voice:READER",
        "fleurs": "voxaudit.corpus.published.fleurs:READER",
        "vctk": "voxaudit.corpus.published.vctk:READER",
        "l2_arctic": "voxaudit.corpus.published.l2_arctic:READER",
        "accent_archive": "voxaudit.corpus.published.accent_archive:READER",
        "fair_speech": "voxaudit.corpus.published.fair_speech:READER",
        "casual_conversations": "voxaudit.corpus.published.casual_conversations:READER",
        "coraal": "voxaudit.corpus.published.coraal:READER",
        "tedlium": "voxaudit.corpus.published.tedlium:READER",
        "ami": "voxaudit.corpus.published.ami:READER",
        "ami_far": "voxaudit.corpus.published.ami:FAR_READER",
        "chime6": "voxaudit.corpus.published.chime6:READER",
        "chime6_far": "voxaudit.corpus.published.chime6:FAR_READER",
        "ravdess": "voxaudit.corpus.published.ravdess:READER",
        "kaldi": "voxaudit.corpus.kaldi:READER",
        "chat": "voxaudit.corpus.chat:READER",
        "stm": "voxaudit.corpus.stm:READER",
        "ctm": "voxaudit.corpus.ctm:READER",
        "trn": "voxaudit.corpus.trn:READER",
        "seglst": "voxaudit.corpus.seglst:READER",
        "lhotse": "voxaudit.corpus.lhotse:READER",
        "audiofolder": "voxaudit.corpus.audiofolder:READER",
        "hugging_face": "voxaudit.corpus.hugging_face:READER",
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
