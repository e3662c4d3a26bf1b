"""Read the alignments in lhotse's supervisions: one JSON object a line, plain or gzipped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from voxaudit.align.base import AlignmentError
from voxaudit.align.intervals import Interval, timings_from_intervals
from voxaudit.align.timings import Timings
from voxaudit.errors import one_line


def read_lhotse(path: str | Path) -> dict[str, Timings]:
    """Return the timings of every supervision with an alignment, by its id.

    Reads a supervisions file or a cuts file (JSONL). Alignments are lists `[symbol, start, duration, ...]` or
    objects, under `word` and, where there is one, `phone`. lhotse counts their times from the start of the
    recording (in cuts: of the cut); the timings returned count from the start of the supervision, that is of
    what is heard.
    """
    path = Path(path)
    timings: dict[str, Timings] = {}
    for number, item in _lines(path):
        for supervision in item.get("supervisions", [item]):
            where = f"{path}, line {number}"
            try:
                name, start = str(supervision["id"]), float(supervision["start"])
                duration = float(supervision["duration"])
                alignment = supervision.get("alignment") or {}
                tiers = {tier: [_interval(row, start) for row in rows] for tier, rows in alignment.items()}
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                raise AlignmentError(
                    f"{where}: this is no lhotse supervision ({one_line(error, 60)})"
                ) from error
            if "word" in tiers:
                phones = tiers.get("phone", [])
                timings[name] = timings_from_intervals(tiers["word"], phones, duration, f"{where}: {name}")
    if not timings:
        raise AlignmentError(f"{path}: no supervision here has a 'word' alignment")
    return timings


def _interval(row: Any, origin: float) -> Interval:
    if isinstance(row, Mapping):
        symbol, start, length = row["symbol"], row["start"], row["duration"]
    else:
        symbol, start, length = row[0], row[1], row[2]
    first = float(start) - origin
    # Rounding may put an edge a hair outside the supervision.
    return Interval(max(round(first, 6), 0.0), max(round(first + float(length), 6), 0.0), str(symbol))


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    item = json.loads(line)
                except ValueError as error:
                    raise AlignmentError(
                        f"{path}, line {number}: this is no JSON ({one_line(error, 60)})"
                    ) from error
                if not isinstance(item, dict):
                    raise AlignmentError(
                        f"{path}, line {number}: expected an object, not {type(item).__name__}"
                    )
                yield number, item
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise AlignmentError(f"{path}: cannot read this file ({one_line(error, 100)})") from error
