"""Verdicts about what a disturbance costs: robustness, rankings, gates, two runs compared, stutter, attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import FIRST_SCREEN, Claims, Experiment, Known, Numbered, Verdict
from benchmarks.verdicts.many import TOGETHER
from benchmarks.verdicts.simple import PAIRED, below, paired
from benchmarks.verdicts.world import (
    AS_ONE,
    FOR_TEXTS,
    KIND,
    REACTION,
    RECOGNIZERS,
    SCENARIOS,
    Array,
    Heard,
    People,
    Setting,
    as_table,
    by_name,
    by_speaker,
    chances,
    counts,
    draw_people,
    heard_of,
    joined,
    mean_one,
    said_words,
    setting,
    texts_of,
)
from scipy.stats import mannwhitneyu

from voxaudit.audits.accuracy.audit import accuracy
from voxaudit.audits.attack.result import Tried, summarize
from voxaudit.audits.compare.audit import compare
from voxaudit.audits.robustness.audit import robustness
from voxaudit.audits.robustness.levels import Cell, Node, mean, scenario_nodes
from voxaudit.audits.robustness.measure import (
    FALLS,
    FEW,
    GROWS,
    correlate,
    curves,
    told_apart,
    trend_row,
)
from voxaudit.audits.stutter.scoring import change
from voxaudit.audits.versus.audit import versus
from voxaudit.perturb.settings import climb, describe
from voxaudit.stats.bootstrap import Resample
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.rates import level_together, lower_log_limits, pulls, rate_intervals
from voxaudit.stats.sign_flips import SignFlips, sign_flips
from voxaudit.stats.unseen import without_errors

COSTS = (1.1, 1.25, 1.5, 2.0)
ALONE = "95 % interval leaves out 0, each by itself"
ALSO = ((setting("uneq", "16 + 16"), (1.25,)), (setting("mix", "16 + 16"), (1.25,)))


def outside(low: float | None, high: float | None, truth: float = 0.0) -> bool | None:
    """Return whether an interval leaves out the truth; None without one."""
    return None if low is None or high is None else not low <= truth <= high


def _step(scenario: str) -> int:
    return int(scenario.partition(":")[2] or 0)


def _changes(people: People, counted: Array) -> Array:
    """Return by how much each speaker's error rate is higher under disturbance: recognizers x speakers."""
    errors, words = by_speaker(people, counted)
    moved: Array = (errors[:, 1:].mean(axis=1) - errors[:, 0]) / words
    return moved


ALL = ("clean", *SCENARIOS)
Drawn = tuple[People, Array]
Draw = Callable[[np.random.Generator, Setting, float], Drawn]
Ends = tuple[float | None, float | None]


def _curve(generator: np.random.Generator, where: Setting, ratio: float) -> Drawn:
    """Draw people and errors that grow along two curves of three steps, to `ratio` times as many."""
    people = draw_people(generator, where)

    def planted(_: int, scenario: str) -> float:
        return 1.0 + (ratio - 1.0) * _step(scenario) / 3.0

    return people, counts(generator, people, ALL, planted, alike=True)


def _unequal(generator: np.random.Generator, where: Setting, ratio: float) -> Drawn:
    """Draw people and errors: half as many more under disturbance, `ratio` times that for the second recognizer."""
    people = draw_people(generator, where)
    cost = (1.5, 1.0 + 0.5 * ratio)

    def planted(number: int, scenario: str) -> float:
        return 1.0 if scenario == "clean" else cost[number]

    return people, counts(generator, people, ALL, planted, alike=True)


def _cost_beside(people: People, counted: Array) -> Claims:
    moved = _changes(people, counted)
    return {
        f"robustness.cost_overall | {PAIRED}": below(paired(moved)),
        f"robustness.ranking | {PAIRED}": below(paired(moved[1] - moved[0])),
    }


