"""Difficulties of scenarios as the audit uses them: positive, and of scenarios that have one."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path

import polars as pl

from voxaudit.audits.robustness.result import Refusal
from voxaudit.audits.robustness.settings import Setting
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.tables import require_columns


def check_difficulty(
    table: pl.DataFrame, settings: Mapping[str, Setting], where: str | Path
) -> tuple[dict[str, float], list[Refusal]]:
    """Return {scenario: difficulty} of the scenarios that are normalised, and why others are not.

    Attacks are never normalised. A difficulty of 0 or less divides nothing: that scenario is left out.
    """
    require_columns(table, ["scenario", "difficulty"], where)
    if not table["difficulty"].dtype.is_numeric():
        raise VoxauditError(
            f"{where}: column 'difficulty' must hold numbers, not {table['difficulty'].dtype}"
        )
    names = table["scenario"].cast(pl.String)
    if names.is_duplicated().any():
        twice = names.filter(names.is_duplicated())[0]
        raise VoxauditError(f"{where}: scenario '{one_line(str(twice), 80)}' has several rows; keep one")
    given = dict(zip(names.to_list(), table["difficulty"].cast(pl.Float64).to_list(), strict=True))
    wanted = [s for s, setting in settings.items() if setting.speech and not setting.attack]
    known = {s: float(v) for s in wanted if (v := given.get(s)) is not None and 0 < v < inf}
    refusals = []
    low = [s for s in wanted if s in given and s not in known and given[s] is not None and given[s] <= 0]
    if low:
        refusals.append(Refusal(f"NWERD of {listed(low)}", "a difficulty of 0 or less divides nothing"))
    without = [s for s in wanted if s not in known and s not in low and s != CLEAN]
    if without:
        refusals.append(Refusal(f"NWERD of {listed(without)}", "no difficulty is known"))
    return known, refusals


def listed(names: list[str], most: int = 4) -> str:
    """Return the first of some names and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
