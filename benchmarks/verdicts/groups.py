"""Verdicts about groups of speakers: disparity, parity, robustness by group, differential."""

from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Verdict
from benchmarks.verdicts.world import (
    RATE,
    SCENARIOS,
    Array,
    Setting,
    draw_people,
    for_second,
    scores,
    transcripts,
)

from voxaudit.audits.differential import differential
from voxaudit.audits.disparity import FEWER, MORE, disparity
from voxaudit.audits.disparity.interaction import DIFFERENT
from voxaudit.audits.parity import Findings, Settings, parity
from voxaudit.audits.parity.judge import ALIKE
from voxaudit.audits.parity.options import MEAN
from voxaudit.audits.parity.regression import MAIN
from voxaudit.audits.robustness import robustness
from voxaudit.audits.robustness.groups import SHOWN
from voxaudit.errors import VoxauditError

RATIOS = (1.25, 1.5, 2.0, 3.0)
SECOND = "error rate of the second group, times"
COST = 2.0
"""What disturbed speech multiplies everybody's error rate by where it is not the question."""


def _gap(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    try:
        found = disparity(table, factor="group", by=("recognizer",), interval="robust", resamples=0)
    except VoxauditError:
        return {}
    effects = [effect for fit in found.fits for effect in fit.effects]
    outside = [
        None if one.ci_low is None or one.ci_high is None else not one.ci_low <= 1.0 <= one.ci_high
        for one in effects
    ]
    return {"disparity.gap": [one.verdict in (MORE, FEWER) for one in effects], "gate.group_ratio": outside}


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
        found = disparity(
            table,
            factor="group",
            by=("recognizer",),
            interaction="scenario",
            interval="robust",
            resamples=0,
        )
    except VoxauditError:
        return {}
    parts = [fit.interaction for fit in found.fits]
    return {"disparity.interaction": [None if one is None else one.verdict == DIFFERENT for one in parts]}


def _below(table: pl.DataFrame, column: str, level: float, keep: pl.Expr | None = None) -> list[bool | None]:
    if not table.height:
        return []
    own = table if keep is None else table.filter(keep)
    return [None if p is None else p < level for p in own[column].to_list()]


def _claimed(table: pl.DataFrame, keep: pl.Expr) -> list[bool | None]:
    """Say of every row whether its verdict is worse or better; None where it was refused."""
    if not table.height:
        return []
    verdicts = table.filter(keep)["verdict"].to_list()
    return [None if one.startswith("refused") else one.startswith(("worse", "better")) for one in verdicts]


def _parity(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    # Recordings of the second group are as much noisier as its error rate is higher: planted for the check of balance.
    level = 25.0 - 6.0 * np.log(factor) + 3.0 * generator.standard_normal(len(people.group))
    utterances = level[people.speaker] + 2.0 * generator.standard_normal(len(people.speaker))
    table = table.with_columns(snr=pl.Series(np.tile(utterances, 2)))
    found = parity(table, ["group", "region"], settings=Settings())
    return _parity_claims(found)


def _together(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = np.where((people.group == 1) & (people.region == 2), ratio, 1.0)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    return _parity_claims(parity(table, ["group", "region"], settings=Settings()))


def _parity_claims(found: Findings) -> Claims:
    each, alpha = pl.col("recognizer") != MEAN, found.settings.alpha
    unbalanced = (
        [] if not found.balance_tests.height else [not one for one in found.balance_tests["balanced"]]
    )
    gaps = _below(found.gaps, "p_adjusted", alpha)
    main = pl.col("model") == MAIN
    return {
        "parity.level": _claimed(found.univariate, each),
        "parity.mean": _claimed(found.univariate, ~each),
        "parity.pair": _claimed(found.pairs, each),
        "parity.gap": gaps,
        "parity.conditional": _claimed(found.conditional, each),
        "parity.conditional_gap": _below(found.conditional_gaps, "p_adjusted", alpha, each),
        "parity.crossed": _claimed(found.intersectional, each),
        "parity.regression": _below(found.regression_tests, "p_adjusted", alpha, each & main),
        "parity.together": _below(found.regression_tests, "p_adjusted", alpha, each & ~main),
        "parity.term": _below(found.regression, "p_adjusted", alpha, each & main),
        "parity.term_together": _below(found.regression, "p_adjusted", alpha, each & ~main),
        "parity.balance": unbalanced,
    }


MARGIN = 0.05
"""The gap asked about when likeness is the question: 5 points of word error rate."""


def _alike(generator: np.random.Generator, setting: Setting, share: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, 1.0 + share * MARGIN / RATE)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    found = parity(table, ["group"], settings=Settings(gap=MARGIN))
    # Two levels are one question.
    rows = found.univariate.filter((pl.col("level") == "b") & (pl.col("recognizer") != MEAN))
    return {"parity.alike": [verdict == ALIKE for verdict in rows["verdict"].to_list()]}


def _canary(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    bands = np.array(["18-30", "31-45", "46-65"])[people.region]
    factor = np.where(people.region == 1, ratio, 1.0)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    table = table.with_columns(age=pl.Series(np.tile(bands[people.speaker], 2)))
    found = parity(table, ["age"], settings=Settings(age="age"))
    rows = found.canary
    return {
        "parity.canary": rows.filter(pl.col("recognizer") != MEAN)["differs"].to_list() if rows.height else []
    }


def _lwerr(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(
        generator,
        people,
        ["clean", *SCENARIOS],
        lambda _, scenario: 1.0 if scenario == "clean" else COST * factor,
    )
    rows = robustness(table, attributes=["group"]).groups.to_dicts()
    claims: dict[str, list[bool | None]] = {}
    for level in ("overall", "category", "scenario"):
        claims[f"robustness.group_{level}"] = [
            None if row["p_holm"] is None else row["verdict"] == SHOWN
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
    view = differential(heard, "group", seed=int(generator.integers(1 << 31)))[0].view
    significant = view.violations.filter(pl.col("significant").fill_null(False)).height > 0
    chance = view.chance or {}
    return {
        "differential.significant": [significant if view.tested else None],
        "differential.chance": [one.p <= 0.05 for one in chance.values()],
    }


P = "p after Holm's correction below 0.05"
WITH_UNLIKE = ("8 + 8", "16 + 16", "40 + 40", "8 + 40", "16 + 16 unlike")
EXPERIMENTS = (
    Experiment(
        "disparity",
        _gap,
        (
            Verdict(
                "disparity.gap",
                '"more errors", "fewer errors"; report: a ratio is shown',
                "likelihood and speaker-robust p, Holm over recognizers and levels",
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
                "gate worst_group_ratio on the lower limit fails at a limit of 1",
                "speaker-robust 95 % interval, each recognizer by itself",
                0.05,
                "each",
                exception=(
                    "In `unlike` for the reason given for `disparity.gap`; with a group of 8 against 40"
                    " because the sandwich counts all speakers where eight decide."
                ),
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
                '"the groups are hurt differently"',
                "speaker-robust F test, Holm over recognizers",
                0.05,
                "any",
                exception=(
                    "The speaker sandwich takes its degrees of freedom from all speakers, though those"
                    " of the smaller group decide, and has no correction for speakers with much weight."
                    " Trust it only with some 40 speakers in each group."
                ),
                up_to=0.25,
            ),
        ),
        "error rate of the second group under disturbance only, times",
        RATIOS,
    ),
    Experiment(
        "parity",
        _parity,
        (
            Verdict("parity.level", '"worse", "better" (also "(few speakers)")', f"Welch, {P}", 0.05, "any"),
            Verdict("parity.mean", "the same for the mean of the recognizers", f"Welch, {P}", 0.05, "any"),
            Verdict("parity.pair", "two levels: worse, better", f"Welch, {P}", 0.05, "any"),
            Verdict(
                "parity.gap",
                "report: best against worst level, shown (recognizers and their mean)",
                "Welch times pairs, Holm in two families",
                0.10,
                "any",
            ),
            Verdict("parity.conditional", "all else fixed: worse, better", f"stratified, {P}", 0.05, "any"),
            Verdict("parity.conditional_gap", "all else fixed: best against worst", P, 0.05, "any"),
            Verdict(
                "parity.regression", "an attribute matters, the others held fixed", f"HC3, {P}", 0.05, "any"
            ),
            Verdict("parity.term", "a term of the regression, adjusted p", f"HC3, {P}", 0.05, "any"),
            Verdict(
                "parity.balance",
                "caution: recordings or texts differ between levels",
                f"Kruskal and Wallis, {P}",
                0.05,
                "any",
            ),
        ),
        SECOND,
        RATIOS,
        settings=WITH_UNLIKE,
        weight=0.7,
    ),
    Experiment(
        "parity together",
        _together,
        (
            Verdict("parity.together", "two attributes matter together", f"HC3, {P}", 0.05, "any"),
            Verdict(
                "parity.term_together",
                "a term of the regression with interactions, adjusted p",
                f"HC3, {P}",
                0.05,
                "any",
            ),
        ),
        "error rate of one of six crossed groups, times",
        RATIOS,
        settings=("16 + 16", "40 + 40", "8 + 40"),
        power_at="40 + 40",
        weight=0.5,
    ),
    Experiment(
        "parity crossed",
        _parity,
        (Verdict("parity.crossed", "crossed groups: worse, better (needs enough speakers)", P, 0.05, "any"),),
        SECOND,
        RATIOS,
        settings=("40 + 40", "100 + 100"),
        power_at="100 + 100",
        weight=0.5,
    ),
    Experiment(
        "parity alike",
        _alike,
        (
            Verdict(
                "parity.alike",
                '"alike within the gap"',
                "the 95 % interval of the difference lies within the gap",
                0.025,
                "each",
            ),
        ),
        "the true gap, as a share of the one asked about (5 points)",
        (0.75, 0.5, 0.25, 0.0),
        settings=("16 + 16", "40 + 40"),
        power_at="40 + 40",
        weight=0.5,
    ),
    Experiment(
        "parity canary",
        _canary,
        (Verdict("parity.canary", "neighbouring bands of middle age differ", P, 0.05, "any"),),
        "error rate of the middle band, times",
        RATIOS,
        settings=("16 + 16", "40 + 40"),
        weight=0.5,
    ),
    Experiment(
        "robustness by group",
        _lwerr,
        (
            Verdict(
                "robustness.group_overall", '"gap shown" over all disturbances', f"LWERR, {P}", 0.05, "any"
            ),
            Verdict("robustness.group_category", '"gap shown" in a category', f"LWERR, {P}", 0.05, "any"),
            Verdict("robustness.group_scenario", '"gap shown" in a scenario', f"LWERR, {P}", 0.05, "any"),
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
                "a violation survives; report: shown; gate differential",
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
