"""Algorithm 1 of Rajan et al.: who degrades by more than tau beyond whom, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.differential.sums import FloatArray, IntArray
from voxaudit.perturb.scenario_id import ScenarioId, show_setting

Counts = dict[str, int]


@dataclass(frozen=True)
class Grid:
    """Degradations D(g): axes group, pair, scenario; nan where there is none."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    degradations: FloatArray

    def gaps(self) -> FloatArray:
        """Return D(g) - D(h): axes g, h, pair, scenario."""
        return self.degradations[:, None] - self.degradations[None, :]


@dataclass(frozen=True)
class Places:
    """Where the violations are: places of group, against, pair, scenario, tau, and the gaps."""

    group: IntArray
    against: IntArray
    pair: IntArray
    scenario: IntArray
    tau: IntArray
    gap: FloatArray

    def __len__(self) -> int:
        return len(self.group)


def find_violations(grid: Grid, taus: Sequence[float]) -> Places:
    """Return every (g, h, pair, scenario, tau) with D(g) - D(h) > tau, strictly; every group takes its turn as g."""
    gaps = grid.gaps()
    over = gaps[..., None] > np.asarray(taus)
    group, against, pair, scenario, tau = np.nonzero(over)
    return Places(group, against, pair, scenario, tau, gaps[group, against, pair, scenario])


def tally(
    groups: Sequence[str],
    taus: Sequence[float],
    pairs: Sequence[str],
    scenarios: Sequence[ScenarioId],
    table: pl.DataFrame,
) -> dict[str, Mapping[str, object]]:
    """Return the violations of a table by group: in all, by tau, by pair, by perturbation, by setting.

    Taus are nested, so a gap beyond all of them counts once for each, as in the paper's Table 4.
    """
    counted: dict[tuple[str, ...], int] = {}
    columns = ["group", "tau", "pair", "perturbation", "setting"]
    shown = (
        table.select("group", pl.col("tau").map_elements(show_tau, return_dtype=pl.String), *columns[2:])
        if table.height
        else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    )
    for row in shown.iter_rows():
        group, tau, pair, perturbation, setting = row
        for key in (
            (group,),
            ("tau", tau, group),
            ("pair", pair, group),
            ("perturbation", perturbation, group),
            ("setting", perturbation, setting or "", group),
        ):
            counted[key] = counted.get(key, 0) + 1

    def by(*prefix: str) -> Counts:
        return {group: counted.get((*prefix, group), 0) for group in groups}

    perturbations = list(dict.fromkeys(scenario.perturbation for scenario in scenarios))
    return {
        "totals": by(),
        "by_tau": {show_tau(tau): by("tau", show_tau(tau)) for tau in taus},
        "by_pair": {pair: by("pair", pair) for pair in pairs},
        "by_perturbation": {name: by("perturbation", name) for name in perturbations},
        "by_setting": {
            name: {
                show_setting(scenario.setting): by("setting", name, show_setting(scenario.setting))
                for scenario in scenarios
                if scenario.perturbation == name
            }
            for name in perturbations
        },
    }


def show_tau(tau: float) -> str:
    """Return tau as people write it: 0.01, 0.1."""
    return f"{tau:g}"
