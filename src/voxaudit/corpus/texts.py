"""Files of texts with times: sclite's STM and CTM, SegLST. As references or transcripts they are ids and texts."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from voxaudit.corpus.formats import detect_format
from voxaudit.corpus.read import read_corpus
from voxaudit.errors import VoxauditError

TIMED = (".stm", ".ctm")


def is_timed(path: Path) -> bool:
    """Say whether a file holds texts with times: by its ending, or (`.json`) by its content."""
    if path.suffix.lower() in TIMED:
        return True
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    try:
        return detect_format(path)[0].name == "seglst"
    except VoxauditError:
        return False


def read_timed(path: Path) -> pl.DataFrame:
    """Return the columns id and text of such a file; the audio it names need not be there."""
    return read_corpus(path, check_audio=False).table.select("id", "text")
