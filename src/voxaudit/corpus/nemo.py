"""NeMo manifests: JSON lines with `audio_filepath`, `duration`, `text` and, for segments, `offset`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from voxaudit.corpus.json_lines import json_keys
from voxaudit.corpus.manifest import table_rows
from voxaudit.corpus.rows import Reader, Rows

_FIXED = {"audio": "audio_filepath", "duration": "duration", "text": "text", "start": "offset"}
_ENDINGS = (".json", ".jsonl", ".ndjson")


def detect(path: Path) -> bool:
    """Say whether the first line is an object with `audio_filepath`."""
    return path.suffix.lower() in _ENDINGS and path.is_file() and "audio_filepath" in json_keys(path)


def rows(path: Path) -> Rows:
    """Read the lines; a speaker or an id is found by its usual names."""
    return replace(table_rows(path), columns=_FIXED)


READER = Reader(
    name="nemo",
    description="a NeMo manifest: JSON lines with audio_filepath, duration, text, offset",
    example='train.json with lines {"audio_filepath": "a.wav", "duration": 2.1, "text": "yes"}',
    detect=detect,
    rows=rows,
)
