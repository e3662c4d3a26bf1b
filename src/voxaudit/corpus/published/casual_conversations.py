"""Casual Conversations, version 1 and 2: JSON about the videos; the audio must be taken out of them first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.json_lines import as_object, read_json
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import Reader, Rows, rows_of

FIRST, SECOND = "CasualConversations.json", "CasualConversationsV2.json"
TEXTS = "CasualConversations_transcriptions.json"
_MARKS = re.compile(r"\[[^\]]{0,500}\]|<[^>]{0,500}>|[%=]")
_INNER = {"geo_location": "country", "fitzpatrick_skin_tone": "type", "monk_skin_tone": "scale"}


def _version(path: Path) -> str | None:
    return next((name for name in (SECOND, FIRST) if (path / name).is_file()), None)


def _read(path: Path, version: str) -> Rows:
    """Read the videos whose audio lies somewhere below as WAV, FLAC, MP3 ... of the same name.

    Texts (version 1) are of the whole recording; marks of time, speaker and sounds are taken out.
    """
    document = read_json(path / version)
    videos = list(_second(document) if version == SECOND else _first(document))
    if not videos:
        raise CorpusError(f"{path / version}: names no videos; is this file Casual Conversations' own?")
    audio = audio_by_name(path)
    texts = _texts(path / TEXTS)
    there = [video for video in videos if _stem(video[0]) in audio]
    records = (
        {**values, "id": stem, "audio": audio.get(stem, f"{stem}.wav"), "text": texts.get(stem)}
        for stem, values in ((_stem(name), values) for name, values in there or videos)
    )
    rows = rows_of(records, path, harmonize={"gender": "gender", "age": "age"})
    absent = len(videos) - len(there) if there else 0
    message = (
        f"{absent:,} videos left out: no audio of their name (make it with ffmpeg -i 1140_00.MP4 1140_00.wav)"
    )
    return rows.noting((Problem("no_recording", message, False, absent),) if absent else ())


def _first(document: Any) -> Iterator[tuple[str, dict[str, object]]]:
    for subject, entry in as_object(document).items():
        label, files = as_object(as_object(entry).get("label")), as_object(entry).get("files")
        for name in files if isinstance(files, list) else ():
            values = {key.replace("-", "_"): label.get(key) for key in ("age", "gender", "skin-type")}
            yield str(name), {"speaker": subject, **values}


def _second(document: Any) -> Iterator[tuple[str, dict[str, object]]]:
    for entry in map(as_object, document if isinstance(document, list) else ()):
        if entry.get("video_name"):
            inner = {key: as_object(entry.get(key)).get(part) for key, part in _INNER.items()}
            plain = {key: entry.get(key) for key in ("age", "gender", "native_language")}
            yield str(entry["video_name"]), {"speaker": entry.get("subject_id"), **plain, **inner}


def _texts(file: Path) -> dict[str, str]:
    document = read_json(file) if file.is_file() else []
    entries = [as_object(entry) for entry in document] if isinstance(document, list) else []
    return {
        _stem(str(entry.get("video_path"))): " ".join(
            _MARKS.sub(" ", str(entry.get("transcription") or "")).split()
        )
        for entry in entries
    }


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].rsplit(".", 1)[0]


READER = Reader.where(
    _version,
    _read,
    name="casual_conversations",
    description="Casual Conversations 1 or 2: its JSON, the transcriptions (1), and audio taken out of the videos",
    example="casual_conversations with CasualConversations.json and wav/1140_00.wav",
    missing=f"no {FIRST} or {SECOND} in this folder",
)
