"""Breaking points: trials per speaker by staircase, beside grids of settings that reach about the same precision.

Simulated speakers with known breaking points; whether intervals hold what they promise: benchmarks.studies.breaking.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.measure import Row, Settings, row_of
from benchmarks.studies.breaking import Listeners, simulate_group

from voxaudit.stats.censored import censored_mean

SPEAKERS = 12
LENGTH = 50.0
"""dB from one end of the axis to the other."""


def precision(groups: int, **options: object) -> tuple[float, float]:
    """Return trials per speaker and the standard error of a group's breaking point in dB."""
    found, trials = [], 0
    for number in range(groups):
        generator = np.random.default_rng([number, 7])
        places, heard = simulate_group(Listeners(), generator, **options)  # type: ignore[arg-type]
        found.append(float(censored_mean(places, 0.0, 1.0)[0][0]))
        trials += heard
    return trials / groups / SPEAKERS, LENGTH * float(np.std(found))


def measure(settings: Settings) -> Iterator[Row]:
    groups = settings.pick(10, 100, 200)
    ours, error = precision(groups)
    for count, budget in ((6, 24), (11, 44)):
        grid = np.linspace(0.0, 1.0, count).tolist()
        theirs, other = precision(groups, grid=grid, budget=budget)
        yield row_of(
            "the breaking point of 12 speakers",
            "trials per speaker",
            [ours],
            [theirs],
            peer=f"a grid of {count} settings",
            note=f"standard error {error:.2f} dB, the grid's {other:.2f} dB; {groups} simulated groups",
        )
