"""Verdicts of the parity audit: groups, all else fixed, crossed, regression, balance, likeness, canary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import HOLM, Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.simple import WELCH, below, log_rates, welch
from benchmarks.verdicts.world import (
    AT_THREE,
    KIND,
    RATIOS,
    RECOGNIZERS,
    SECOND,
    Array,
    People,
    Setting,
    as_table,
    by_name,
    by_speaker,
    counts,
    draw_people,
    for_second,
    setting,
    speaker_rates,
)

from voxaudit.audits.parity.audit import parity
from voxaudit.audits.parity.checklist import balance
from voxaudit.audits.parity.compare import canary, judged
from voxaudit.audits.parity.regression import MAIN, regressions
from voxaudit.audits.parity.speakers import Settings
from voxaudit.stats.group_means import Question, Sample, compare, crossed_questions, pairs_of
from voxaudit.stats.speaker_means import MEAN, summarize_groups

Drawn = tuple[People, Array, pl.DataFrame]
"""People, their errors, and what is known of them: their groups, and how noisy their recordings are."""
REGIONS = ("east", "north", "south")
BANDS = ("18-30", "31-45", "46-65")
SHUFFLES = 999
"""In place of 9,999."""


def _drawn(generator: np.random.Generator, where: Setting, effect: float, *, planted: str) -> Drawn:
    """Draw people and errors: of the second group, of one of six crossed groups, of the middle band of age."""
    people = draw_people(generator, where)
    if planted == "gap":
        rates = speaker_rates(people)
        factors = [for_second(people, 1.0 + effect * MARGIN / rate) for rate in rates]
    elif planted == "crossed":
        factors = [np.where((people.group == 1) & (people.region == 2), effect, 1.0)] * 2
    elif planted == "band":
        factors = [np.where(people.region == 1, effect, 1.0)] * 2
    else:
        factors = [for_second(people, effect)] * 2
    counted = counts(generator, people, ["clean"], lambda number, _: factors[number])
    # Recordings are as much noisier as the error rate is higher: planted for the check of balance.
    snr = 45.0 - 6.0 * np.log(factors[0]) + 3.0 * generator.standard_normal(len(people.group))
    noise = generator.standard_normal(len(people.speaker))
    return people, counted, pl.DataFrame({"snr": snr[people.speaker] + 2.0 * noise})


def _table(made: Drawn) -> pl.DataFrame:
    people, counted, about = made
    bands = np.array(BANDS)[people.region][people.speaker]
    return as_table(people, ["clean"], counted).with_columns(
        snr=pl.Series(np.tile(about["snr"].to_numpy(), 2)), age=pl.Series(np.tile(bands, 2))
    )


def sample_of(made: Drawn, attributes: Sequence[str]) -> tuple[Sample, Mapping[str, Sequence[str]]]:
    """Return the speakers as the audit has them, and the groups of each attribute."""
    people, counted, about = made
    named, said = by_name(people), np.bincount(people.speaker)
    rates = [
        (np.bincount(people.speaker, own / people.words) / said)[named] for own in counted[:, 0].astype(float)
    ]
    words = np.bincount(people.speaker, people.words)[named].astype(np.float64)
    groups = {
        "group": np.array(["a", "b"])[people.group],
        "region": np.array(REGIONS)[people.region],
        "age": np.array(BANDS)[people.region],
    }
    noise = np.bincount(people.speaker, about["snr"].to_numpy()) / said
    frame = pl.DataFrame(
        {
            "speaker": [f"s{n}" for n in named],
            **{f"@{name}": groups[name][named] for name in attributes},
            "#snr": noise[named],
        }
    )
    order = {name: sorted(set(groups[name].tolist())) for name in attributes}
    each = np.column_stack([*rates, np.mean(rates, axis=0)])
    return Sample(frame, (*RECOGNIZERS, MEAN), each, np.repeat(words[:, None], 3, axis=1)), order


def long_of(sample: Sample) -> pl.DataFrame:
    """Return a row per recognizer and speaker with the rate and the groups."""
    return pl.concat(
        sample.people.with_columns(recognizer=pl.lit(name), wer=pl.Series(sample.rates[:, place]))
        for place, name in enumerate(sample.recognizers)
    )


def _verdicts(table: pl.DataFrame | None) -> list[bool | None]:
    if table is None or not table.height:
        return []
    said = {"refused": None, "shown": True}
    return [said.get(one, False) for one in table["verdict"].to_list()]


def _below(table: pl.DataFrame | None, keep: pl.Expr) -> list[bool | None]:
    if table is None or "p_adjusted" not in table.columns:
        return []
    return [None if p is None else p < 0.05 for p in table.filter(keep)["p_adjusted"].to_list()]


# The whole audit


def _parity(generator: np.random.Generator, where: Setting, ratio: float, *, planted: str) -> Claims:
    made = _drawn(generator, where, ratio, planted=planted)
    tables = parity(_table(made), attributes=["group", "region"]).tables
    each = pl.col("recognizer") != MEAN
    main = pl.col("model") == MAIN
    rows = tables.get("balance")
    return {
        "parity.pair": _verdicts(tables.get("pairs")),
        "parity.conditional": _verdicts(tables.get("conditional")),
        "parity.crossed": _verdicts(tables.get("intersectional")),
        "parity.regression": _below(tables.get("regression_tests"), each & main),
        "parity.together": _below(tables.get("regression_tests"), each & ~main),
        "parity.balance": [] if rows is None else [not one for one in rows["balanced"]],
        **_beside(made),
    }


def _beside(made: Drawn) -> dict[str, Sequence[bool]]:
    people, counted, _ = made
    errors, words = by_speaker(people, counted)
    return {f"parity.pair | {WELCH}": below(welch(log_rates(errors[:, 0], words), people.group), len(errors))}


def _alike(generator: np.random.Generator, where: Setting, share: float) -> Claims:
    made = _drawn(generator, where, share, planted="gap")
    rows = parity(_table(made), attributes=["group"], gap=MARGIN).tables["pairs"]
    return {"parity.alike": _is_alike(rows)}


def _canary(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    made = _drawn(generator, where, ratio, planted="band")
    rows = parity(_table(made), attributes=["age"], age="age").tables.get("canary")
    return {"parity.canary": [] if rows is None else rows["differs"].to_list()}


# Its parts, many times


def pairs_found(made: Drawn, shuffles: int = SHUFFLES) -> pl.DataFrame:
    """Return every two groups compared, as the audit does."""
    sample, order = sample_of(made, ["group", "region"])
    return _judged(sample, pairs_of(sample, order), shuffles)


def fixed_found(made: Drawn, shuffles: int = SHUFFLES) -> pl.DataFrame:
    """Return every two groups compared with the other attribute held fixed."""
    sample, order = sample_of(made, ["group", "region"])
    held = {"group": ["region"], "region": ["group"]}
    return _judged(sample, pairs_of(sample, order, held), shuffles)


def crossed_found(made: Drawn, shuffles: int = SHUFFLES) -> pl.DataFrame:
    """Return crossed groups compared with everybody else."""
    sample, order = sample_of(made, ["group", "region"])
    return _judged(sample, crossed_questions(sample, list(order)), shuffles)


def _judged(
    sample: Sample, questions: Sequence[Question], shuffles: int, *, limits: bool = False, **settings: Any
) -> pl.DataFrame:
    own = Settings(**settings)
    return judged(compare(sample, questions, own, limits=limits, permutations=shuffles), own, "")


def regressions_found(made: Drawn) -> pl.DataFrame:
    """Return the joint tests of attributes in regressions."""
    sample, order = sample_of(made, ["group", "region"])
    speakers = long_of(sample)
    cells = summarize_groups(speakers, ["recognizer", *(f"@{name}" for name in order)])
    counted = pl.concat(
        speakers.group_by(group=pl.col(f"@{name}"), maintain_order=True)
        .agg(speakers=pl.len())
        .with_columns(attribute=pl.lit(name))
        for name in order
    )
    return regressions(cells, order, counted, Settings()).tests


def alike_found(made: Drawn, shuffles: int = SHUFFLES) -> pl.DataFrame:
    """Return two groups compared when a gap is asked for."""
    sample, order = sample_of(made, ["group"])
    return _judged(sample, pairs_of(sample, order), shuffles, limits=True, gap=MARGIN)


def canary_found(made: Drawn, shuffles: int = SHUFFLES) -> pl.DataFrame:
    """Return the neighboring bands of middle age compared."""
    sample, order = sample_of(made, ["age"])
    pairs = _judged(sample, pairs_of(sample, order), shuffles, age="age")
    return canary(pairs, SimpleNamespace(age="age", order=order), Settings(age="age"))  # type: ignore[arg-type]


def _is_alike(rows: pl.DataFrame) -> list[bool | None]:
    own = rows.filter(pl.col("recognizer") != MEAN)
    return [None if one == "refused" else one == "alike" for one in own["verdict"].to_list()]


def _part(made: Drawn, asked: str) -> Claims:
    if asked == "pairs":
        return {
            "parity.pair": _verdicts(pairs_found(made)),
            "parity.conditional": _verdicts(fixed_found(made)),
            **_beside(made),
        }
    if asked == "crossed":
        return {"parity.crossed": _verdicts(crossed_found(made))}
    if asked == "regression":
        each, main = pl.col("recognizer") != MEAN, pl.col("model") == MAIN
        tests = regressions_found(made)
        sample, order = sample_of(made, ["group", "region"])
        rows = balance(sample.people, ["snr"], order, Settings())
        return {
            "parity.regression": _below(tests, each & main),
            "parity.together": _below(tests, each & ~main),
            "parity.balance": [not one for one in rows["balanced"]],
        }
    if asked == "alike":
        return {"parity.alike": _is_alike(alike_found(made))}
    rows = canary_found(made)
    return {"parity.canary": rows["differs"].to_list() if rows.height else []}


def _parts(audits: Numbered, where: Setting, effect: float, *, planted: str, asked: str) -> list[Claims]:
    return [_part(_drawn(generator, where, effect, planted=planted), asked) for generator in audits.values()]


MARGIN = 0.05
"""The gap asked about when likeness is the question: 5 points of word error rate."""
SHUFFLED = "speakers shuffled, with a guard; all recognizers and their mean one family"
EXPERIMENTS = (
    Experiment(
        "parity",
        partial(_parity, planted="group"),
        (
            Verdict(
                "parity.pair",
                "two groups: worse, better; report: best against worst group, shown",
                SHUFFLED,
                0.05,
                "any",
                beside=(WELCH,),
            ),
            Verdict(
                "parity.conditional",
                "all else fixed: worse, better",
                f"within strata, {SHUFFLED}",
                0.05,
                "any",
            ),
        ),
        SECOND,
        (1.25, 1.5, 1.8, 2.0, 3.0),
        batch=partial(_parts, planted="group", asked="pairs"),
        also=((setting("uneq", "16 + 16"), (1.8,)), (setting("mix", "8 + 40"), (1.8,))),
        sizes=AT_THREE,
    ),
    Experiment(
        "parity crossed",
        partial(_parity, planted="group"),
        (Verdict("parity.crossed", 'crossed groups: "worse", "better"', SHUFFLED, 0.05, "any"),),
        SECOND,
        RATIOS,
        sizes=("40 + 40", "100 + 100"),
        power_at=setting(KIND, "100 + 100"),
        batch=partial(_parts, planted="group", asked="crossed"),
    ),
    Experiment(
        "parity regression",
        partial(_parity, planted="group"),
        (
            Verdict(
                "parity.regression",
                "an attribute matters, the others held fixed",
                f"HC2, HTZ and a guard, {HOLM}",
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
        batch=partial(_parts, planted="group", asked="regression"),
        sizes=AT_THREE,
    ),
    Experiment(
        "parity together",
        partial(_parity, planted="crossed"),
        (Verdict("parity.together", "two attributes matter together", f"HC2, HTZ, {HOLM}", 0.05, "any"),),
        "error rate of one of six crossed groups, times",
        RATIOS,
        sizes=AT_THREE,
        power_at=setting(KIND, "40 + 40"),
        batch=partial(_parts, planted="crossed", asked="regression"),
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
        power_at=setting(KIND, "40 + 40"),
        batch=partial(_parts, planted="gap", asked="alike"),
        sizes=AT_THREE,
    ),
    Experiment(
        "parity canary",
        _canary,
        (Verdict("parity.canary", "neighboring bands of middle age differ", HOLM, 0.05, "any"),),
        "error rate of the middle band, times",
        RATIOS,
        sizes=AT_THREE,
        batch=partial(_parts, planted="band", asked="canary"),
    ),
)
