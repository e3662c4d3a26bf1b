"""GigaSpeech: `GigaSpeech.json` with segments of long recordings, beside `audio/`.

The layout is that of github.com/SpeechColab/GigaSpeech, "Metadata walkthrough" and "Text pre-processing".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.json_lines import read_json
from voxaudit.corpus.rows import Reader, Rows, rows_of

NAME = "GigaSpeech.json"
_MARKS = {" <COMMA>": ",", " <PERIOD>": ".", " <QUESTIONMARK>": "?", " <EXCLAMATIONPOINT>": "!"}
_NO_SPEECH = re.compile(r"<(SIL|MUSIC|NOISE|OTHER)>")


def detect(path: Path) -> bool:
    """Say whether this is the file, or a folder with it."""
    return path.name == NAME if path.is_file() else (path / NAME).is_file()


def rows(path: Path) -> Rows:
    """Read every segment that is speech: its text with punctuation, subsets, and the recording's source and category.

    Nobody is named in most recordings: `speaker` is then missing.
    """
    file = path if path.is_file() else path / NAME
    document = read_json(file)
    audios = document.get("audios") if isinstance(document, dict) else None
    if not isinstance(audios, list):
        raise CorpusError(f"{file}: no list `audios` in it; this is not GigaSpeech's metadata")
    without: list[str] = []
    found = rows_of(_records(audios, without), file.parent)
    return found.leaving_out(without, "they are marked as silence, music or noise")


def _records(audios: list[Any], without: list[str]) -> Iterator[dict[str, object]]:
    for audio in audios:
        for segment in audio.get("segments") or []:
            text = str(segment.get("text_tn") or "")
            if _NO_SPEECH.search(text):
                without.append(str(segment.get("sid")))
                continue
            for mark, sign in _MARKS.items():
                text = text.replace(mark, sign)
            speaker = segment.get("speaker")
            yield {
                "id": segment.get("sid"),
                "audio": audio.get("path"),
                "speaker": None if speaker in ("N/A", "") else speaker,
                "text": text,
                "start": segment.get("begin_time"),
                "end": segment.get("end_time"),
                "subsets": " ".join(str(one).strip("{}") for one in segment.get("subsets") or []),
                "source": audio.get("source"),
                "category": audio.get("category"),
                "language": "en",
            }


READER = Reader(
    name="gigaspeech",
    description="GigaSpeech: GigaSpeech.json with audio/; a row per segment of speech",
    example="GigaSpeech, or GigaSpeech/GigaSpeech.json",
    detect=detect,
    rows=rows,
)
