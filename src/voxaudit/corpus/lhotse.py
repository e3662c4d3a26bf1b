"""lhotse cut sets: JSON lines (also gzipped) of cuts with their recording and supervisions."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.rows import LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, readable
from voxaudit.errors import one_line

_ENDINGS = (".jsonl", ".jsonl.gz")
_NOT_ATTRIBUTES = frozenset(
    {"id", "recording_id", "start", "duration", "channel", "text", "speaker", "alignment", "custom"}
)


_NO_CUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading a line raises that is no cut."""
LONGEST_LINE = 1 << 24
"""Bytes of a line that are read: a few compressed ones can be a line without end."""


def detect(path: Path) -> bool:
    """Say whether the first line is a cut: it has a recording or supervisions, and a start."""
    if not path.name.endswith(_ENDINGS) or not path.is_file():
        return False
    try:
        with _open(path) as file:
            first = json.loads(file.readline(1 << 22))
    except (OSError, ValueError, EOFError, zlib.error, RecursionError):
        return False
    return isinstance(first, dict) and {"id", "start", "supervisions"} <= set(first)


def rows(path: Path) -> Rows:
    """Read a row per supervision: its place in the recording is the cut's start and its own together.

    A cut without supervisions is a row without text. Recordings that are no single file are refused.
    """
    misfits, others = Misfits(), Misfits()
    with readable(path):
        found = rows_of(cut_records(path, misfits, others), path.parent, unit="line", empty_text=True)
    return found.noting(
        (
            *misfits.problem("bad_json", "[line is not a cut|lines are not cuts]"),
            *others.problem(
                "no_file", "[recording is not one audio file|recordings are not one audio file each]"
            ),
        )
    )


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from iter(lambda: file.readline(LONGEST_LINE), b"")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path}: not valid gzip ({one_line(error, 100)})") from None


def cut_records(
    path: Path, misfits: Misfits, others: Misfits, audio: Mapping[str, str] | None = None
) -> Iterator[dict[str, object]]:
    """Yield a record per supervision; `audio` has the recordings by the cut's id where they are in a shard."""
    with _open(path) as file:
        for number, line in enumerate(_lines(file, path), start=1):
            if not line.strip():
                continue
            try:
                cut = json.loads(line)
                supervisions = cut["supervisions"] or [{}]
                file_name = _file(cut) if audio is None else audio.get(cut["id"])
                if file_name is None:
                    others.add(number, str(cut.get("id")))
                    continue
                start = float(cut["start"])
                records = [_record(cut, one, file_name, start, len(supervisions)) for one in supervisions]
            except _NO_CUT as error:
                misfits.add(number, one_line(error, 50))
                continue
            yield from (record | {LINE: number} for record in records)


def _record(
    cut: dict[str, Any], one: dict[str, Any], file: str, start: float, several: int
) -> dict[str, object]:
    custom = one.get("custom") or {}
    plain = {key: value for key, value in {**one, **custom}.items() if not isinstance(value, dict | list)}
    return {
        "id": one.get("id") if several > 1 and one.get("id") else cut["id"],
        "audio": file,
        "speaker": one.get("speaker"),
        "text": one.get("text"),
        "start": round(start + max(float(one.get("start") or 0.0), 0.0), 6),
        "duration": one.get("duration") or cut.get("duration"),
        **{key: value for key, value in plain.items() if key not in _NOT_ATTRIBUTES},
    }


def _file(cut: dict[str, Any]) -> str | None:
    sources = (cut.get("recording") or {}).get("sources") or []
    if len(sources) != 1 or sources[0].get("type") != "file":
        return None
    return str(sources[0]["source"])


READER = Reader(
    name="lhotse",
    description="a lhotse cut set, JSON lines or .jsonl.gz: a row per supervision",
    example="cuts.jsonl.gz",
    detect=detect,
    rows=rows,
)
