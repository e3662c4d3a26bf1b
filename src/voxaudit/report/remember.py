"""What a report was asked, kept in `run.json`, so that it can be built again without the audit's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from voxaudit.config import Gates, read_gates
from voxaudit.run.folder import Run, read_config, write_config

KEY = "report"


def remember(run: Run, attributes: Sequence[str], gates: Gates) -> Run:
    """Write the groups to compare and the gates into `run.json`; return the run as it then is."""
    config = read_config(run.folder)
    write_config(run.folder, {**config, KEY: {"attributes": list(attributes), "gates": gates.to_dict()}})
    return Run(run.folder)


def remembered(run: Run) -> tuple[tuple[str, ...], Gates]:
    """Return the groups and gates that `remember` wrote; none for a run that was not made by `voxaudit run`."""
    about: dict[str, Any] = run.config.get(KEY, {})
    gates = read_gates(about.get("gates", {}), run.folder / "run.json", list(run.config["recognizers"]))
    return tuple(about.get("attributes", ())), gates
