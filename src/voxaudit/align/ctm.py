"""Read CTM files: one word or phone a line, with its start and length, as Kaldi and NeMo write them."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from voxaudit.align.base import AlignmentError
from voxaudit.align.intervals import Interval, timings_from_intervals
from voxaudit.align.timings import Timings


def read_ctm(path: str | Path, phones: str | Path | None = None) -> dict[str, Timings]:
    """Return the timings of every recording in a CTM file (`recording channel start length word [confidence]`).

    Times are in seconds. `phones` is a second CTM with the phones; without it the syllables of a word share
    its time by the dictionary. The length of a recording is not in the file: it is taken as the last end.
    """
    words = _read(Path(path))
    parts = _read(Path(phones)) if phones is not None else {}
    return {
        name: timings_from_intervals(
            rows, parts.get(name, []), max(row.end for row in rows), f"{path}: {name}"
        )
        for name, rows in words.items()
    }


def _read(path: Path) -> dict[str, list[Interval]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AlignmentError(f"{path}: cannot read this CTM file ({error})") from error
    rows: dict[str, list[Interval]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            start, length = float(fields[2]), float(fields[3])
            text = fields[4]
        except (IndexError, ValueError):
            start = length = math.nan
            text = ""
        if not (0 <= start < math.inf and 0 <= length < math.inf):
            raise AlignmentError(
                f"{path}, line {number}: expected 'recording channel start length word', not '{line[:60]}'"
            )
        rows[fields[0]].append(Interval(start, start + length, text))
    if not rows:
        raise AlignmentError(f"{path}: no word in this CTM file")
    return {name: sorted(group, key=lambda row: (row.start, row.end)) for name, group in rows.items()}
