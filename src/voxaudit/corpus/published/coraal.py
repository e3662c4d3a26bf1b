"""CORAAL: `*_metadata_*.txt`, tab-separated transcripts (Line, Spkr, StTime, Content, EnTime) and long interviews."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.base import Problem
from voxaudit.corpus.delimited import read_delimited
from voxaudit.corpus.folder import glimpse
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of

COLUMNS = {
    "Gender": "gender",
    "Age": "age",
    "Age.Group": "age_group",
    "CORAAL.SEC.Group": "socioeconomic_group",
    "Edu.Group": "education_group",
    "Year.of.Birth": "year_of_birth",
    "Year.of.Interview": "year_of_interview",
    "CORAAL.Sub": "component",
}
"""The columns of the metadata that become attributes, and their names."""

_FIELDS = {"Line", "Spkr", "StTime", "Content", "EnTime"}
_LOST = re.compile(r"/(?:RD-[^/]*|unintelligible|inaudible|\?[^/]*|[^/]*\?)/", re.IGNORECASE)
_MARKS = re.compile(r"\([^)]{0,500}\)|<[^>]{0,500}>")
_BRACKETS = str.maketrans("", "", "[]/")


def _read(path: Path, files: list[Path]) -> Rows:
    """Read the lines of all transcripts as segments.

    Pauses (pause 0.5), <sounds> and (remarks) are taken out; overlapped [words] and uncertain /words/ stay. Lines with
    words that were redacted or not understood are left out: what was said there is not known.
    """
    people: dict[object, dict[str, str]] = {}
    for file in _metadata(path):
        for row in read_delimited(file, "\t", quoted=False).table.iter_rows(named=True):
            found = {ours: row[theirs] for theirs, ours in COLUMNS.items() if theirs in row}
            people.setdefault(row.get("CORAAL.Spkr"), found)
    unknown: list[str] = []
    records = _records(files, path, people, unknown)
    rows = rows_of(records, path, harmonize={"gender": "gender", "age": "age"})
    first = ", ".join(unknown[:3])
    message = f"{len(unknown):,} lines left out: words were redacted or not understood (first: {first})"
    return rows.noting((Problem("unclear_text", message, False, len(unknown)),) if unknown else ())


def _metadata(path: Path) -> list[Path]:
    return sorted(path / name for name in glimpse(path) if "_metadata_" in name and name.endswith(".txt"))


def _transcripts(path: Path) -> Iterator[Path]:
    for name in glimpse(path):
        if name.endswith(".txt") and (path / name).is_file():
            with (path / name).open("rb") as lines:
                if set(lines.readline(4096).decode("utf-8-sig", "replace").strip().split("\t")) >= _FIELDS:
                    yield path / name


def _records(
    files: list[Path], root: Path, people: dict[object, dict[str, str]], unknown: list[str]
) -> Iterator[dict[str, object]]:
    audio = audio_by_name(root)
    for file in files:
        place = file.relative_to(root).as_posix()
        read = read_delimited(file, "\t", quoted=False)
        for number, row in zip(read.numbers, read.table.iter_rows(named=True), strict=True):
            if _LOST.search(row["Content"]):
                unknown.append(f"{place}:{number}")
                continue
            text = " ".join(_MARKS.sub(" ", row["Content"]).translate(_BRACKETS).split())
            if text:
                yield {
                    "id": f"{file.stem}-{row['Line']}",
                    "audio": audio.get(file.stem, f"{file.stem}.wav"),
                    "speaker": row["Spkr"],
                    "text": text,
                    "start": row["StTime"],
                    "end": row["EnTime"],
                    "role": "interviewee" if file.stem.startswith(row["Spkr"]) else "interviewer",
                    **people.get(row["Spkr"], {}),
                    LINE: number,
                    FILE: place,
                }


READER = Reader.where(
    lambda path: sorted(_transcripts(path)),
    _read,
    name="coraal",
    description="CORAAL components: DCB_metadata_*.txt, transcripts (Line, Spkr, StTime, Content, EnTime), WAV",
    example="CORAAL/DCB",
    missing="no transcripts with Line, Spkr, StTime, Content, EnTime below this folder",
    detect=lambda path: bool(_metadata(path)) and next(_transcripts(path), None) is not None,
)