def _robustness(generator: np.random.Generator, where: Setting, ratio: float, *, draw: Draw) -> Claims:
    people, counted = draw(generator, where, ratio)
    found = robustness(as_table(people, ALL, counted), difficulty="none").detail
    rows = found.levels.filter(pl.col("werd").is_not_null() & (pl.col("name") != "clean")).to_dicts()
    costs = {
        level: [outside(row["werd_low"], row["werd_high"]) for row in rows if row["level"] == level]
        for level in ("overall", "category")
    }
    trends = [(row["trend"], row["reversals"]) for row in found.trends.iter_rows(named=True)]
    verdicts = found.comparisons["verdict"].to_list()
    return {**_cost_claims(costs, trends, verdicts), **_cost_beside(people, counted)}


def _cost_claims(
    costs: Mapping[str, Sequence[bool | None]],
    trends: Sequence[tuple[str, Sequence[str]]],
    verdicts: Sequence[str],
) -> dict[str, Sequence[bool | None]]:
    return {
        "robustness.cost_overall": costs["overall"],
        "robustness.cost_category": costs["category"],
        "robustness.reversal": [bool(reversals) for _, reversals in trends],
        "robustness.trend": [None if trend == FEW else trend in (GROWS, FALLS) for trend, _ in trends],
        "robustness.ranking": [None if one == "refused" else one == "shown" for one in verdicts],
    }


@cache
def _resample(people: int, resamples: int, seed: int) -> Resample:
    return Resample.within(["all"] * people, resamples, seed, 0.95)


RESAMPLES = 799
"""Draws of speakers in place of 2,000."""


def nodes_of(people: People, counted: Array, resample: Resample) -> list[tuple[dict[str, Node], list[Node]]]:
    """Return what the audit measures of each recognizer: its scenarios, and the means over them."""
    named = by_name(people)
    errors, words = (one[..., named] for one in by_speaker(people, counted))
    said = np.bincount(people.speaker)[named].astype(np.float64)
    order = sorted(range(len(ALL)), key=lambda place: ALL[place])
    none = float(without_errors(np.array([said.sum()]), np.array([(said**2).sum()]), 0.95)[0])
    spoken = np.repeat(words[:, None], len(ALL), axis=1)
    settings = {name: describe(name) for name in ALL}
    found = []
    for own in errors:
        clean = np.repeat(own[0][:, None], len(ALL), axis=1)
        sides = {"wer": (own[order].T, spoken), "cer": (own[order].T, spoken), "clean": (clean, spoken)}
        # Errors of characters are twice those of words, of five times as many.
        sides["cer"] = (2.0 * own[order].T, 5.0 * spoken)
        rates = {name: resample.rates(*side) for name, side in sides.items()}
        shares = {name: pulls(*side)[1] for name, side in sides.items()}
        drawn = resample.sums(np.nan_to_num(shares["wer"].share))
        cells = [
            Cell(
                scenario=ALL[place],
                place=(),
                paired=True,
                speakers=len(named),
                utterances=len(people.speaker),
                left_out=0,
                pulls={name: one.column(number) for name, one in shares.items()},
                said=drawn[:, number],
                none=none,
                **{name: values[:, number] for name, values in rates.items()},
            )
            for number, place in enumerate(order)
        ]
        nodes = scenario_nodes(cells, {}, {})
        found.append((nodes, [node for *_, node in climb(nodes, settings, mean)]))
    return found


