"""Verdicts of the parity audit: groups, pairs, gaps, all else fixed, crossed, regression, balance, likeness."""

from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import HOLM, Claims, Experiment, Verdict
from benchmarks.verdicts.world import (
    RATE,
    RATIOS,
    SECOND,
    WITH_UNLIKE,
    Setting,
    draw_people,
    for_second,
    scores,
)

from voxaudit.answer import Answer
from voxaudit.audits.parity.audit import parity
from voxaudit.audits.parity.regression import MAIN
from voxaudit.stats.speaker_means import MEAN


def _below(table: pl.DataFrame | None, column: str, level: float, keep: pl.Expr) -> list[bool | None]:
    if table is None or column not in table.columns:
        return []
    return [None if p is None else p < level for p in table.filter(keep)[column].to_list()]


def _claimed(table: pl.DataFrame | None, keep: pl.Expr) -> list[bool | None]:
    """Say of every row whether it claims worse or better; None where it was refused."""
    if table is None:
        return []
    said = table.filter(keep)["conclusion"].to_list()
    return [None if one.startswith("refused") else one.startswith(("worse", "better")) for one in said]


def _parity(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, ratio)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    # Recordings of the second group are as much noisier as its error rate is higher: planted for the check of balance.
    level = 25.0 - 6.0 * np.log(factor) + 3.0 * generator.standard_normal(len(people.group))
    utterances = level[people.speaker] + 2.0 * generator.standard_normal(len(people.speaker))
    table = table.with_columns(snr=pl.Series(np.tile(utterances, 2)))
    found = parity(table, attributes=["group", "region"])
    return _parity_claims(found)


def _together(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    factor = np.where((people.group == 1) & (people.region == 2), ratio, 1.0)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    return _parity_claims(parity(table, attributes=["group", "region"]))


def _parity_claims(found: Answer) -> Claims:
    each, alpha = pl.col("recognizer") != MEAN, found.detail.settings.alpha
    tables, main = found.tables, pl.col("model") == MAIN
    # Not every attribute can be compared with all others held fixed.
    fixed = each & pl.col("fixed_gap").is_not_null() if "fixed_gap" in tables["gaps"].columns else each
    return {
        "parity.level": _claimed(tables["groups"], each),
        "parity.mean": _claimed(tables["groups"], ~each),
        "parity.pair": _claimed(tables.get("pairs"), each),
        "parity.gap": _below(tables["gaps"], "p_adjusted", alpha, pl.lit(True)),
        "parity.conditional": _claimed(tables.get("conditional"), each),
        "parity.conditional_gap": _below(tables["gaps"], "fixed_p_adjusted", alpha, fixed),
        "parity.crossed": _claimed(tables.get("intersectional"), each),
        "parity.regression": _below(tables.get("regression_tests"), "p_adjusted", alpha, each & main),
        "parity.together": _below(tables.get("regression_tests"), "p_adjusted", alpha, each & ~main),
        "parity.term": _below(tables.get("regression"), "p_adjusted", alpha, each & main),
        "parity.term_together": _below(tables.get("regression"), "p_adjusted", alpha, each & ~main),
        "parity.balance": [not one for one in tables["balance"]["balanced"]] if "balance" in tables else [],
    }


MARGIN = 0.05
"""The gap asked about when likeness is the question: 5 points of word error rate."""


def _alike(generator: np.random.Generator, setting: Setting, share: float) -> Claims:
    people = draw_people(generator, setting)
    factor = for_second(people, 1.0 + share * MARGIN / RATE)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    found = parity(table, attributes=["group"], gap=MARGIN)
    # Two groups are one question.
    rows = found.tables["groups"].filter(pl.col("group") == "b", pl.col("recognizer") != MEAN)
    return {"parity.alike": [verdict == "alike" for verdict in rows["verdict"].to_list()]}


def _canary(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    bands = np.array(["18-30", "31-45", "46-65"])[people.region]
    factor = np.where(people.region == 1, ratio, 1.0)
    table = scores(generator, people, ["clean"], lambda *_: factor)
    table = table.with_columns(age=pl.Series(np.tile(bands[people.speaker], 2)))
    found = parity(table, attributes=["age"], age="age")
    rows = found.tables.get("canary")
    differs = [] if rows is None else rows.filter(pl.col("recognizer") != MEAN)["differs"].to_list()
    return {"parity.canary": differs}


EXPERIMENTS = (
    Experiment(
        "parity",
        _parity,
        (
            Verdict(
                "parity.level", '"worse", "better" (also "(few speakers)")', f"Welch, {HOLM}", 0.05, "any"
            ),
            Verdict("parity.mean", "the same for the mean of the recognizers", f"Welch, {HOLM}", 0.05, "any"),
            Verdict("parity.pair", "two groups: worse, better", f"Welch, {HOLM}", 0.05, "any"),
            Verdict(
                "parity.gap",
                "report: best against worst group, shown (recognizers and their mean)",
                "Welch times pairs, Holm in two families",
                0.10,
                "any",
            ),
            Verdict(
                "parity.conditional", "all else fixed: worse, better", f"stratified, {HOLM}", 0.05, "any"
            ),
            Verdict("parity.conditional_gap", "all else fixed: best against worst", HOLM, 0.05, "any"),
            Verdict(
                "parity.regression",
                "an attribute matters, the others held fixed",
                f"HC2, HTZ, {HOLM}",
                0.05,
                "any",
            ),
            Verdict(
                "parity.term",
                "a term of the regression, adjusted p",
                f"HC2, Bell and McCaffrey, {HOLM}",
                0.05,
                "any",
            ),
            Verdict(
                "parity.balance",
                "caution: recordings or texts differ between groups",
                f"Kruskal and Wallis, {HOLM}",
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
            Verdict("parity.together", "two attributes matter together", f"HC2, HTZ, {HOLM}", 0.05, "any"),
            Verdict(
                "parity.term_together",
                "a term of the regression with interactions, adjusted p",
                f"HC2, Bell and McCaffrey, {HOLM}",
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
        (
            Verdict(
                "parity.crossed",
                'crossed groups: "worse", "better" (also "(few speakers)")',
                f"Welch, {HOLM}",
                0.05,
                "any",
            ),
        ),
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
        (Verdict("parity.canary", "neighboring bands of middle age differ", HOLM, 0.05, "any"),),
        "error rate of the middle band, times",
        RATIOS,
        settings=("16 + 16", "40 + 40"),
        weight=0.5,
    ),
)
