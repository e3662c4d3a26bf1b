"""NIST's .trn as references: `words of the utterance (speaker-utterance)` a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

_LINE = re.compile(r"(?P<text>.*?)\((?P<id>[^()\s]+)\)\s*")


def detect(path: Path) -> bool:
    """Say whether this is a .trn file."""
    return path.suffix.lower() == ".trn" and path.is_file()


def rows(path: Path) -> Rows:
    """Read the lines; recordings are found by id. The speaker is what stands before the id's first - or _.

    That is sclite's own rule; where it gives one speaker for all, there is none.
    """
    if not detect(path):
        raise CorpusError(f"{path}: not a .trn file")
    misfits = Misfits()
    found = list(_lines(path, misfits))
    root, audio = beside((id for _, id, _ in found), path.absolute().parent)
    people = {id: re.split("[-_]", id, maxsplit=1)[0] for _, id, _ in found}
    several = len(set(people.values())) > 1 and set(people.values()) != set(people)
    return rows_of(
        (
            {
                "id": id,
                "audio": audio.get(id, f"{id}.wav"),
                "speaker": people[id] if several else None,
                "text": text,
                LINE: number,
            }
            for number, id, text in found
        ),
        root,
        unit="line",
    ).noting(misfits.problem("bad_line", "line is not 'words (id)'", "lines are not 'words (id)'", "line"))


def _lines(path: Path, misfits: Misfits) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(";;"):
            match = _LINE.fullmatch(line)
            if match is None:
                misfits.add(number, line[:40])
            else:
                yield number, match["id"], match["text"].strip()


READER = Reader(
    name="trn",
    description="a .trn file of references: words (speaker-utterance); recordings by id",
    example="ref.trn beside wav/",
    detect=detect,
    rows=rows,
)
