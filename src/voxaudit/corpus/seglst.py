"""SegLST: a JSON array of segments with session_id, speaker, start_time, end_time and words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.json_lines import json_keys, read_json
from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import LINE, Reader, Rows, rows_of


def detect(path: Path) -> bool:
    """Say whether the first object of a JSON file has a session and words."""
    return path.suffix == ".json" and path.is_file() and {"session_id", "words"} <= set(json_keys(path))


def rows(path: Path) -> Rows:
    """Read the segments; recordings are found by the session's name in the file's folder or beside it."""
    found = list(read_segments(path))
    root, audio = beside((str(segment.get("session_id")) for _, segment in found), path.absolute().parent)
    return rows_of(
        (_record(number, one, audio) for number, one in found), root, unit="segment", empty_text=True
    )


def read_segments(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the segments of a file with their places, from 1 on."""
    document = read_json(path)
    if not isinstance(document, list) or not all(isinstance(entry, dict) for entry in document):
        raise CorpusError(f"{path}: not a JSON array of segments ([{{...}}, ...])")
    yield from enumerate(document, start=1)


def seconds(value: object) -> str | None:
    """Return a time in seconds: "75.5" as it is, "0:01:15.5" (hours, minutes, seconds) added up."""
    text = str(value or "").strip()
    parts = text.split(":")
    try:
        return (
            text or None
            if len(parts) == 1
            else f"{sum(float(p) * 60**i for i, p in enumerate(parts[::-1])):.3f}"
        )
    except ValueError:
        return text  # the checks name it


def _record(number: int, segment: dict[str, Any], audio: dict[str, str]) -> dict[str, object]:
    session = str(segment.get("session_id"))
    known = {"session_id", "speaker", "start_time", "end_time", "words", "segment_index"}
    return {
        "id": f"{session}-{number}",
        "audio": audio.get(session, f"{session}.wav"),
        "speaker": segment.get("speaker"),
        "text": segment.get("words"),
        "start": seconds(segment.get("start_time")),
        "end": seconds(segment.get("end_time")),
        "session": session,
        **{key: value for key, value in segment.items() if key not in known},
        LINE: number,
    }


READER = Reader(
    name="seglst",
    description="SegLST: a JSON array of segments (session_id, speaker, start_time, end_time, words)",
    example="ref.json beside wav/",
    detect=detect,
    rows=rows,
)
