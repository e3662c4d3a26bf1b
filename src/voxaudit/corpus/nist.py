"""NIST's files of references, as sclite reads them: segments (.stm), words with times (.ctm) and plain texts (.trn).

Recordings are found by name in a file's folder or beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

IGNORED = "ignore_time_segment_in_scoring"
_SEGMENT = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+([\d.]+)\s+([\d.]+)(?:\s+<([^>]*)>)?(?:\s+(.*))?")
_TEXT = re.compile(r"(?P<text>.*?)\((?P<id>[^()\s]+)\)\s*")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; `;;` comments and blank ones are left out."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(";;"):
            yield number, line


# .stm: `recording channel speaker start end <labels> words` a line


def _stm(path: Path, _: bool) -> Rows:
    names = {line.split(maxsplit=1)[0] for line in read_lines(path) if line.strip()}
    root, audio = beside(names, path.absolute().parent)
    misfits = Misfits()
    return rows_of(segments(path, audio, misfits), root, unit="line").noting(bad_lines(misfits))


def segments(file: Path, audio: Mapping[str, str], misfits: Misfits) -> Iterator[dict[str, object]]:
    """Yield the segments of one .stm file; parts not to be scored are left out."""
    for number, line in _lines(file):
        found = _SEGMENT.fullmatch(line.strip())
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


# .ctm: `recording channel start duration word` a line


def _ctm(path: Path, _: bool) -> Rows:
    """Read the words of each recording in order of their starts: one utterance per recording."""
    misfits = Misfits()
    words: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for number, line in _lines(path):
        try:
            name, channel, start, _duration, word = line.split()[:5]
            words.setdefault((name, channel), []).append((float(start), word))
        except ValueError:
            misfits.add(number, line[:40])
    root, audio = beside({name for name, _ in words}, path.absolute().parent)
    one_channel = len({name for name, _ in words}) == len(words)
    return rows_of(
        (
            {
                "id": name if one_channel else f"{name}-{channel}",
                "audio": audio.get(name, f"{name}.wav"),
                "text": " ".join(word for _, word in sorted(said, key=lambda pair: pair[0])),
            }
            for (name, channel), said in words.items()
        ),
        root,
    ).noting(misfits.problem("bad_line", "[line is|lines are] not 'recording channel start duration word'"))


# .trn: `words of the utterance (speaker-utterance)` a line


def _trn(path: Path, _: bool) -> Rows:
    """Read the lines. The speaker is what stands before the id's first - or _.

    That is sclite's own rule; where it gives one speaker for all, there is none.
    """
    found, problems = _texts(path)
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
    """Return the columns id and text of a .trn file; an utterance without words has an empty text.

    A line that does not fit, or a file without any, raises one line: what is left out would not be missed.
    """
    found, problems = _texts(path)
    if problems:
        raise CorpusError(f"{path}: {problems[0].message}; fix the file", problems)
    if not found:
        raise CorpusError(f"{path}: the file is empty")
    return pl.DataFrame([(id, text) for _, id, text in found], schema=["id", "text"], orient="row")


def _texts(path: Path) -> tuple[list[tuple[int, str, str]], tuple[Problem, ...]]:
    """Return (number, id, text) of the lines, and what is wrong with the others."""
    found: list[tuple[int, str, str]] = []
    misfits = Misfits()
    for number, line in _lines(path):
        match = _TEXT.fullmatch(line)
        if match is None:
            misfits.add(number, line[:40])
        else:
            found.append((number, match["id"], match["text"].strip()))
    return found, misfits.problem("bad_line", "[line is|lines are] not 'words (id)'")


STM = Reader.where(
    lambda path: path.suffix.lower() == ".stm" and path.is_file(),
    _stm,
    name="stm",
    description="an .stm file of references; recordings by name in its folder or beside it",
    example="eval.stm beside wav/",
    missing="not an .stm file",
)
CTM = Reader.where(
    lambda path: path.suffix.lower() == ".ctm" and path.is_file(),
    _ctm,
    name="ctm",
    description="a .ctm file of reference words with times: one utterance per recording",
    example="reference.ctm beside wav/",
    missing="not a .ctm file",
)
TRN = Reader.where(
    lambda path: path.suffix.lower() == ".trn" and path.is_file(),
    _trn,
    name="trn",
    description="a .trn file of references: words (speaker-utterance); recordings by id",
    example="ref.trn beside wav/",
    missing="not a .trn file",
)
