"""A run of the benchmarks as data: benchmarks/results/benchmarks.json, read, checked and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Size, Spread
from benchmarks.pages import write_document

RESULTS = Path(__file__).parent / "results" / "benchmarks.json"
FACTS = {
    "command": str,
    "date": str,
    "voxaudit": str,
    "machine": dict,
    "versions": dict,
    "load_start": float,
    "load_end": float,
    "noise": dict,
}
"""What is said of the whole run, and as what."""


@dataclass(frozen=True)
class Done:
    """One benchmark: when, how large, how long, how busy the machine was, what came out."""

    name: str
    date: str
    size: Size
    seconds: float
    cpu: float
    """Seconds of processor, of all processes."""
    load: float
    """Load average of the minute before it began."""
    unsteady: float
    """How far a fixed piece of work just before and after spread in CPU time: see `machine.noise`."""
    rows: tuple[Row, ...] = ()
    failed: str = ""
    """One line, if it did not finish."""


@dataclass
class Record:
    """The latest of each benchmark on one machine."""

    about: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Done] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the file: a benchmark a line, then a row a line."""
        heads = [{k: v for k, v in asdict(one).items() if k != "rows"} for one in self.done.values()]
        rows = [{"benchmark": one.name, **row_data(row)} for one in self.done.values() for row in one.rows]
        write_document(path, self.about, {"benchmarks": heads, "rows": rows})


def row_data(row: Row) -> dict[str, Any]:
    """Return a row as plain data, four digits of every figure."""
    data = asdict(row)
    for name in ("ours", "theirs", "ratio"):
        if data[name] is not None:
            data[name] = {k: v if k == "times" else float(f"{v:.4g}") for k, v in data[name].items()}
    return data


def row_from(data: Mapping[str, Any]) -> Row:
    """Return the row that `row_data` was made of."""
    fields = {**data}
    for name in ("ours", "theirs", "ratio"):
        if fields[name] is not None:
            fields[name] = Spread(**fields[name])
    return Row(**fields)


def read_record(path: Path) -> Record:
    """Read a file of results; none is an empty record. One that is not of this form is refused in one line."""
    if not path.is_file():
        return Record()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows: dict[str, list[Row]] = {}
        for data in document["rows"]:
            fields = dict(data)
            rows.setdefault(fields.pop("benchmark"), []).append(row_from(fields))
        done = {
            head["name"]: Done(**head, rows=tuple(rows.get(head["name"], ())))
            for head in document["benchmarks"]
        }
        record = Record(document["about"], done)
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"{path.name}: not a file of benchmark results ({error!r})") from error
    if problems := check(record):
        raise SystemExit(f"{path.name}: {problems[0]}")
    return record


def check(record: Record) -> list[str]:
    """Return what is wrong with a record, a line each."""
    found = [f"about.{name}: missing" for name in FACTS if name not in record.about]
    found += [
        f"about.{name}: {record.about[name]!r} is no {kind.__name__}"
        for name, kind in FACTS.items()
        if name in record.about and not isinstance(record.about[name], kind)
    ]
    for one in record.done.values():
        if not one.rows and not one.failed:
            found.append(f"{one.name}: no rows")
        for row in one.rows:
            if row.skipped:
                continue
            if row.ours is None:
                found.append(f"{one.name}: {row.what}: no figure")
            if (row.kind == "none") != (row.theirs is None) or (row.theirs is None) != (row.ratio is None):
                found.append(f"{one.name}: {row.what}: a peer without figures, or figures without a peer")
            for spread in (row.ours, row.theirs, row.ratio):
                if spread is not None and not spread.low <= spread.median <= spread.high:
                    found.append(f"{one.name}: {row.what}: the median lies outside the range")
    return found
