"""CHiME-6: `transcriptions/split/S02.json` with `audio/split/S02_P05.wav` (worn) and S02_U01.CH1.wav (far)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.json_lines import json_keys
from voxaudit.corpus.recordings import with_overlap
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.seglst import read_segments, seconds

FAR = "U01.CH1"
_MARKS = re.compile(r"\[[^\]]{0,500}\]")


def detect(path: Path) -> bool:
    """Say whether there are transcriptions of sessions, with times and words."""
    file = next(path.glob("transcriptions/*/S*.json"), None) if path.is_dir() else None
    return file is not None and {"words", "start_time", "session_id"} <= set(json_keys(file))


NEAR = Problem(
    "near_field", "the worn microphones are read; for the first array name the format chime6_far", False
)


def _rows(path: Path, microphone: str | None) -> Rows:
    """Read every utterance as a microphone heard it; None: that which the speaker wears."""
    files = sorted(path.glob("transcriptions/*/S*.json")) if path.is_dir() else []
    if not files:
        raise CorpusError(f"{path}: no transcriptions/*/S*.json in this folder; give CHiME-6's own")
    rows = rows_of((record for file in files for record in _records(file, microphone)), path, unit="segment")
    return replace(rows, table=with_overlap(rows.table, "session")) if rows.table.width else rows


def _records(file: Path, microphone: str | None) -> Iterator[dict[str, object]]:
    split = file.parent.name
    for number, segment in read_segments(file):
        words = str(segment.get("words") or "")
        text = " ".join(_MARKS.sub(" ", words).split())
        if "[redacted]" in words or not text:  # nobody may hear it, or there are no words
            continue
        session, speaker = str(segment.get("session_id") or file.stem), str(segment.get("speaker"))
        yield {
            "id": f"{session}-{speaker}-{number}",
            "audio": f"audio/{split}/{session}_{microphone or speaker}.wav",
            "speaker": speaker,
            "text": text,
            "start": seconds(segment.get("start_time")),
            "end": seconds(segment.get("end_time")),
            "session": session,
            "split": split,
            "location": segment.get("location"),
            LINE: number,
            FILE: f"{split}/{file.name}",
        }


READER = Reader(
    name="chime6",
    description="CHiME-6, near field: transcriptions/SPLIT/S02.json and audio/SPLIT/S02_P05.wav",
    example="CHiME6",
    detect=detect,
    rows=lambda path: _rows(path, None).noting((NEAR,)),
)
FAR_READER = replace(
    READER,
    name="chime6_far",
    description=f"CHiME-6, far field: the same utterances in audio/SPLIT/S02_{FAR}.wav",
    example="CHiME6, with the format chime6_far named",
    detect=lambda _: False,
    rows=lambda path: _rows(path, FAR),
)
