"""The figures as a file: sums per cell, so that more audits can be added, each with its date and machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine, machine_text
from benchmarks.pages import write_document
from benchmarks.verdicts.experiment import Experiment, Tally
from benchmarks.verdicts.world import Setting

from voxaudit import __version__

Key = tuple[str, str, str, float]
"""Experiment, world, sizes, what was planted."""
SUMS = tuple(vars(Tally()))


@dataclass
class Cell:
    """The tallies of a cell by verdict, the CPU seconds they took, and when and on what machine that was."""

    tallies: dict[str, Tally]
    seconds: float
    date: str
    machine: str

    @property
    def audits(self) -> int:
        """The number of audits that all verdicts have."""
        return min((one.audits for one in self.tallies.values()), default=0)


def key_of(experiment: Experiment, where: Setting, effect: float) -> Key:
    """Return what a cell is filed under."""
    return experiment.name, where.world, where.size, effect


@dataclass
class Results:
    """Cells by experiment, world, sizes and effect."""

    cells: dict[Key, Cell] = field(default_factory=dict)
    here: str = field(default_factory=lambda: machine_text(machine()))

    def tallies(self, experiment: Experiment, where: Setting, effect: float) -> Mapping[str, Tally]:
        """Return what is known of a cell."""
        cell = self.cells.get(key_of(experiment, where, effect))
        return {} if cell is None else cell.tallies

    def done(self, experiment: Experiment, where: Setting, effect: float) -> int:
        """Return how many audits of a cell are done, for all verdicts that the experiment has now."""
        known = self.tallies(experiment, where, effect)
        return min(known[one.id].audits if one.id in known else 0 for one in experiment.all_verdicts)

    def add(
        self,
        experiment: Experiment,
        where: Setting,
        effect: float,
        found: Mapping[str, Tally],
        seconds: float,
    ) -> None:
        """Take in further audits of a cell. A verdict that is new, or gone, begins the cell anew."""
        key = key_of(experiment, where, effect)
        old = self.cells.get(key)
        if old is not None and set(old.tallies) == set(found):
            found = {name: old.tallies[name].and_(tally) for name, tally in found.items()}
            seconds += old.seconds
        self.cells[key] = Cell(dict(found), seconds, datetime.now(UTC).date().isoformat(), self.here)

    def forget(self, experiments: Iterable[Experiment], worlds: Iterable[str], sizes: Iterable[str]) -> None:
        """Drop what is known of some experiments in some worlds and sizes."""
        names, worlds, sizes = {one.name for one in experiments}, set(worlds), set(sizes)
        self.cells = {
            key: cell
            for key, cell in self.cells.items()
            if not (key[0] in names and key[1] in worlds and key[2] in sizes)
        }

    def write(self, path: Path) -> None:
        """Write the file: a cell and verdict a line, replacing the old file at once."""
        machines = sorted({cell.machine for cell in self.cells.values()})
        rows: list[dict[str, Any]] = []
        times: list[list[Any]] = []
        for key, cell in sorted(self.cells.items()):
            times.append([*key, round(cell.seconds, 1), cell.date, machines.index(cell.machine)])
            for name, tally in cell.tallies.items():
                row = dict(zip(("experiment", "world", "sizes", "planted"), key, strict=True))
                row |= {"verdict": name, "sums": list(vars(tally).values())}
                rows.append(
                    row | {"any": round(tally.any_rate()[0], 4), "each": round(tally.each_rate()[0], 4)}
                )
        about = {
            "command": "python -m benchmarks.verdicts",
            "voxaudit": __version__,
            "machines": machines,
            "cpu_seconds": round(sum(cell.seconds for cell in self.cells.values())),
            "sums": [name.rstrip("_") for name in SUMS],
            "measured": "experiment, world, sizes, planted, CPU seconds, date, place in machines",
        }
        part = path.with_suffix(".part")
        write_document(part, about, {"cells": rows, "measured": times})
        part.replace(path)


def read_results(path: Path) -> Results:
    """Read a file of figures; none is an empty one."""
    results = Results()
    if not path.is_file():
        return results
    document = json.loads(path.read_text(encoding="utf-8"))
    machines = document["about"]["machines"]
    for experiment, world, sizes, planted, seconds, date, place in document["measured"]:
        cell = Cell({}, seconds, date, machines[place])
        results.cells[experiment, world, sizes, float(planted)] = cell
    for row in document["cells"]:
        key = (row["experiment"], row["world"], row["sizes"], float(row["planted"]))
        results.cells[key].tallies[row["verdict"]] = Tally(*row["sums"])
    return results
