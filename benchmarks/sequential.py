"""Stopping early: trials until every cell has its verdict, beside hearing the full grid.

Simulated audits with a known truth; how often verdicts are wrong: benchmarks.studies.sequential.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.measure import Row, Settings, row_of
from benchmarks.studies.sequential import World, simulate

from voxaudit.stats.sequential import Goal

RATIOS = (1.0,) * 10 + (1.25, 1.5, 1.5, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0)
"""What is planted: ten cells without a gap, ten with one."""


def measure(settings: Settings) -> Iterator[Row]:
    audits = settings.pick(2, 30, 100)
    for speakers in (60, 200):
        ours, theirs, agree = [], [], []
        for audit in range(audits):
            generator = np.random.default_rng([speakers, audit])
            one = simulate(World(RATIOS, speakers=speakers), Goal(), generator)
            ours.append(float(np.mean(one.trials)))
            theirs.append(float(one.grid))
            agree.append(float(np.mean(np.array(one.shown) == np.array(one.full))))
        yield row_of(
            f"{speakers} speakers a group, 20 cells, 10 with a gap",
            "trials per cell",
            ours,
            theirs,
            peer="the full grid",
            note=f"verdict as the full grid's in {100 * np.mean(agree):.0f} % of cells; {audits} simulated audits",
        )
