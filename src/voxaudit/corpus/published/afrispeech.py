"""AfriSpeech-200: CSV files with `transcript`, `accent`, `domain`, `age_group`, beside the recordings in any folders.

The columns are those of the dataset's card (tobiolatunji/afrispeech-200), and of the authors' own tables, whose
`audio_paths` begin at a folder that is nowhere: recordings are found by their names, which are unlike any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of

_COLUMNS = {"transcript", "accent", "domain", "age_group"}
_AUDIO, _SPEAKER = ("audio_paths", "path"), ("user_ids", "speaker_id", "user_id")


def _read(path: Path, tables: list[Path]) -> Rows:
    """Read all tables: speaker, text, accent, age group, gender, country and domain."""
    root = path if path.is_dir() else path.parent
    found = audio_by_name(root)
    records = (record for table in tables for record in _records(table, root, found))
    return rows_of(records, root, harmonize={"gender": "gender", "age": "age_group"})


def _tables(path: Path) -> list[Path]:
    """Return such tables: here, or where the dataset's repository has them."""
    files = [path] if path.is_file() else [*path.glob("*.csv"), *path.glob("transcripts/*/*.csv")]
    csvs = (file for file in files if file.suffix.lower() == ".csv")
    return sorted(
        file for file in csvs if set(header := delimited_header(file)) >= _COLUMNS and _one(_AUDIO, header)
    )


def _one(names: tuple[str, ...], columns: list[str]) -> str:
    return next((name for name in names if name in columns), "")


def _records(table: Path, root: Path, found: dict[str, str]) -> Iterator[dict[str, object]]:
    read = read_delimited(table)
    audio, speaker = (_one(names, read.table.columns) for names in (_AUDIO, _SPEAKER))
    for row, number in zip(read.table.iter_rows(named=True), read.numbers, strict=True):
        path = (row[audio] or "").lstrip("/")
        rest = {
            name: value for name, value in row.items() if name not in (audio, speaker, "transcript", "audio")
        }
        yield {
            **rest,
            "id": path.rpartition(".")[0],
            "audio": found.get(PurePosixPath(path).stem, path) or None,
            "speaker": row.get(speaker),
            "text": row["transcript"],
            "split": rest.get("split") or table.stem,
            "language": "en",
            LINE: number,
            FILE: table.relative_to(root).as_posix(),
        }


READER = Reader.where(
    _tables,
    _read,
    name="afrispeech",
    description="AfriSpeech-200: CSV tables with transcript, accent, domain, age_group and the recordings beside them",
    example="afrispeech-200, or afrispeech-200/test.csv",
    missing=f"no CSV with {', '.join(sorted(_COLUMNS))} and audio_paths or path",
)
