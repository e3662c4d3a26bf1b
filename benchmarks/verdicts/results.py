"""The figures as a file: sums a cell, so that more audits can be added, with the date and the machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.pages import write_document
from benchmarks.verdicts.experiment import Experiment, Tally

from voxaudit import __version__

Key = tuple[str, str, float]
"""Experiment, setting, what was planted."""


@dataclass
class Results:
    """Tallies by experiment, setting, effect and verdict, and the CPU seconds they took."""

    cells: dict[Key, dict[str, Tally]] = field(default_factory=dict)
    seconds: dict[Key, float] = field(default_factory=dict)

    def tallies(self, experiment: Experiment, setting: str, effect: float) -> Mapping[str, Tally]:
        """Return what is known of a cell."""
        return self.cells.get((experiment.name, setting, effect), {})

    def keep(
        self, experiment: Experiment, setting: str, effect: float, found: Mapping[str, Tally], seconds: float
    ) -> None:
        """Take in the tallies of a cell."""
        key = (experiment.name, setting, effect)
        self.cells[key] = dict(found)
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds

    def forget(self, experiments: Iterable[Experiment]) -> None:
        """Drop what is known of some experiments."""
        names = {one.name for one in experiments}
        self.cells = {key: cell for key, cell in self.cells.items() if key[0] not in names}
        self.seconds = {key: value for key, value in self.seconds.items() if key[0] not in names}

    def write(self, path: Path) -> None:
        """Write the file: a cell and verdict a line."""
        rows = []
        for key, cell in sorted(self.cells.items()):
            for name, tally in cell.items():
                row: dict[str, Any] = dict(zip(("experiment", "setting", "planted"), key, strict=True))
                row |= {"verdict": name, **{k.rstrip("_"): v for k, v in vars(tally).items()}}
                low, high = (round(end, 4) for end in tally.any_rate()[1:])
                row |= {"any_rate": round(tally.any_rate()[0], 4), "any_low": low, "any_high": high}
                low, high = (round(end, 4) for end in tally.each_rate()[1:])
                row |= {"each_rate": round(tally.each_rate()[0], 4), "each_low": low, "each_high": high}
                rows.append(row)
        times = [[*key, round(value, 1)] for key, value in sorted(self.seconds.items())]
        about = {
            "command": "python -m benchmarks.verdicts",
            "date": datetime.now(UTC).date().isoformat(),
            "voxaudit": __version__,
            "machine": machine(),
            "cpu_seconds": round(sum(self.seconds.values())),
        }
        write_document(path, about, {"cells": rows, "cpu_seconds": times})


def read_results(path: Path) -> Results:
    """Read a file of figures; none is an empty one."""
    results = Results()
    if not path.is_file():
        return results
    document = json.loads(path.read_text(encoding="utf-8"))
    for row in document["cells"]:
        key = (row["experiment"], row["setting"], float(row["planted"]))
        sums = {name: row[name.rstrip("_")] for name in vars(Tally())}
        results.cells.setdefault(key, {})[row["verdict"]] = Tally(**sums)
    for experiment, setting, planted, seconds in document["cpu_seconds"]:
        results.seconds[experiment, setting, float(planted)] = seconds
    return results
