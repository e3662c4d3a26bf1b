"""EdAcc: `edacc_v1.0` with `data/*.wav`, `dev/` and `test/` (segments, text, utt2spk), and linguistic_background.csv.

The layout is that of the release at datashare.ed.ac.uk/handle/10283/4836.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.delimited import read_delimited
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_keyed, read_mapping

_QUESTIONS = {
    "gender": "what is your gender",
    "ethnicity": "ethnic background",
    "education": "level of education",
    "accent": "describe your accent",
    "other_languages": "second languages",
    "birth_year": "year of birth",
    "english_since": "start learning english",
}
"""What part of a question in the speakers' table tells which attribute it is."""
_MARKS = re.compile(r"<[^>]{0,100}>")
_IGNORED = "IGNORE_TIME_SEGMENT_IN_SCORING"


def _read(_: Path, home: Path) -> Rows:
    """Read both splits: segments of conversations, with what speakers say of themselves.

    Marks of noises and overlap (<laugh>) are taken out; segments that are not to be scored are left out.
    """
    without: list[str] = []
    speakers = _speakers(home / "linguistic_background.csv")
    records = (record for split in ("dev", "test") for record in _records(home, split, speakers, without))
    found = rows_of(list(records), home, harmonize={"gender": "gender", "accent": "accent"})
    return found.leaving_out(without, "marked as not to be scored, or without words")


def _home(path: Path) -> Path | None:
    """Return the folder with the speakers' table and a split beside it."""
    for home in (path, path / "edacc_v1.0"):
        splits = any((home / split / "segments").is_file() for split in ("dev", "test"))
        if splits and (home / "linguistic_background.csv").is_file():
            return home
    return None


def _speakers(file: Path) -> dict[str, dict[str, str | None]]:
    table = read_delimited(file).table
    columns = {
        name: column
        for name, part in _QUESTIONS.items()
        for column in table.columns
        if part in " ".join(column.lower().split())
    }
    return {
        row["PARTICIPANT_ID"]: {name: row[column] for name, column in columns.items()}
        for row in table.iter_rows(named=True)
        if row.get("PARTICIPANT_ID")
    }


def _records(
    home: Path, split: str, speakers: dict[str, dict[str, str | None]], without: list[str]
) -> Iterator[dict[str, object]]:
    folder = home / split
    if not (folder / "segments").is_file():
        return
    texts, who = (read_mapping(folder / name) for name in ("text", "utt2spk"))
    for id, place, number in read_keyed(folder / "segments").select("key", "value", "number").rows():
        recording, start, end = [*(place or "").split(), None, None, None][:3]
        text = " ".join(_MARKS.sub(" ", texts.get(id) or "").split())
        if not text or _IGNORED in text:
            without.append(id)
            continue
        yield {
            "id": id,
            "audio": f"data/{recording}.wav",
            "speaker": who.get(id),
            "text": text,
            "start": start,
            "end": end,
            "split": split,
            "conversation": recording,
            "language": "en",
            **speakers.get(who.get(id) or "", {}),
            LINE: number,
            FILE: f"{split}/segments",
        }


READER = Reader.where(
    _home,
    _read,
    name="edacc",
    description="EdAcc 1.0: data/, dev/ and test/ with segments, and linguistic_background.csv about the speakers",
    example="edacc_v1.0",
    missing="no linguistic_background.csv with dev/segments or test/segments; give edacc_v1.0",
)
