"""VoxPopuli, transcribed part: `asr_train.tsv`, `asr_dev.tsv`, `asr_test.tsv` beside `YEAR/ID.ogg`.

The layout is that of `get_asr_data.py` in github.com/facebookresearch/voxpopuli: `transcribed_data/LANGUAGE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.languages import language_code
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of

_COLUMNS = {"id", "normalized_text", "speaker_id", "split"}


def _read(_: Path, lists: list[Path]) -> Rows:
    """Read all splits of a language: the normalized text, speaker and gender."""
    records = (record for file in lists for record in _records(file))
    return rows_of(records, lists[0].parent, harmonize={"gender": "gender"})


def _lists(path: Path) -> list[Path]:
    return sorted(path.glob("asr_*.tsv")) if path.is_dir() else []


def _records(file: Path) -> Iterator[dict[str, object]]:
    read = read_delimited(file, "\t", quoted=False)
    language = language_code(file.absolute().parent.name)
    for row, number in zip(read.table.iter_rows(named=True), read.numbers, strict=True):
        id, speaker, gender = row["id"] or "", row["speaker_id"], row.get("gender")
        yield {
            "id": id,
            "audio": f"{id[:4]}/{id}.ogg",
            "speaker": None if speaker in ("None", "N/A") else speaker,
            "text": row["normalized_text"] or row.get("raw_text"),
            "raw_text": row.get("raw_text"),
            "split": row["split"],
            "gender": None if gender in ("None", "N/A") else gender,
            "accent": row.get("accent"),
            "language": language,
            LINE: number,
            FILE: file.name,
        }


READER = Reader.where(
    _lists,
    _read,
    name="voxpopuli",
    description="VoxPopuli, a language's transcribed_data: asr_SPLIT.tsv with YEAR/ID.ogg",
    example="voxpopuli/transcribed_data/en",
    missing="no asr_train.tsv, asr_dev.tsv or asr_test.tsv; give transcribed_data/LANGUAGE",
    detect=lambda path: any(set(delimited_header(file)) >= _COLUMNS for file in _lists(path)),
)
