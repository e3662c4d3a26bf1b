"""FLEURS: a folder per language with `train.tsv`, `dev.tsv`, `test.tsv` without header, and the audio by split."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.languages import language_code
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

SPLITS = ("train", "dev", "test")
FIELDS = 7  # sentence id, file, text as written, text, letters, samples, gender
RATE = 16000


def _read(_: Path, lists: list[Path]) -> Rows:
    """Read all splits of a language, or one list. FLEURS does not say who speaks: there is no speaker."""
    misfits = Misfits()
    records = (record for file in lists for record in _records(file, misfits))
    rows = rows_of(records, lists[0].parent, harmonize={"gender": "gender"})
    return rows.noting(misfits.problem("bad_line", f"[line does|lines do] not have {FIELDS} fields"))


def _lists(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for split in SPLITS if (file := path / f"{split}.tsv").is_file()]
    return [path] if path.suffix == ".tsv" and path.is_file() else []


def _is_list(file: Path) -> bool:
    with file.open("rb") as lines:
        parts = lines.readline(1 << 16).decode("utf-8", "replace").rstrip("\r\n").split("\t")
    return len(parts) == FIELDS and parts[1].endswith(".wav") and parts[5].isdigit()


def _records(file: Path, misfits: Misfits) -> Iterator[dict[str, object]]:
    place = f"audio/{file.stem}" if (file.parent / "audio").is_dir() else file.stem
    language = language_code(file.absolute().parent.name)
    for number, line in enumerate(read_lines(file), start=1):
        parts = line.split("\t")
        if len(parts) != FIELDS or not parts[5].isdigit():
            misfits.add(f"{file.name}:{number}", line[:40])
            continue
        sentence, name, written, text, _, samples, gender = parts
        yield {
            "id": f"{file.stem}/{name.removesuffix('.wav')}",
            "audio": f"{place}/{name}",
            "text": text,
            "duration": int(samples) / RATE,
            "split": file.stem,
            "sentence": sentence,
            "raw_transcription": written,
            "language": language,
            "gender": gender,
            LINE: number,
            FILE: file.name,
        }


READER = Reader.where(
    _lists,
    _read,
    name="fleurs",
    description="a FLEURS language: train.tsv, dev.tsv, test.tsv without header, audio/SPLIT/*.wav; no speakers",
    example="fleurs/data/en_us",
    missing="no train.tsv, dev.tsv or test.tsv in this folder; give a language's folder (en_us)",
    detect=lambda path: any(map(_is_list, _lists(path))),
)
