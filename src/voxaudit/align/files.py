"""Alignments that another aligner wrote, whatever the file: by name of the recording."""

from __future__ import annotations

from pathlib import Path

from voxaudit.align.base import AlignmentError
from voxaudit.align.ctm import read_ctm
from voxaudit.align.lhotse import read_lhotse
from voxaudit.align.textgrid import read_textgrid
from voxaudit.align.timings import Timings
from voxaudit.errors import one_line

ENDINGS = (".textgrid", ".ctm", ".jsonl", ".jsonl.gz")


def read_alignments(path: str | Path) -> dict[str, Timings | str]:
    """Return timings by name from a TextGrid or a folder of them (the name is the file's), a CTM or a lhotse file.

    The Montreal Forced Aligner writes a folder of TextGrids, with one folder a speaker. A TextGrid among several that
    cannot be read costs itself: its value is one line that says why.
    """
    path = Path(path)
    if not path.exists():
        raise AlignmentError(f"{path}: no such file or folder")
    if path.is_dir():
        return _folder(path)
    name = path.name.lower()
    if name.endswith(".textgrid"):
        return {path.stem: read_textgrid(path)}
    if name.endswith(".ctm"):
        return dict(read_ctm(path))
    if name.endswith((".jsonl", ".jsonl.gz")):
        return dict(read_lhotse(path))
    raise AlignmentError(
        f"{path}: unknown alignment format. Give a folder of TextGrids or one of {', '.join(ENDINGS)}"
    )


def _folder(path: Path) -> dict[str, Timings | str]:
    grids = sorted(file for file in path.rglob("*") if file.suffix.lower() == ".textgrid")
    if not grids:
        raise AlignmentError(f"{path}: no TextGrid in this folder")
    found: dict[str, Timings | str] = {}
    for grid in grids:
        if grid.stem in found:
            raise AlignmentError(f"{path}: there are two files called {grid.name}; names must be unique")
        try:
            found[grid.stem] = read_textgrid(grid)
        except AlignmentError as error:
            found[grid.stem] = one_line(error)
    return found
