"""RAVDESS: recordings whose names are codes, 03-01-06-01-02-01-12.wav, in a folder per actor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.folder import audio_files
from voxaudit.corpus.rows import Reader, Rows, rows_of

EMOTIONS = ("neutral", "calm", "happy", "sad", "angry", "fearful", "disgust", "surprised")
STATEMENTS = ("Kids are talking by the door", "Dogs are sitting by the door")
_NAME = re.compile(r"(?:.*/)?(0[1-3])-(0[12])-(0[1-8])-(0[12])-(0[12])-(0[12])-(\d\d)\.\w+")


def _detect(path: Path) -> bool:
    """Say whether the first audio of this folder or of an actor's has a name of seven codes."""
    actors = [path, *sorted(path.glob("Actor_*"))[:1]]
    return any(_NAME.fullmatch(file.name) for folder in actors for file in sorted(folder.glob("0*-*.*"))[:1])


def _read(path: Path, _: bool) -> Rows:
    """Read every recording whose name is a code: who, what, how. Odd actors are male, even ones female."""
    return rows_of(_records(path), path)


def _records(root: Path) -> Iterator[dict[str, object]]:
    for name in sorted(audio_files(root)):
        found = _NAME.fullmatch(name)
        if found:
            _, channel, emotion, intensity, statement, repetition, actor = found.groups()
            yield {
                "id": name.rsplit("/", 1)[-1].rsplit(".", 1)[0],
                "audio": name,
                "speaker": f"actor{actor}",
                "text": STATEMENTS[int(statement) - 1],
                "gender": "male" if int(actor) % 2 else "female",
                "emotion": EMOTIONS[int(emotion) - 1],
                "intensity": ("normal", "strong")[int(intensity) - 1],
                "channel": ("speech", "song")[int(channel) - 1],
                "repetition": str(int(repetition)),
            }


READER = Reader.where(
    Path.is_dir,
    _read,
    name="ravdess",
    description="RAVDESS: Actor_01/03-01-06-01-02-01-01.wav; the names say emotion, statement and actor",
    example="Audio_Speech_Actors_01-24",
    missing="not a folder; give the one with Actor_01, Actor_02 ...",
    detect=_detect,
)
