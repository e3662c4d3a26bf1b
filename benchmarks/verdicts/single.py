"""Verdicts of audits that look at single answers: errors that matter, invented words, by group of speakers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.many import SHUFFLES, blocks, judge_ratios
from benchmarks.verdicts.world import RATIOS, Array, Setting, as_table, counts, draw_people, for_second

from voxaudit.audits.hallucination.audit import RATIOS as INVENTED
from voxaudit.audits.keywords.audit import RATIOS as KEYWORDS
from voxaudit.audits.ratios import FEWEST_CASES, Ratio, compare_groups, mostly
from voxaudit.audits.scores import Scores
from voxaudit.stats.permutations import LEVEL, Shuffles

MOST = 40
"""Utterances of a speaker at most: long ones would take the time and change little."""
HEARD = 4
"""One utterance in so many holds keywords."""
STRETCHES = 20
"""One error in so many begins words that nobody said."""
UNSUPPORTED = tuple(one for one in INVENTED if one.measure == "unsupported_ratio")


def _trials(generator: np.random.Generator, where: Setting, ratio: float) -> pl.DataFrame:
    people = draw_people(generator, where, most=MOST)
    factor = for_second(people, ratio)
    counted = counts(generator, people, ["clean"], lambda *_: factor)[:1]
    table = as_table(people, ["clean"], np.repeat(counted, 2, axis=0)).head(len(people.speaker))
    return table.with_columns(errors=pl.sum_horizontal("substitutions", "deletions", "insertions"))


def _keywords(
    generator: np.random.Generator, where: Setting, ratio: float, *, spared: bool = False
) -> pl.DataFrame:
    trials = _trials(generator, where, ratio)
    said = pl.Series(generator.random(trials.height) < 1.0 / HEARD).cast(pl.Int64)
    # One error in ten matters: a share of utterances is then nearly in proportion to their errors. Were it all of
    # them, a group of unlike speakers would have fewer wrong utterances with as many errors: no false alarm.
    some = pl.Series((generator.binomial(trials["errors"].to_numpy(), 0.1) > 0).astype(np.int64))
    return trials.with_columns(
        trials=1,
        serious=1 - some if spared else some,
        keyword_errors=said * pl.col("errors"),
        keyword_said=said * pl.col("words"),
    )


def _invented(generator: np.random.Generator, where: Setting, ratio: float) -> pl.DataFrame:
    """One error in twenty begins an invented stretch of three words and more, of unlike length."""
    trials = _trials(generator, where, ratio)
    cases = generator.binomial(trials["errors"].to_numpy(), 1.0 / STRETCHES)
    longer = generator.negative_binomial(np.maximum(cases, 1), 0.25)
    return trials.with_columns(
        unsupported_words=pl.Series(np.where(cases > 0, 3 * cases + longer, 0)),
        unsupported_cases=pl.Series(cases),
        unsupported_minutes=pl.col("words") / 150.0,
    )


Make = Callable[[np.random.Generator, Setting, float], pl.DataFrame]


def _audit(
    make: Make,
    ratios: tuple[Ratio, ...],
    verdict: str,
    generator: np.random.Generator,
    where: Setting,
    ratio: float,
) -> Claims:
    trials = make(generator, where, ratio)
    found, _ = compare_groups(Scores(trials), trials, ["group"], ratios, seed=0)
    return {verdict: [one.p_adjusted is not None and one.p_adjusted <= LEVEL for *_, one in found]}


def _many(
    make: Make, ratios: tuple[Ratio, ...], verdict: str, audits: Numbered, where: Setting, ratio: float
) -> list[Claims]:
    """Ask the same of many audits at once: sums by speaker, judged with shared shuffles and without intervals."""
    made = [make(generator, where, ratio) for generator in audits.values()]
    names = [name for one in ratios for name in (one.top, one.below, str(one.cases))]
    people = [
        table.group_by("speaker", "group", maintain_order=True).agg(pl.col(set(names)).sum())
        for table in made
    ]
    second = (people[0]["group"] == people[0]["group"].unique().sort()[1]).to_numpy()

    def column(name: str) -> Array:
        return np.stack([one[name].to_numpy().astype(np.float64) for one in people], axis=1)

    sums = np.stack([np.stack([column(one.top), column(one.below)]) for one in ratios], axis=-1)
    known = np.stack([column(str(one.cases)).sum(axis=0) >= FEWEST_CASES for one in ratios], axis=-1)
    near = mostly(sums) & np.array([one.share for one in ratios])
    rows = np.array([[table.filter(pl.col("group") == g).height for g in "ab"] for table in made])
    # The largest group is the one that others are compared with.
    size = second.mean()
    turned = np.full(len(made), size < 0.5) if size != 0.5 else rows[:, 0] >= rows[:, 1]
    claims: list[Claims] = [{}] * len(made)
    for block, places in blocks(list(audits)):
        shuffles = Shuffles(where.people, SHUFFLES, block)
        chosen = np.array(places)
        _, together = judge_ratios(
            sums[:, :, chosen], second, turned[chosen], shuffles, known=known[chosen], near=near[chosen]
        )
        for place, p in zip(places, together, strict=True):
            claims[place] = {verdict: [bool(one <= LEVEL) for one in p if not np.isnan(one)]}
    return claims


def _experiment(name: str, make: Make, ratios: tuple[Ratio, ...], says: str) -> Experiment:
    verdict = name.replace(", ", ".") if ", " in name else f"{name}.group"
    return Experiment(
        name=name,
        audit=partial(_audit, make, ratios, verdict),
        batch=partial(_many, make, ratios, verdict),
        verdicts=(Verdict(verdict, says, "shuffled speakers with a guard, step-down", 0.05, "any"),),
        planted="error rate of the second group, times",
        effects=RATIOS,
        sizes=("16 + 16", "8 + 40"),
    )


EXPERIMENTS = (
    _experiment("keywords", _keywords, KEYWORDS, "more errors that matter, or on keywords, for a group"),
    _experiment(
        "keywords, most",
        partial(_keywords, spared=True),
        KEYWORDS[:1],
        "the same where seven in eight utterances have an error that matters",
    ),
    _experiment("hallucination", _invented, UNSUPPORTED, "more invented words for a group"),
)
