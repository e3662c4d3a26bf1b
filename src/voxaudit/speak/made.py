"""A folder that is made once: who made it, from which recipe, and whether it is whole."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.tables import write_atomically

MARKER = "corpus.json"
MANIFEST = "manifest.csv"


def is_whole(folder: Path, recipe: str) -> bool:
    """Say whether `folder` holds everything that `recipe` makes: a look at the sizes of its files, nothing more."""
    marker = _read_marker(folder)
    if marker is None or marker.get("recipe") != recipe:
        return False
    files = marker.get("files")
    if not isinstance(files, dict) or MANIFEST not in files:
        return False
    return all(_size(folder / name) == size for name, size in files.items())


def begin(folder: Path, recipe: str) -> None:
    """Take the folder for `recipe`, and clear what an earlier recipe left in it.

    A folder that holds anything but a corpus made here is refused, so nobody's own files are overwritten.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        marker = _read_marker(folder)
        if marker is None and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise VoxauditError(
                f"{folder}: holds files that voxaudit did not make. Name an empty or a new folder"
            )
        inside = folder.resolve()
        for name in (marker or {}).get("files") or ():
            old = (folder / str(name)).resolve()
            if old.is_relative_to(inside) and old.is_file():
                old.unlink()
        _write_marker(folder, {"recipe": recipe, "files": None})
    except OSError as error:
        raise _unwritable(folder, error) from error


def finish(folder: Path, recipe: str, rows: Sequence[Mapping[str, str]], notes: Mapping[str, str]) -> Path:
    """Write the manifest of `rows` and the `notes` (name to text), then mark the folder whole. Returns the manifest."""
    try:
        for name, text in notes.items():
            write_atomically(folder / name, lambda path, text=text: path.write_text(text, encoding="utf-8"))  # type: ignore[misc]
        write_atomically(folder / MANIFEST, lambda path: _write_csv(path, rows))
        names = [MANIFEST, *notes, *(row["audio"] for row in rows)]
        _write_marker(folder, {"recipe": recipe, "files": {name: _size(folder / name) for name in names}})
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder / MANIFEST


def _write_csv(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_marker(folder: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps({"made_by": "voxaudit", **content}, indent=1, sort_keys=True)
    write_atomically(folder / MARKER, lambda path: path.write_text(text + "\n", encoding="utf-8"))


def _read_marker(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("made_by") == "voxaudit" else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _unwritable(folder: Path, error: OSError) -> VoxauditError:
    return VoxauditError(
        f"{folder}: cannot write here ({one_line(error.strerror or error, 100)}). Name another folder"
    )
