"""Verdicts of listening studies and of reviewers: realism, comprehensibility, agreement."""

from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Known, Verdict
from benchmarks.verdicts.world import KIND, Setting

from voxaudit.review.study.analyze import Judgment, analyze_judgments
from voxaudit.review.study.ratings import analyze_ratings
from voxaudit.stats.agreement import kappa_interval, rating_counts

PAIRS = 12


def _realism(generator: np.random.Generator, where: Setting, skill: float) -> Claims:
    """People who guess, each with some preference for the first or the second recording; `skill` makes them right."""
    people = where.sizes[0]
    first = generator.random((people, PAIRS)) < 0.5  # whether the real recording is played first
    lean = 0.1 * generator.standard_normal(people)
    chance = np.clip(0.5 + lean[:, None] * np.where(first, 1.0, -1.0) + skill, 0.0, 1.0)
    correct = generator.random((people, PAIRS)) < chance
    found = analyze_judgments(
        [
            Judgment(
                f"p{pair}",
                f"h{person}",
                int(first[person, pair] != correct[person, pair]),
                bool(correct[person, pair]),
                1.0,
            )
            for person in range(people)
            for pair in range(PAIRS)
        ]
    )
    pairs = [not one.low <= 0.5 <= one.high for one in found.pairs]
    return {
        "study.realism": [None if found.p is None else found.p < 0.05],
        "study.scores": [None if found.p_scores is None else found.p_scores < 0.05],
        "study.pair": pairs,
    }


def _ratings(generator: np.random.Generator, where: Setting, drop: float) -> Claims:
    """Ratings from 1 to 10 of four perturbations at three settings, `drop` points from first to last."""
    people = where.sizes[0]
    own = generator.standard_normal(people)
    rows = []
    for name in ("amplitude", "clipping", "drop", "noise"):
        taste = 0.5 * generator.standard_normal(people)
        for step, level in enumerate(("1", "2", "3")):
            value = 7.5 + own + taste - drop * step / 2.0 + 1.2 * generator.standard_normal(people)
            # People react differently to a stronger disturbance, for better or worse.
            value = value + 0.5 * generator.standard_normal(people) * step / 2.0
            rating = np.clip(np.rint(value), 1, 10)
            rows += [(name, level, f"h{n}", float(one)) for n, one in enumerate(rating)]
    table = pl.DataFrame(rows, schema=["perturbation", "setting", "participant", "rating"], orient="row")
    found = analyze_ratings(table)
    return {"study.drop": [None if one.p_adjusted is None else one.p_adjusted < 0.05 for one in found.drops]}


RATERS = 3


def _kappa(generator: np.random.Generator, where: Setting, share: float) -> Claims:
    """Reviewers who label cases by chance, and in a share of the cases see the truth."""
    cases = where.people
    truth = generator.random(cases) < 0.4
    labels = generator.random((cases, RATERS)) < 0.4
    seen = generator.random((cases, 1)) < share
    ratings = np.where(seen, truth[:, None], labels).astype(np.int64)
    found = kappa_interval(rating_counts(ratings, 2), seed=int(generator.integers(1 << 31)))
    return {"review.kappa": [None if found.low is None else found.low > 0.0]}


EXPERIMENTS = (
    Experiment(
        "realism study",
        _realism,
        (
            Verdict(
                "study.realism",
                '"people can tell them apart"',
                "t test over participants",
                0.05,
                "each",
            ),
            Verdict(
                "study.scores",
                "p of how often recordings are taken for real below 0.05",
                "t test over pairs of recordings",
                0.05,
                "each",
            ),
            Verdict(
                "study.pair",
                "a pair's interval leaves out 50 %",
                "Wilson's interval, each by itself",
                0.05,
                "each",
                known=(
                    Known(
                        (KIND,),
                        0.08,
                        "Counts are whole numbers: Wilson's interval misses as often as it promises on average"
                        " over counts; with 8 people that is 7.0 %, with 16 it is 7.7 %.",
                    ),
                ),
            ),
        ),
        "share of right answers above a half",
        (0.05, 0.1, 0.2),
        null=0.0,
        worlds=(KIND,),
        sizes=("8 + 8", "16 + 16", "40 + 40"),
        units="participants, 12 pairs",
    ),
    Experiment(
        "comprehensibility study",
        _ratings,
        (
            Verdict(
                "study.drop",
                "comprehensibility falls with a perturbation's strength",
                "paired t test over participants, Holm over perturbations",
                0.05,
                "any",
            ),
        ),
        "points of ten lost from the mildest to the strongest setting",
        (0.5, 1.0, 2.0),
        null=0.0,
        worlds=(KIND,),
        sizes=("8 + 8", "16 + 16", "40 + 40"),
        units="participants",
    ),
    Experiment(
        "agreement of reviewers",
        _kappa,
        (
            Verdict(
                "review.kappa",
                "reviewers agree beyond chance: the interval of kappa lies above 0",
                "one side of a 95 % interval, cases resampled",
                0.025,
                "each",
            ),
        ),
        "share of cases in which all see the truth",
        (0.1, 0.25, 0.5),
        null=0.0,
        worlds=(KIND,),
        sizes=("8 + 8", "16 + 16", "40 + 40"),
        units="cases, three reviewers",
    ),
)
