"""NIST's .trn: `words of the utterance (speaker-utterance)` a line, `;;` before comments."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

_LINE = re.compile(r"(?P<text>.*?)\((?P<id>[^()\s]+)\)\s*")


def _read(path: Path, _: bool) -> Rows:
    """Read the lines; recordings are found by id. The speaker is what stands before the id's first - or _.

    That is sclite's own rule; where it gives one speaker for all, there is none.
    """
    found, problems = _lines(path)
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
    ).noting(problems)


def read_trn(path: Path) -> pl.DataFrame:
    """Return the columns id and text of a file; an utterance without words has an empty text.

    A line that does not fit, or a file without any, raises one line: what is left out would not be missed.
    """
    found, problems = _lines(path)
    if problems:
        raise CorpusError(f"{path}: {problems[0].message}; fix the file", problems)
    if not found:
        raise CorpusError(f"{path}: the file is empty")
    return pl.DataFrame([(id, text) for _, id, text in found], schema=["id", "text"], orient="row")


def _lines(path: Path) -> tuple[list[tuple[int, str, str]], tuple[Problem, ...]]:
    """Return (number, id, text) of the lines, and what is wrong with the others."""
    found: list[tuple[int, str, str]] = []
    misfits = Misfits()
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            misfits.add(number, line[:40])
        else:
            found.append((number, match["id"], match["text"].strip()))
    return found, misfits.problem("bad_line", "[line is|lines are] not 'words (id)'")


READER = Reader.where(
    lambda path: path.suffix.lower() == ".trn" and path.is_file(),
    _read,
    name="trn",
    description="a .trn file of references: words (speaker-utterance); recordings by id",
    example="ref.trn beside wav/",
    missing="not a .trn file",
)
