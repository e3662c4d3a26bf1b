"""Verdicts about groups of speakers: disparity, robustness by group, differential."""

from __future__ import annotations

import numpy as np
from benchmarks.verdicts.experiment import HOLM, Claims, Experiment, Verdict
from benchmarks.verdicts.world import (
    RATIOS,
    SCENARIOS,
    SECOND,
    WITH_UNLIKE,
    Array,
    Setting,
    draw_people,
    for_second,
    scores,
    transcripts,
)

from voxaudit.audits.differential.audit import differential
from voxaudit.audits.disparity.audit import disparity
from voxaudit.audits.robustness.audit import robustness
from voxaudit.errors import VoxauditError

COST = 2.0
"""What disturbed speech multiplies everybody's error rate by where it is not the question."""


def _gap(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    try:
        found = disparity(table, attribute="group", by=("recognizer",)).detail
    except VoxauditError:
        return {}
    effects = [effect for fit in found.fits for effect in fit.effects]
    outside = [
        None if one.low is None or one.high is None else not one.low <= 1.0 <= one.high for one in effects
    ]
    return {"disparity.gap": [one.verdict == "shown" for one in effects], "gate.group_ratio": outside}


def _interaction(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(
        generator,
        people,
        ["clean", *SCENARIOS[:2]],
        lambda _, scenario: 1.0 if scenario == "clean" else COST * factor,
    )
    try:
        found = disparity(table, attribute="group", by=("recognizer",), interaction="scenario").detail
    except VoxauditError:
        return {}
    parts = [fit.interaction for fit in found.fits]
    return {"disparity.interaction": [None if one is None else one.verdict == "shown" for one in parts]}


def _lwerr(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(
        generator,
        people,
        ["clean", *SCENARIOS],
        lambda _, scenario: 1.0 if scenario == "clean" else COST * factor,
    )
    rows = robustness(table, attributes=["group"], difficulty="none").detail.groups.to_dicts()
    claims: dict[str, list[bool | None]] = {}
    for level in ("overall", "category", "scenario"):
        claims[f"robustness.group_{level}"] = [
            None if row["p_adjusted"] is None else row["verdict"] == "shown"
            for row in rows
            if row["level"] == level
        ]
    ends = [(row["change_low"], row["change_high"]) for row in rows if row["level"] == "overall"]
    claims["robustness.group_change"] = [
        None if low is None or high is None else not low <= 0.0 <= high for low, high in ends
    ]
    return claims


def _differential(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)

    def losses(_: int, __: str, ___: Array, who: Array) -> Array:
        return COST * factor[who]

    heard = transcripts(generator, people, [SCENARIOS[0], SCENARIOS[2], SCENARIOS[3], SCENARIOS[5]], losses)
    [found] = differential(heard, attribute="group", seed=int(generator.integers(1 << 31))).detail
    view = found.view
    significant = view.surviving.height > 0
    chance = view.chance or {}
    return {
        "differential.significant": [significant if view.tested else None],
        "differential.chance": [one.p <= 0.05 for one in chance.values()],
    }


EXPERIMENTS = (
    Experiment(
        "disparity",
        _gap,
        (
            Verdict(
                "disparity.gap",
                '"a gap is shown" between typical speakers',
                "likelihood and speaker-robust p, Holm over recognizers and groups",
                0.05,
                "any",
                exception=(
                    "Where one group's speakers differ much more than the other's, equal error rates"
                    " are unequal typical speakers: the model compares the latter (their ratio is 0.76"
                    " in `unlike`). The claim is then true of typical speakers, not of the word error"
                    " rate. `parity` compares means."
                ),
                up_to=0.12,
            ),
            Verdict(
                "gate.group_ratio",
                "the interval of a ratio leaves out 1 (what worst_group_ratio starts from)",
                "speaker-robust 95 % interval, each recognizer by itself",
                0.05,
                "each",
                exception=("In `unlike` for the reason given for `disparity.gap`."),
                up_to=0.1,
            ),
        ),
        SECOND,
        RATIOS,
        settings=WITH_UNLIKE,
    ),
    Experiment(
        "disparity interaction",
        _interaction,
        (
            Verdict(
                "disparity.interaction",
                '"scenario hurts the groups differently"',
                "speaker-robust F test, Holm over recognizers",
                0.05,
                "any",
            ),
        ),
        "error rate of the second group under disturbance only, times",
        RATIOS,
    ),
    Experiment(
        "robustness by group",
        _lwerr,
        (
            Verdict(
                "robustness.group_overall",
                '"shown" over all disturbances',
                f"LWERR, {HOLM}",
                0.05,
                "any",
                exception=(
                    "Where one group's speakers differ much more than the other's, the skew of its rates is left."
                ),
                up_to=0.08,
            ),
            Verdict("robustness.group_category", '"shown" in a category', f"LWERR, {HOLM}", 0.05, "any"),
            Verdict("robustness.group_scenario", '"shown" in a scenario', f"LWERR, {HOLM}", 0.05, "any"),
            Verdict(
                "robustness.group_change",
                "the gap changes from clean to disturbed speech",
                "95 % interval of the change leaves out 0",
                0.05,
                "each",
            ),
        ),
        "error rate of the second group under disturbance only, times",
        RATIOS,
        settings=WITH_UNLIKE,
    ),
    Experiment(
        "differential",
        _differential,
        (
            Verdict(
                "differential.significant",
                "a violation survives: shown; gate differential",
                "speakers permuted, false-discovery rate 5 %",
                0.05,
                "any",
            ),
            Verdict(
                "differential.chance",
                "more violations by the plain rule than by chance",
                "p of shuffled labels at most 0.05, for each group",
                0.05,
                "each",
            ),
        ),
        "chance of the second group's words to be lost under disturbance, times",
        RATIOS,
    ),
)
