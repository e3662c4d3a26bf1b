"""NIST's segment time marks (.stm): `recording channel speaker start end <labels> words` a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from voxaudit.corpus.base import Problem
from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

IGNORED = "ignore_time_segment_in_scoring"
_LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+([\d.]+)\s+([\d.]+)(?:\s+<([^>]*)>)?(?:\s+(.*))?")


def _read(path: Path, _: bool) -> Rows:
    """Read the segments; recordings are found by name in the file's folder or beside it."""
    names = {line.split(maxsplit=1)[0] for line in read_lines(path) if line.strip()}
    root, audio = beside(names, path.absolute().parent)
    misfits = Misfits()
    return rows_of(segments(path, audio, misfits), root, unit="line").noting(bad_lines(misfits))


def segments(file: Path, audio: Mapping[str, str], misfits: Misfits) -> Iterator[dict[str, object]]:
    """Yield the segments of one file; `;;` comments and parts not to be scored are left out."""
    for number, line in enumerate(read_lines(file), start=1):
        found = _LINE.fullmatch(line.strip())
        if not line.strip() or line.startswith(";;"):
            continue
        if found is None:
            misfits.add(f"{file.name}:{number}", line[:40])
            continue
        name, channel, speaker, start, end, labels, text = found.groups()
        if speaker == "inter_segment_gap" or (text or "").strip().lower() == IGNORED:
            continue
        yield {
            "id": f"{name}-{channel}-{start}-{end}",
            "audio": audio.get(name, f"{name}.wav"),
            "speaker": speaker,
            "text": text,
            "start": start,
            "end": end,
            "labels": labels,
            "recording": name,
            LINE: number,
            FILE: file.name,
        }


def bad_lines(misfits: Misfits) -> tuple[Problem, ...]:
    """Return the problem of all lines that are no segments, or nothing."""
    what = "'recording channel speaker start end words'"
    return misfits.problem("bad_line", f"[line is|lines are] not {what}")


READER = Reader.where(
    lambda path: path.suffix.lower() == ".stm" and path.is_file(),
    _read,
    name="stm",
    description="an .stm file of references; recordings by name in its folder or beside it",
    example="eval.stm beside wav/",
    missing="not an .stm file",
)
