"""Verdicts of audits that choose what to hear: sequential and breaking points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.verdicts.experiment import Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.simple import PLAIN, below, welch
from benchmarks.verdicts.world import (
    KIND,
    RATE,
    RECOGNIZERS,
    SCENARIOS,
    Array,
    Setting,
    by_speaker,
    counts,
    draw_people,
    for_second,
    log_factors,
    setting,
)

from voxaudit.audits.breaking.audit import Point, compare_points, summarize_groups
from voxaudit.perturb.axis import Axis
from voxaudit.run.order import Order
from voxaudit.stats.censored import compare_groups
from voxaudit.stats.sequential import ALIKE, SHOWN, Goal, walk

MARGIN = 0.05


def _walk(
    generator: np.random.Generator, where: Setting, goal: Goal, *, ratio: float = 1.0, gap: float = 0.0
) -> list[str]:
    """Hear two recognizers under four conditions, speaker after speaker; return why each cell was stopped.

    The second group has `ratio` times as many errors, or its error rate is higher by `gap`.
    """
    people = draw_people(generator, where)
    factor = for_second(people, ratio + gap / (RATE * people.mean))
    counted = counts(generator, people, ["clean", *SCENARIOS[:3]], lambda *_: factor)
    errors, words = by_speaker(people, counted)
    errors = errors.reshape(-1, len(words))
    said = np.bincount(people.speaker)
    # Who is heard next does not depend on anything.
    groups = [tuple(generator.permutation(np.flatnonzero(people.group == one)).tolist()) for one in (0, 1)]
    order = Order(
        ("first", "second"),
        tuple(map(str, range(len(words)))),
        tuple(groups),
        tuple(("",) * int(count) for count in said),
        tuple(int(count) for count in said),
        words,
    )

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
        cell, who = np.array(wanted).T
        return errors[cell, who], words[who]

    return [str(one) for one in walk(len(errors), order, goal, hear).gap_stops[:, 0]]


def _shown(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    return {"sequential.shown": [one == SHOWN for one in _walk(generator, where, Goal(), ratio=ratio)]}


def _alike(generator: np.random.Generator, where: Setting, share: float) -> Claims:
    stops = _walk(generator, where, Goal(margin=MARGIN, give_up=False), gap=share * MARGIN)
    return {"sequential.alike": [one == ALIKE for one in stops]}


AXIS = Axis("gaussian_noise", "snr", 30.0, -10.0, False, "dB")
MIDDLE, SPREAD = 0.6, 0.08
"""Where speech breaks on the axis of harm, and the standard deviation between speakers of the kind world."""


def _places(generator: np.random.Generator, where: Setting, shift: float) -> tuple[Array, Array]:
    """Draw speakers' groups and breaking points (recognizers x speakers): hard ones lie at milder disturbances.

    Staircases take long to simulate and are studied elsewhere (`benchmarks.studies.breaking`); here their results are
    drawn, with an error that is larger for speakers who say little, and now and then anything.
    """
    group, hard, noise = log_factors(generator, where)
    return group, MIDDLE - SPREAD * (hard + shift * group) + noise


def _breaking_beside(group: Array, places: Array) -> Claims:
    return {f"breaking.difference | {PLAIN}": below(welch(np.clip(places, 0.0, 1.0), group), len(places))}


def _breaking(generator: np.random.Generator, where: Setting, shift: float) -> Claims:
    group, places = _places(generator, where, shift)
    points: list[Point] = []
    for name, place in zip(RECOGNIZERS, places, strict=True):
        own = {label: place[group == code] for code, label in enumerate("ab")}
        points += summarize_groups(name, AXIS, own, dict.fromkeys(own, 0.5), True)
    labels = ["ab"[code] for code in group]
    found = dict(zip(RECOGNIZERS, places, strict=True))
    differences = compare_points(AXIS, points, found, labels, int(generator.integers(1 << 31)))
    return {
        "breaking.difference": [one.shown for one in differences],
        **_breaking_beside(group, places),
    }


SHUFFLES = 999
"""In place of 9,999."""


def breaking_p(group: Array, places: Array, seed: int, shuffles: int = SHUFFLES) -> list[float]:
    """Return p in the family of the recognizers whose groups have breaking points: most speakers within the range."""
    usable = [
        row
        for row, place in enumerate(places)
        if all(
            max((place[group == code] >= 1.0).mean(), (place[group == code] <= 0.0).mean()) <= 0.5
            for code in (0, 1)
        )
    ]
    pairs = [(row, 0, 1) for row in usable]
    gaps = compare_groups(places, group, pairs, 0.0, 1.0, permutations=shuffles, seed=seed, limits=False)
    return [gap.p_adjusted for gap in gaps]


def _breakings(audits: Numbered, where: Setting, shift: float) -> list[Claims]:
    claims: list[Claims] = []
    for generator in audits.values():
        group, places = _places(generator, where, shift)
        found = breaking_p(group, places, int(generator.integers(1 << 31)))
        shown = [p <= 0.05 for p in found]
        claims.append({"breaking.difference": shown, **_breaking_beside(group, places)})
    return claims


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
        power_at=setting(KIND, "40 + 40"),
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
        sizes=("16 + 16", "40 + 40", "100 + 100", "8 + 40"),
        power_at=setting(KIND, "100 + 100"),
    ),
    Experiment(
        "breaking points",
        _breaking,
        (
            Verdict(
                "breaking.difference",
                '"a difference is shown"',
                "studentized, speakers permuted, step-down over comparisons",
                0.05,
                "any",
                beside=(PLAIN,),
            ),
        ),
        "distance of the breaking points, in standard deviations between speakers",
        (0.5, 1.0, 1.5, 2.0),
        batch=_breakings,
        null=0.0,
        also=((setting("mix", "16 + 16"), (1.0,)), (setting("hetero", "8 + 40"), (1.0,))),
    ),
)