def _robustnesses(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = []
    settings = {name: describe(name) for name in ALL}
    for number, generator in audits.items():
        people, counted = _curve(generator, where, ratio)
        resample = _resample(where.people, RESAMPLES, number // TOGETHER)
        costs: dict[str, list[bool | None]] = {"overall": [], "category": []}
        trends = []
        for nodes, means in nodes_of(people, counted, resample):
            for node in means:
                # Clean speech is a category of its own, and no cost.
                if node.level in costs and node.name != "clean":
                    costs[node.level].append(outside(*node.limits("werd", resample)))
            rows = [trend_row(curve, settings, resample) for curve in curves(nodes, settings)]
            trends += [(row["trend"], row["reversals"]) for row in rows]
        claims.append({**_cost_claims(costs, trends, ()), **_cost_beside(people, counted)})
    return claims


def _rankings(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = []
    for number, generator in audits.items():
        people, counted = _unequal(generator, where, ratio)
        # Signs are flipped: no other draws of speakers are needed.
        resample = Resample(np.ones((1, where.people)), 0.95, seed=number // TOGETHER)
        pair = [means[-1] for _, means in nodes_of(people, counted, resample)]
        told = [one["verdict"] == "shown" for one in told_apart([(pair[0], pair[1])], "werd", resample)]
        claims.append({"robustness.ranking": told, **_cost_beside(people, counted)})
    return claims


def _correlates(generator: np.random.Generator, where: Setting, slope: float) -> Claims:
    count = where.sizes[0]
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


def _at_limit(generator: np.random.Generator, where: Setting, ratio: float) -> Drawn:
    """Draw people and errors in scenarios that all have the same error rate."""
    people = draw_people(generator, where)
    return people, counts(generator, people, ALL, lambda *_: ratio, alike=True)


def _gate_claims(truth: float, clean: Sequence[Ends], worst: Sequence[Ends]) -> Claims:
    """Judge limits that are exactly the truth; what is planted makes the truth so many times as much."""
    return {
        "gate.clean_lower": [None if low is None else low > truth for low, _ in clean],
        "gate.worst_lower": [None if low is None else low > truth for low, _ in worst],
        "gate.clean_upper": [None if high is None else high < truth for _, high in clean],
        "gate.worst_upper": [None if high is None else high < truth for _, high in worst],
    }


def _gates(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted = _at_limit(generator, where, ratio)
    answer = accuracy(as_table(people, ALL, counted))
    clean = [answer.finding(f"accuracy/{name}/clean/wer") for name in RECOGNIZERS]
    worst = [answer.finding(f"accuracy/{name}/worst_wer") for name in RECOGNIZERS]
    return _gate_claims(people.wer, *([(one.low, one.high) for one in some] for some in (clean, worst)))


def rate_limits(audits: Sequence[Drawn]) -> list[tuple[list[Ends], list[Ends]]]:
    """Return the limits of the error rate on clean speech and in the worst scenario, by recognizer, of every audit."""
    count = len(audits[0][0].group)
    shape = (len(audits), len(RECOGNIZERS), len(ALL), count)
    errors, words, said = np.empty(shape), np.empty(shape), np.empty(shape)
    for place, (people, counted) in enumerate(audits):
        errors[place], words[place] = by_speaker(people, counted)
        said[place] = np.bincount(people.speaker)
    size = shape[0] * shape[1] * shape[2]
    table = pl.DataFrame(
        {
            "cell": np.repeat(np.arange(size), count),
            "speaker": np.tile(np.arange(count), size),
            "errors": errors.ravel().astype(np.int64),
            "words": words.ravel().astype(np.int64),
            "said": said.ravel(),
        }
    )
    limits = rate_intervals(table, ["cell"], utterances="said")
    ends = [limits[name].fill_null(np.nan).to_numpy().reshape(shape[:3]) for name in ("ci_low", "ci_high")]
    named = by_name(audits[0][0])
    found = []
    for place in range(len(audits)):
        clean = [_known(*(end[place, number, 0] for end in ends)) for number in range(shape[1])]
        worst = []
        for number in range(shape[1]):
            low, high = (end[place, number, 1:] for end in ends)
            low = low.copy()
            usable = low > 0.0
            if usable.any():
                own = (values[place, number, 1:][usable][:, named].T for values in (errors, words))
                rate, parts = pulls(*own)
                pull, df = parts.corrected()
                level = level_together(pull, 0.025)
                variance = np.sum(pull**2, axis=0)
                low[usable] = lower_log_limits(rate, variance, df, 1.0 - 2.0 * level)
            top = np.nan if np.isnan(high).any() else high.max()
            worst.append(_known(np.nan if np.isnan(low).all() else np.nanmax(low), top))
        found.append((clean, worst))
    return found


def _known(low: float, high: float) -> Ends:
    return (None if np.isnan(low) else float(low), None if np.isnan(high) else float(high))


def _gateses(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    made = [_at_limit(generator, where, ratio) for generator in audits.values()]
    limits = rate_limits(made)
    return [_gate_claims(people.wer, *ends) for (people, _), ends in zip(made, limits, strict=True)]


BEFORE = ("clean", *SCENARIOS[:3])
Versions = tuple[People, Array, Array]


def _versions(generator: np.random.Generator, where: Setting, ratio: float) -> Versions:
    """Draw people and the errors of two versions of two recognizers, the later one with `ratio` times as many."""
    people = draw_people(generator, where)
    # A new version treats every speaker a little differently, for better or worse.
    moved = mean_one(REACTION, generator.standard_normal(len(people.group)))
    # What was heard before and after is drawn at once: real speakers' two versions have to be alike.
    counted = counts(
        generator,
        people,
        [*BEFORE, *(f"{name} after" for name in BEFORE)],
        lambda _, scenario: ratio * moved if scenario.endswith("after") else 1.0,
        alike=True,
    )
    return people, counted[:, : len(BEFORE)], counted[:, len(BEFORE) :]


def _compare_beside(people: People, before: Array, after: Array) -> Claims:
    (errors, words), (others, _) = by_speaker(people, before), by_speaker(people, after)
    change = (others - errors).sum(axis=1) / words
    p_values = paired(change)
    worse = [
        bool(p < 0.05 / len(p_values) and one > 0.0)
        for p, one in zip(p_values, change.mean(axis=1), strict=True)
    ]
    return {f"compare.worse_overall | {PAIRED}": worse}


def _compare(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, before, after = _versions(generator, where, ratio)
    found = compare(
        as_table(people, BEFORE, before),
        as_table(people, BEFORE, after),
        attributes=["group"],
        seed=int(generator.integers(1 << 31)),
    ).detail
    slices = [None if one.verdict == "refused" else one for one in found.slices]
    return {
        "compare.change": [None if one is None else one.verdict == "shown" for one in slices],
        "compare.worse": [None if one is None else one.worse for one in slices],
        "compare.worse_overall": [one.worse for one in slices if one is not None and one.whole],
        **_compare_beside(people, before, after),
    }


def slices_of(people: People, counted: Array) -> tuple[Array, Array, Array]:
    """Return errors and words of slices, speakers x slices, and which slices are the whole.

    Slices are all trials of a recognizer (or of a pair), each scenario, each group.
    """
    named = by_name(people)
    errors, words = (one[..., named] for one in by_speaker(people, counted))
    group, scenarios = people.group[named], errors.shape[1]
    columns, spoken, first = [], [], []
    for own in errors:
        columns += [own.sum(axis=0), *own, *(own.sum(axis=0) * (group == one) for one in (0, 1))]
        spoken += [scenarios * words, *[words] * scenarios]
        spoken += [scenarios * words * (group == one) for one in (0, 1)]
        first += [True, *[False] * (scenarios + 2)]
    return np.array(columns).T, np.array(spoken).T, np.array(first)


FLIPS = 999
"""Signs flipped so many times in place of 4,999."""


def compare_p(made: Versions, seed: int, flips: int = FLIPS) -> SignFlips:
    """Return what flipping speakers' signs says of all slices."""
    people, before, after = made
    (errors, words, first), (others, _, _) = slices_of(people, before), slices_of(people, after)
    return sign_flips(others - errors, words, first=first, flips=flips, seed=seed)


def _compares(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = []
    for generator in audits.values():
        made = _versions(generator, where, ratio)
        found = compare_p(made, int(generator.integers(1 << 31)))
        shown = found.p_family <= 0.05
        worse = shown & (found.estimate > 0.0)
        claims.append(
            {
                "compare.change": shown.tolist(),
                "compare.worse": worse.tolist(),
                "compare.worse_overall": worse[found.first].tolist(),
                **_compare_beside(*made),
            }
        )
    return claims


def _two(generator: np.random.Generator, where: Setting, ratio: float) -> tuple[People, Array]:
    """Draw people and the errors of two recognizers, the second one with `ratio` times as many."""
    people = draw_people(generator, where)
    return people, counts(generator, people, BEFORE, lambda number, _: (1.0, ratio)[number], alike=True)


def _versus_beside(people: People, counted: Array) -> Claims:
    errors, words = by_speaker(people, counted)
    return {f"versus.overall | {PAIRED}": below(paired((errors[1] - errors[0]).sum(axis=0) / words))}


def _versus(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted = _two(generator, where, ratio)
    table = as_table(people, BEFORE, counted)
    slices = versus(table, attributes=["group"], seed=int(generator.integers(1 << 31))).detail.slices
    known = [None if one.verdict == "refused" else one.verdict == "shown" for one in slices]
    return {
        "versus.overall": [said for said, one in zip(known, slices, strict=True) if one.whole],
        "versus.any": known,
        **_versus_beside(people, counted),
    }


def versus_p(people: People, counted: Array, seed: int, flips: int = FLIPS) -> SignFlips:
    """Return what flipping speakers' signs says of two recognizers.

    Slices are all trials, clean and disturbed speech, groups, and the scenario in which both make most errors.
    """
    clean, disturbed = counted[:, :1], counted[:, 1:].sum(axis=1, keepdims=True)
    errors, there, first = slices_of(people, np.concatenate([clean, disturbed], axis=1))
    width = len(first) // 2
    worst = 1 + int(counted[:, 1:].sum(axis=(0, 2)).argmax())
    most = by_speaker(people, counted)[0][:, worst, by_name(people)]
    change = np.column_stack([errors[:, :width] - errors[:, width:], most[0] - most[1]])
    there, first = np.column_stack([there[:, :width], there[:, 1]]), np.append(first[:width], False)
    # All scenarios, clean speech, the others, all scenarios of either group, the worst: so often was each word said.
    times = np.array([len(BEFORE), 1, len(BEFORE) - 1, len(BEFORE), len(BEFORE), 1])
    words: Array = np.where(there > 0.0, there[:, [1]] * times, 0.0)
    return sign_flips(change, words, first=first, flips=flips, seed=seed)


def _versuses(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = []
    for generator in audits.values():
        people, counted = _two(generator, where, ratio)
        found = versus_p(people, counted, int(generator.integers(1 << 31)))
        shown = found.p_family <= 0.05
        claims.append(
            {
                "versus.overall": shown[found.first].tolist(),
                "versus.any": shown.tolist(),
                **_versus_beside(people, counted),
            }
        )
    return claims


CASES = 3
"""Stuttered versions of a recording."""
Spoken = tuple[People, list[tuple[Array, list[Heard]]]]


def _stuttered(generator: np.random.Generator, where: Setting, ratio: float) -> Spoken:
    """Draw what two recognizers hear of recordings and of stuttered versions of them."""
    people = draw_people(generator, where, most=FOR_TEXTS)
    row = np.repeat(np.arange(len(people.speaker)), people.words)
    found = []
    for number in range(2):
        words = said_words(generator, people)
        moved = ratio * mean_one(REACTION, generator.standard_normal(len(people.group)))[people.speaker]
        chance = [chances(generator, people, number) * (moved if case else 1.0) for case in range(CASES + 1)]
        found.append((words, [heard_of(generator, people, one[row], number) for one in chance]))
    return people, found


def errors_of(people: People, heard: Heard) -> Array:
    """Return the errors of each utterance: words missed, or made up where those are more (some stand for others)."""
    row = np.repeat(np.arange(len(people.speaker)), people.words)
    missed = np.bincount(row, ~heard.kept, len(people.speaker)).astype(np.int64)
    return np.maximum(missed, heard.more)


def _stutter(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, spoken = _stuttered(generator, where, ratio)
    height = len(people.speaker)
    names, ids = [f"s{n}" for n in people.speaker], [f"u{n}" for n in range(height)]
    row = np.repeat(np.arange(height), people.words)
    found = []
    for words, heard in spoken:
        about = pl.DataFrame({"utterance": ids, "speaker": names, "intended": joined(row, words, height)})
        parts = [
            about.with_columns(chain=pl.lit(f"c{case}" if case else ""), heard=texts_of(people, words, one))
            for case, one in enumerate(heard)
        ]
        one = change(pl.concat(parts), seed=int(generator.integers(1 << 31)))
        if one is not None:
            found.append((one.low, one.high, one.p, one.p_u_published))
    return _stutter_claims(found)


PUBLISHED_U = "the paper's Mann-Whitney test, recordings before and after taken for independent samples"
"""`p_u_published` in the JSON: there for comparison with the paper, nothing printed rests on it."""
Cost = tuple[float | None, float | None, float | None, float]
"""The limits of a cost, its p, and the paper's p."""


def _stutter_claims(found: Sequence[Cost]) -> Claims:
    adjusted = holm([p for _, _, p, _ in found])
    return {
        "stutter.shown": [None if p is None else p <= 0.05 for p in adjusted],
        "stutter.change": [outside(low, high) for low, high, _, _ in found],
        f"stutter.change | {PUBLISHED_U}": [published < 0.05 for *_, published in found],
    }


def stutter_cost(people: People, heard: Sequence[Heard], resample: Resample) -> Cost:
    """Return what is found of the cost of stuttering as `stats.paired` finds it, draws being shared by many audits."""
    errors, words, named = [errors_of(people, one) for one in heard], people.words, by_name(people)

    def by_speaker(values: Array) -> Array:
        return np.bincount(people.speaker, values, len(people.group))[named]

    said, before, cases = by_speaker(words), by_speaker(errors[0]), [by_speaker(one) for one in errors[1:]]
    each = (np.column_stack(cases), np.repeat(said[:, None], CASES, axis=1))
    found = resample.change((each[0].sum(axis=1), CASES * said), (before, said), each)
    rates = (sum(errors[1:]) / (CASES * words), errors[0] / words)
    published = mannwhitneyu(*rates, alternative="two-sided")[1]
    return found.low, found.high, found.p, float(published)


def _stutters(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims = []
    for number, generator in audits.items():
        people, spoken = _stuttered(generator, where, ratio)
        resample = _resample(where.people, RESAMPLES, number // TOGETHER)
        found = [stutter_cost(people, heard, resample) for _, heard in spoken]
        claims.append(_stutter_claims(found))
    return claims


def _attacked(generator: np.random.Generator, where: Setting, ratio: float) -> Spoken:
    """Draw what two recognizers hear of clean speech, of plain noise and of noise that was chosen."""
    people = draw_people(generator, where, most=FOR_TEXTS)
    row = np.repeat(np.arange(len(people.speaker)), people.words)
    found = []
    for number in range(2):
        words = said_words(generator, people)
        moved = mean_one(REACTION, generator.standard_normal((2, len(people.group))))[:, people.speaker]
        chance = [times * chances(generator, people, number) for times in (1.0, moved[0], ratio * moved[1])]
        found.append((words, [heard_of(generator, people, one[row], number) for one in chance]))
    return people, found


def _attack(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, spoken = _attacked(generator, where, ratio)
    claims: dict[str, list[bool | None]] = {"attack.cost": [], "attack.over_noise": []}
    height = len(people.speaker)
    row = np.repeat(np.arange(height), people.words)
    for words, heard in spoken:
        said = joined(row, words, height).to_list()
        clean, noise, attacked = (texts_of(people, words, one).to_list() for one in heard)
        tried = [
            Tried(f"u{n}", f"s{who}", said[n], clean[n], attacked[n], noise[n])
            for n, who in enumerate(people.speaker)
        ]
        summary = summarize(
            tried,
            recognizer="one",
            method="pgd",
            scenario="pgd:1",
            snr=40.0,
            queries=0,
            seconds=0.0,
            settings={},
        )
        claims["attack.cost"].append(outside(summary.werd_low, summary.werd_high))
        claims["attack.over_noise"].append(outside(summary.werd_over_noise_low, summary.werd_over_noise_high))
    return claims


def _attacks(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = []
    for number, generator in audits.items():
        people, spoken = _attacked(generator, where, ratio)
        unit, count = people.speaker, where.people
        resample = _resample(count, RESAMPLES, number // TOGETHER)
        words = np.bincount(unit, people.words, count)
        own: dict[str, list[bool | None]] = {"attack.cost": [], "attack.over_noise": []}
        for _, heard in spoken:
            clean, noise, attacked = (errors_of(people, one) for one in heard)
            for name, other in (("cost", clean), ("over_noise", noise)):
                moved = np.bincount(unit, attacked - other, count)
                found = resample.change((moved, words), (0.0 * moved, words))
                own[f"attack.{name}"].append(outside(found.low, found.high))
        claims.append(own)
    return claims


SIDE = "one side of a 95 % interval, speakers are the sample"
SPARED = "Clean speech may have been spared the few utterances with a hundred made-up words, and nothing tells of them."
EXPERIMENTS = (
    Experiment(
        "robustness cost",
        partial(_robustness, draw=_curve),
        (
            Verdict(
                "robustness.cost_overall",
                'report: "disturbed speech costs X points", shown',
                ALONE,
                0.05,
                "each",
                beside=(PAIRED,),
            ),
            Verdict(
                "robustness.cost_category",
                "report: the cost of a category, shown",
                ALONE,
                0.05,
                "each",
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
        batch=_robustnesses,
        audits=FIRST_SCREEN,
        also=ALSO,
        sizes=AS_ONE,
    ),
    Experiment(
        "robustness ranking",
        partial(_robustness, draw=_unequal),
        (
            Verdict(
                "robustness.ranking",
                '"X bears disturbed speech better than Y"',
                "95 % intervals for all pairs at once",
                0.05,
                "any",
                beside=(PAIRED,),
            ),
        ),
        "points that disturbance costs the second recognizer, times",
        COSTS,
        batch=_rankings,
        also=ALSO,
        sizes=AS_ONE,
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
        worlds=(KIND,),
        sizes=("8 + 8", "16 + 16", "40 + 40"),
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
                known=(Known(("burst",), 0.07, SPARED),),
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
        batch=_gateses,
        audits=FIRST_SCREEN,
        also=ALSO,
        sizes=AS_ONE,
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
            Verdict(
                "compare.worse_overall",
                '"worse" of all trials of a recognizer',
                "the same, one side",
                0.025,
                "any",
                beside=(PAIRED,),
            ),
        ),
        "error rate of the new run, times",
        (1.05, 1.1, 1.25, 1.5),
        audits=FIRST_SCREEN,
        batch=_compares,
        also=(*ALSO, (setting("uneq", "12 + 12"), (1.2,))),
        sizes=AS_ONE,
    ),
    Experiment(
        "versus",
        _versus,
        (
            Verdict(
                "versus.overall",
                '"X makes fewer errors than Y" on all trials',
                "signs of speakers flipped, asked first with four fifths of the level",
                0.05,
                "any",
                beside=(PAIRED,),
            ),
            Verdict("versus.any", "the same anywhere, overall included", "all slices together", 0.05, "any"),
        ),
        "error rate of the second recognizer, times",
        (1.05, 1.1, 1.25, 1.5),
        audits=FIRST_SCREEN,
        batch=_versuses,
        also=ALSO,
        sizes=AS_ONE,
    ),
    Experiment(
        "stutter",
        _stutter,
        (
            Verdict(
                "stutter.shown",
                'report: "stuttering costs X points", shown',
                "random halves and hearings turned round, Holm over recognizers",
                0.05,
                "any",
            ),
            Verdict(
                "stutter.change",
                "the interval of stuttering's cost leaves out 0",
                ALONE,
                0.05,
                "each",
                beside=(PUBLISHED_U,),
            ),
        ),
        "error rate of stuttered speech, times",
        COSTS,
        batch=_stutters,
        audits=FIRST_SCREEN,
        also=ALSO,
        sizes=AS_ONE,
    ),
    Experiment(
        "attack",
        _attack,
        (
            Verdict(
                "attack.cost",
                'report: "noise chosen by an adversary costs", shown',
                ALONE,
                0.05,
                "each",
            ),
            Verdict(
                "attack.over_noise",
                "more than plain noise of that level",
                ALONE,
                0.05,
                "each",
            ),
        ),
        "error rate under attack, times",
        COSTS,
        batch=_attacks,
    ),
)
