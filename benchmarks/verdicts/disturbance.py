"""Verdicts about what a disturbance costs: robustness, rankings, gates, two runs compared, stutter, attack."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Verdict
from benchmarks.verdicts.world import (
    RATE,
    REACTION,
    RECOGNIZERS,
    SCENARIOS,
    VOCABULARY,
    Array,
    People,
    Setting,
    draw_people,
    mean_one,
    scores,
)

from voxaudit.audits.accuracy.audit import accuracy
from voxaudit.audits.attack.result import Tried, summarize
from voxaudit.audits.compare.audit import compare
from voxaudit.audits.robustness.audit import robustness
from voxaudit.audits.robustness.measure import FALLS, FEW, GROWS, correlate
from voxaudit.audits.stutter.scoring import change

COSTS = (1.1, 1.25, 1.5, 2.0)
ALONE = "95 % interval leaves out 0, each by itself"
FEW_RESAMPLED = (
    "Differences of rates have intervals from resampled speakers, which are too narrow where few speakers say most of"
    " the words. From 40 speakers on they hold."
)


def outside(low: float | None, high: float | None, truth: float = 0.0) -> bool | None:
    """Return whether an interval leaves out the truth; None without one."""
    return None if low is None or high is None else not low <= truth <= high


def _step(scenario: str) -> int:
    return int(scenario.partition(":")[2] or 0)


def _cost(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    table = scores(
        generator,
        people,
        ["clean", *SCENARIOS],
        lambda _, scenario: 1.0 + (ratio - 1.0) * _step(scenario) / 3.0,
    )
    found = robustness(table, difficulty="none").detail
    rows = found.levels.filter(pl.col("werd").is_not_null() & (pl.col("name") != "clean")).to_dicts()
    claims: dict[str, list[bool | None]] = {
        f"robustness.cost_{level}": [
            outside(row["werd_low"], row["werd_high"]) for row in rows if row["level"] == level
        ]
        for level in ("overall", "category")
    }
    claims["robustness.reversal"] = [bool(one) for one in found.trends["reversals"].to_list()]
    claims["robustness.trend"] = [
        None if row["trend"] == FEW else row["trend"] in (GROWS, FALLS)
        for row in found.trends.iter_rows(named=True)
    ]
    return claims


def _ranking(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    cost = (1.5, 1.0 + 0.5 * ratio)
    table = scores(
        generator,
        people,
        ["clean", *SCENARIOS],
        lambda number, scenario: 1.0 if scenario == "clean" else cost[number],
    )
    verdicts = robustness(table, difficulty="none").detail.comparisons["verdict"].to_list()
    return {"robustness.ranking": [None if one == "refused" else one == "shown" for one in verdicts]}


def _correlates(generator: np.random.Generator, setting: Setting, slope: float) -> Claims:
    count = setting.sizes[0]
    names = [f"r{n}" for n in range(count)]
    standard = generator.standard_normal((4, count))
    # What is measured on clean speech is part of both sides: its sampling error is in WERD with the other sign.
    error = 0.01 * standard[3]
    clean = np.clip(0.15 + 0.05 * standard[0] + error, 0.01, None)
    werd = 0.12 + 0.04 * (slope * standard[1] + standard[2]) - error
    facts = pl.DataFrame({"recognizer": names, "parameters": np.exp(3.0 * standard[1] + 18.0)})
    found, _ = correlate(
        facts, dict(zip(names, werd, strict=True)), dict(zip(names, clean, strict=True)), "werd"
    )
    return {"robustness.correlate": [row["verdict"] == "shown" for row in found["correlates"]]}


def _gates(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    """Judge limits that are exactly the truth; `ratio` makes the truth so many times as much."""
    people = draw_people(generator, setting)
    table = scores(generator, people, ["clean", *SCENARIOS], lambda *_: ratio)
    answer = accuracy(table)
    clean = [answer.finding(f"accuracy/{name}/clean/wer") for name in RECOGNIZERS]
    worst = [answer.finding(f"accuracy/{name}/worst_wer") for name in RECOGNIZERS]
    return {
        "gate.clean_lower": [_above(one.low) for one in clean],
        "gate.worst_lower": [_above(one.low) for one in worst],
        "gate.clean_upper": [not _above(one.high) for one in clean],
        "gate.worst_upper": [not _above(one.high) for one in worst],
    }


def _above(limit: float | None) -> bool:
    if limit is None:
        raise ValueError("every scenario has errors of all speakers here, and so a limit")
    return limit > RATE


def _compare(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    heard = ["clean", *SCENARIOS[:3]]
    before = scores(generator, people, heard)
    # A new version treats every speaker a little differently, for better or worse.
    moved = mean_one(REACTION, generator.standard_normal(len(people.group)))
    after = scores(generator, people, heard, lambda *_: ratio * moved)
    found = compare(before, after, attributes=["group"], seed=int(generator.integers(1 << 31)))
    slices = [None if one.verdict == "refused" else one for one in found.detail.slices]
    return {
        "compare.change": [None if one is None else one.verdict == "shown" for one in slices],
        "compare.worse": [None if one is None else one.worse for one in slices],
    }


def _heard(generator: np.random.Generator, people: People, chance: Array) -> tuple[list[str], list[str]]:
    """Return what was said and what was heard of it, words being lost with a chance an utterance."""
    words = np.array(VOCABULARY, dtype=object)[generator.integers(0, len(VOCABULARY), people.words.sum())]
    lost = generator.random(len(words)) < np.repeat(np.minimum(chance, 0.95), people.words)
    ends = np.cumsum(people.words)[:-1]
    said = [" ".join(part) for part in np.split(words, ends)]
    heard = [" ".join(filter(None, part)) for part in np.split(np.where(lost, "", words), ends)]
    return said, heard


def _again(generator: np.random.Generator, texts: Iterable[str], chance: Array) -> list[str]:
    kept = []
    for text, one in zip(texts, np.minimum(chance, 0.95), strict=True):
        words = text.split()
        stay = generator.random(len(words)) >= one
        kept.append(" ".join(word for word, here in zip(words, stay, strict=True) if here))
    return kept


CASES = 3
"""Stuttered versions of a recording."""


def _stutter(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    claims: dict[str, list[bool | None]] = {"stutter.change": [], "stutter.p": [], "stutter.paper": []}
    names = [f"s{n}" for n in people.speaker]
    ids = [f"u{n}" for n in range(len(names))]
    for number in range(2):
        chance = RATE * (people.own[number][people.speaker] * people.hard)
        said, before = _heard(generator, people, chance)
        moved = ratio * mean_one(REACTION, generator.standard_normal(len(people.group)))[people.speaker]
        parts = [("", before)] + [(f"c{k}", _again(generator, said, chance * moved)) for k in range(CASES)]
        table = pl.concat(
            pl.DataFrame(
                {
                    "utterance": ids,
                    "speaker": names,
                    "chain": [chain] * len(ids),
                    "intended": said,
                    "heard": heard,
                }
            )
            for chain, heard in parts
        )
        found = change(table, seed=int(generator.integers(1 << 31)))
        if found is not None:
            claims["stutter.change"].append(outside(found.low, found.high))
            claims["stutter.p"].append(None if found.p is None else found.p < 0.05)
            claims["stutter.paper"].append(found.p_u_published < 0.05)
    return claims


def _attack(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    people = draw_people(generator, setting)
    claims: dict[str, list[bool | None]] = {"attack.cost": [], "attack.over_noise": []}
    for number in range(2):
        chance = RATE * (people.own[number][people.speaker] * people.hard)
        said, clean = _heard(generator, people, chance)
        moved = mean_one(REACTION, generator.standard_normal((2, len(people.group))))[:, people.speaker]
        noise = _again(generator, said, chance * moved[0])
        attacked = _again(generator, said, ratio * chance * moved[1])
        tried = [
            Tried(f"u{n}", f"s{who}", said[n], clean[n], attacked[n], noise[n])
            for n, who in enumerate(people.speaker)
        ]
        row = summarize(
            tried,
            recognizer="one",
            method="pgd",
            scenario="pgd:1",
            snr=40.0,
            queries=0,
            seconds=0.0,
            settings={},
        )
        claims["attack.cost"].append(outside(row.werd_low, row.werd_high))
        claims["attack.over_noise"].append(outside(row.werd_over_noise_low, row.werd_over_noise_high))
    return claims


DISTURBED = "error rate under disturbance, times"
SIDE = "one side of a 95 % interval, log scale, speakers are the sample"
EXPERIMENTS = (
    Experiment(
        "robustness cost",
        _cost,
        (
            Verdict(
                "robustness.cost_overall",
                'report: "disturbed speech costs X points", shown',
                ALONE,
                0.05,
                "each",
                exception=FEW_RESAMPLED,
                up_to=0.08,
            ),
            Verdict(
                "robustness.cost_category",
                "report: the cost of a category, shown",
                ALONE,
                0.05,
                "each",
                exception=FEW_RESAMPLED,
                up_to=0.08,
            ),
            Verdict(
                "robustness.trend",
                'along a severity curve WER "grows", "falls"',
                "95 % interval of the slope leaves out 0, each by itself",
                0.05,
                "each",
            ),
            Verdict(
                "robustness.reversal",
                "WER falls at a step of a severity curve",
                "one side of a 95 % interval, Bonferroni over the steps of a curve",
                0.025,
                "each",
            ),
        ),
        "error rate at the harshest of three steps, times",
        (0.5, 0.8, 1.1, 1.25, 1.5, 2.0),
    ),
    Experiment(
        "robustness ranking",
        _ranking,
        (
            Verdict(
                "robustness.ranking",
                '"X bears disturbed speech better than Y"',
                "95 % intervals for all pairs at once",
                0.05,
                "any",
            ),
        ),
        "points that disturbance costs the second recognizer, times",
        COSTS,
    ),
    Experiment(
        "robustness correlates",
        _correlates,
        (
            Verdict(
                "robustness.correlate",
                '"more goes with more errors", "with fewer errors"',
                "Kendall's tau, Holm over the facts",
                0.05,
                "any",
            ),
        ),
        "slope of the cost on the fact, in standard deviations of the rest",
        (0.5, 1.0, 2.0),
        null=0.0,
        settings=("8 + 8", "16 + 16", "40 + 40"),
        units="recognizers",
    ),
    Experiment(
        "gates",
        _gates,
        (
            Verdict(
                "gate.clean_lower", "gate clean_wer, bound lower: fails though it holds", SIDE, 0.025, "each"
            ),
            Verdict(
                "gate.worst_lower",
                "gate worst_wer, bound lower: fails though no scenario is above",
                f"{SIDE}, all scenarios together",
                0.025,
                "each",
            ),
            Verdict(
                "gate.clean_upper",
                "gate clean_wer, bound upper: passes at the limit",
                SIDE,
                0.025,
                "each",
                exception=(
                    "Speakers' error rates are skewed, and samples without the hardest speakers do not show how much."
                ),
                up_to=0.037,
            ),
            Verdict(
                "gate.worst_upper",
                "gate worst_wer, bound upper: passes with all scenarios at the limit",
                f"{SIDE}, the largest over scenarios",
                0.025,
                "each",
            ),
        ),
        "true error rate, times the limit",
        (0.5, 0.67, 0.8, 1.25, 1.5, 2.0),
    ),
    Experiment(
        "compare",
        _compare,
        (
            Verdict(
                "compare.change",
                '"worse", "better"',
                "signs of speakers flipped, all slices together",
                0.05,
                "any",
            ),
            Verdict(
                "compare.worse",
                '"worse": the command and the gate baseline fail',
                "the same, one side",
                0.025,
                "any",
            ),
        ),
        "error rate of the new run, times",
        (1.05, 1.1, 1.25, 1.5),
    ),
    Experiment(
        "stutter",
        _stutter,
        (
            Verdict("stutter.change", "the interval of stuttering's cost leaves out 0", ALONE, 0.05, "each"),
            Verdict(
                "stutter.p",
                "the same by p; report: shown where both agree",
                "speakers' signs flipped",
                0.05,
                "each",
            ),
            Verdict(
                "stutter.paper",
                "no verdict: p_u_published in the JSON (the paper's) below 0.05",
                "recordings taken for independent",
                0.05,
                "each",
                exception=(
                    "The mean of three cases is compared with single originals as if both were samples"
                    " of independent recordings."
                ),
                up_to=0.46,
            ),
        ),
        "error rate of stuttered speech, times",
        COSTS,
        settings=("8 + 8", "16 + 16", "40 + 40"),
        weight=0.7,
    ),
    Experiment(
        "attack",
        _attack,
        (
            Verdict(
                "attack.cost", 'report: "noise chosen by an adversary costs", shown', ALONE, 0.05, "each"
            ),
            Verdict(
                "attack.over_noise",
                "more than plain noise of that level",
                ALONE,
                0.05,
                "each",
                exception=FEW_RESAMPLED,
                up_to=0.088,
            ),
        ),
        "error rate under attack, times",
        COSTS,
        settings=("2 + 2", "8 + 8", "16 + 16", "40 + 40"),
    ),
)
