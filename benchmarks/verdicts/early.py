"""Verdicts of audits that choose what to hear: sequential and breaking points."""

from __future__ import annotations

import numpy as np
from benchmarks.studies.breaking import Listeners, simulate_group
from benchmarks.studies.sequential import World, simulate
from benchmarks.verdicts.experiment import Claims, Experiment, Verdict
from benchmarks.verdicts.world import SIGMA, Setting

from voxaudit.audits.breaking.audit import Difference, adjust, summarize_groups
from voxaudit.perturb.axis import Axis
from voxaudit.stats.sequential import Goal

CELLS = 8
RATE = 0.15
MARGIN = 0.05


def _world(setting: Setting, ratio: float) -> World:
    return World(
        (ratio,) * CELLS,
        speakers=setting.sizes[0],
        spreads=(SIGMA, SIGMA),
        rates=(RATE, RATE),
        utterances=8.0,
    )


def _shown(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    return {"sequential.shown": simulate(_world(setting, ratio), Goal(), generator).shown}


def _alike(generator: np.random.Generator, setting: Setting, share: float) -> Claims:
    world = _world(setting, 1.0 + share * MARGIN / RATE)
    return {"sequential.alike": simulate(world, Goal(margin=MARGIN, give_up=False), generator).alike}


AXIS = Axis("gaussian_noise", "snr", 30.0, -10.0, False, "dB")


def _breaking(generator: np.random.Generator, setting: Setting, shift: float) -> Claims:
    groups = (Listeners(), Listeners(middle=Listeners.middle - shift * Listeners.spread))
    found: list[Difference] = []
    for name in ("one", "two"):
        places = {
            label: simulate_group(people, generator, speakers=count)[0]
            for label, people, count in zip("ab", groups, setting.sizes, strict=True)
        }
        levels = dict.fromkeys(places, 0.5)
        found += summarize_groups(name, AXIS, places, levels, True, generator)[1]
    return {"breaking.difference": [one.shown for one in adjust(found)]}


EXPERIMENTS = (
    Experiment(
        "sequential",
        _shown,
        (
            Verdict(
                "sequential.shown",
                '"shown", at whatever time it stops',
                "e-values, false-discovery rate 5 % over 8 cells",
                0.05,
                "any",
            ),
        ),
        "error rate of the second group, times",
        (1.5, 2.0, 3.0),
        settings=("8 + 8", "16 + 16", "40 + 40"),
        power_at="40 + 40",
    ),
    Experiment(
        "sequential alike",
        _alike,
        (
            Verdict(
                "sequential.alike",
                '"alike", at whatever time it stops',
                "e-values, false-discovery rate 5 % over 8 cells",
                0.05,
                "any",
            ),
        ),
        "the true gap, as a share of the margin (5 points)",
        (0.5, 0.0),
        settings=("16 + 16", "40 + 40", "100 + 100"),
        power_at="100 + 100",
    ),
    Experiment(
        "breaking points",
        _breaking,
        (
            Verdict(
                "breaking.difference",
                '"a difference is shown"',
                "speakers permuted, Holm over comparisons",
                0.05,
                "any",
            ),
        ),
        "distance of the breaking points, in standard deviations between speakers",
        (0.5, 1.0, 1.5, 2.0),
        null=0.0,
        settings=("8 + 8", "16 + 16"),
        weight=0.5,
    ),
)
