"""VCTK: speaker-info.txt, `txt/p225/p225_001.txt` and `wav48_silence_trimmed/p225/p225_001_mic1.flac`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines

FOLDERS = ("wav48_silence_trimmed", "wav48")
_NAME = re.compile(r"([ps]\d+)_(\d+)(?:_(mic[12]))?\.(?:flac|wav)")
_REMARK = re.compile(r"\([^)]{0,500}\)")


def _folder(path: Path) -> Path | None:
    return next((path / name for name in FOLDERS if (path / name).is_dir()), None)


def _read(path: Path, folder: Path) -> Rows:
    """Read every utterance once: the first microphone's recording, the second's where there is no other."""
    harmonize = {"gender": "gender", "age": "age", "accent": "accent"}
    return rows_of(_records(path, folder), path, harmonize=harmonize)


def _records(root: Path, folder: Path) -> Iterator[dict[str, object]]:
    info = root / "speaker-info.txt"
    speakers = dict(_speaker(line) for line in read_lines(info)[1:] if line.strip()) if info.is_file() else {}
    done = set()
    for file in sorted(folder.glob("*/*")):  # mic1 stands before mic2
        found = _NAME.fullmatch(file.name)
        if found is None or (id := f"{found[1]}_{found[2]}") in done:
            continue
        done.add(id)
        text = root / "txt" / found[1] / f"{id}.txt"
        yield {
            "id": id,
            "audio": file.relative_to(root).as_posix(),
            "speaker": found[1],
            "text": " ".join(read_lines(text)).strip() if text.is_file() else None,
            "microphone": found[3],
            **speakers.get(found[1], {}),
        }


def _speaker(line: str) -> tuple[str, dict[str, str | None]]:
    """Return a speaker of "p225 23 F English Southern England (remark)"; older releases leave the p out."""
    name, *rest = _REMARK.sub("", line).split(maxsplit=4)
    values = [*(" ".join(value.split()) for value in rest), None, None, None, None][:4]
    return name if name[0].isalpha() else f"p{name}", dict(
        zip(("age", "gender", "accent", "region"), values, strict=True)
    )


READER = Reader.where(
    _folder,
    _read,
    name="vctk",
    description="VCTK (0.92 or earlier): speaker-info.txt, txt/, wav48_silence_trimmed/ with mic1 (else mic2)",
    example="VCTK-Corpus-0.92",
    missing="no wav48_silence_trimmed (or wav48) in this folder; give VCTK's folder",
    detect=lambda path: (path / "speaker-info.txt").is_file() and _folder(path) is not None,
)
