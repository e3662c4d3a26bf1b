"""TED-LIUM: `split/stm/*.stm` beside `split/sph/*.sph`, in release 3 under `legacy/`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.nist import bad_lines, segments
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits

_PATTERNS = ("stm/*.stm", "*/stm/*.stm", "legacy/*/stm/*.stm")
_MARKS = re.compile(r"\{[^}]{0,500}\}|<[^>]{0,500}>|\(\d{1,9}\)")
_APART = re.compile(r"(?<=\w) '(?=\w)")


def _detect(path: Path) -> bool:
    """Say whether there are `stm/` and `sph/` side by side, here or in the splits."""
    first = (
        next((file for pattern in _PATTERNS for file in path.glob(pattern)), None) if path.is_dir() else None
    )
    return first is not None and (first.parent.parent / "sph").is_dir()


def _files(path: Path) -> list[Path]:
    return sorted({file for pattern in _PATTERNS for file in path.glob(pattern)}) if path.is_dir() else []


def _read(path: Path, files: list[Path]) -> Rows:
    """Read all splits below a folder: segments of talks, with `gender` where the labels say it.

    Marks of noise, unknown words and pronunciations ({NOISE}, <unk>, (2)) are taken out of the texts, and what was
    set apart is joined again (it 's).
    """
    misfits = Misfits()
    return rows_of(_records(files, path, misfits), path, harmonize={"gender": "gender"}).noting(
        bad_lines(misfits)
    )


def _records(files: list[Path], root: Path, misfits: Misfits) -> Iterator[dict[str, object]]:
    audio: dict[Path, dict[str, str]] = {}
    for file in files:
        split = file.parent.parent
        if split not in audio:
            place = (split / "sph").relative_to(root).as_posix()
            found = audio_by_name(split / "sph") if (split / "sph").is_dir() else {}
            audio[split] = {name: f"{place}/{path}" for name, path in found.items()}
        for record in segments(file, audio[split], misfits):
            labels = str(record.pop("labels") or "").split(",")
            text = _APART.sub("'", _MARKS.sub(" ", str(record["text"] or "")))
            talk = record.pop("recording")
            gender = labels[2] if len(labels) > 2 else None
            yield record | {
                "text": " ".join(text.split()),
                "talk": talk,
                "split": split.absolute().name,
                "gender": gender,
            }


READER = Reader.where(
    _files,
    _read,
    name="tedlium",
    description="TED-LIUM 1 to 3, or one split: stm/*.stm with sph/*.sph",
    example="TEDLIUM_release-3, or TEDLIUM_release-3/legacy/test",
    missing="no stm/*.stm here or in its splits; give TED-LIUM's folder or one of a split",
    detect=_detect,
)
