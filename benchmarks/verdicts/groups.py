"""Verdicts about groups of speakers: disparity, robustness by group, differential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import FIRST_SCREEN, Claims, Experiment, Known, Numbered, Verdict
from benchmarks.verdicts.many import SHUFFLES, blocks, judge_ratios
from benchmarks.verdicts.resampled import AS_THEY_ARE, KOENECKE
from benchmarks.verdicts.simple import CHANGE, WELCH, below, log_rates, welch
from benchmarks.verdicts.world import (
    AT_THREE,
    FOR_TEXTS,
    RATIOS,
    RECOGNIZERS,
    SCENARIOS,
    SECOND,
    TURNED,
    Array,
    Heard,
    People,
    Setting,
    as_table,
    by_name,
    by_speaker,
    counts,
    draw_people,
    for_second,
    hear,
    setting,
    transcripts,
)

from voxaudit.audits.differential.audit import differential
from voxaudit.audits.differential.views import TAUS
from voxaudit.audits.disparity.audit import disparity
from voxaudit.audits.robustness.audit import robustness
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.perturb.settings import climb, describe
from voxaudit.stats.group_ratios import CHANGE as RATIO_CHANGE
from voxaudit.stats.group_ratios import RATE, Rates, judge
from voxaudit.stats.mean_rates import as_one_rate
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.sign_flips import fallback
from voxaudit.stats.speaker_permutations import SpeakerSums, compare_groups

COST = 2.0
"""What disturbed speech multiplies everybody's error rate by where it is not the question."""
ALSO = ((setting("uneq", "16 + 16"), (2.0,)), (setting("mix", "8 + 40"), (2.0,)))
RACES = setting(AS_THEY_ARE[KOENECKE], "12 + 12")


def _clean(generator: np.random.Generator, where: Setting, ratio: float) -> tuple[People, Array]:
    """Draw people and their errors on clean speech, those of the second group `ratio` times as many."""
    people = draw_people(generator, where)
    factor = for_second(people, ratio)
    return people, counts(generator, people, ["clean"], lambda *_: factor)


def _gap_beside(people: People, counted: Array) -> Sequence[bool]:
    errors, words = by_speaker(people, counted)
    return below(welch(log_rates(errors[:, 0], words), people.group), len(errors))


def _gap(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted = _clean(generator, where, ratio)
    beside = {f"disparity.gap | {WELCH}": _gap_beside(people, counted)}
    try:
        found = disparity(as_table(people, ["clean"], counted), attribute="group").detail
    except VoxauditError:
        return beside
    gaps = [None if one.verdict == "refused" else one for one in found.gaps]
    return {
        "disparity.gap": [None if one is None else one.verdict == "shown" for one in gaps],
        "gate.group_ratio": [
            None if one is None or one.low is None or one.high is None else not one.low <= 1.0 <= one.high
            for one in gaps
        ],
        **beside,
    }


FEWEST_ERRORS = 5


def gap_p(audits: Sequence[tuple[People, Array]], shuffles: Shuffles) -> tuple[Array, Array]:
    """Return p of the ratio of error rates of every audit and recognizer, by itself and in the audit's family."""
    sums = np.empty((2, len(audits[0][0].group), len(audits), len(RECOGNIZERS)))
    for place, (people, counted) in enumerate(audits):
        errors, words = by_speaker(people, counted)
        sums[0, :, place], sums[1, :, place] = errors[:, 0].T, words[:, None]
    second = audits[0][0].group == 1
    made = sums.sum(axis=3)
    rates = [made[0, own].sum(axis=0) / made[1, own].sum(axis=0) for own in (~second, second)]
    # The worse group is set against the better one.
    alone, together = judge_ratios(sums, second, rates[1] > rates[0], shuffles)
    few = sums[0].sum(axis=0) < FEWEST_ERRORS
    return np.where(few, np.nan, alone), np.where(few, np.nan, together)


def _gaps(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    made = [_clean(generator, where, ratio) for generator in audits.values()]
    claims: list[Claims] = [{}] * len(made)
    for block, places in blocks(list(audits)):
        shuffles = Shuffles(where.people, SHUFFLES, block)
        alone, together = gap_p([made[place] for place in places], shuffles)
        for place, p, adjusted in zip(places, alone, together, strict=True):
            claims[place] = {
                "disparity.gap": _said(adjusted),
                # The interval is the ratios that the test does not reject.
                "gate.group_ratio": _said(p),
                f"disparity.gap | {WELCH}": _gap_beside(*made[place]),
            }
    return claims


SHARES = (0.5, 0.5, 0.25, 0.25, 0.5)
"""Chances of a speaker to be in the second group of further attributes; the first of these follows the groups."""
FEWEST_OF_A_GROUP = 5


def _six(generator: np.random.Generator, where: Setting, ratio: float) -> tuple[People, Array, Array]:
    """Draw people, errors on clean speech, and six attributes (speakers): the group, one akin to it, four by chance."""
    people, counted = _clean(generator, where, ratio)
    columns = [people.group == 1]
    for number, share in enumerate(SHARES):
        while True:
            own = generator.random(len(people.group)) < share
            if number == 0:
                own = np.where(generator.random(len(own)) < 0.8, columns[0], own)
            if FEWEST_OF_A_GROUP <= own.sum() <= len(own) - FEWEST_OF_A_GROUP:
                break
        columns.append(own)
    return people, counted, np.array(columns)


def _attributes(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted, second = _six(generator, where, ratio)
    names = {f"attribute{n}": own for n, own in enumerate(second)}
    of_speaker = pl.DataFrame({"speaker": [f"s{n}" for n in range(second.shape[1])], **names})
    table = as_table(people, ["clean"], counted).join(of_speaker, on="speaker")
    found = disparity(table, attribute=list(names)).detail.gaps
    return {"disparity.six": [None if one.verdict == "refused" else one.verdict == "shown" for one in found]}


def six_p(made: tuple[People, Array, Array], shuffles: Shuffles) -> Array:
    """Return p, in the family of all six attributes and both recognizers, of the ratios of error rates."""
    people, counted, second = made
    errors, words = by_speaker(people, counted)
    sums = np.stack([errors[:, 0].T, np.repeat(words[:, None], len(errors), axis=1)])
    rates = []
    for own in second:
        sides = [sums * mark[None, :, None] for mark in (own, ~own)]
        worse, better = sorted(sides, key=lambda side: -side[0].sum() / side[1].sum())
        rates.append(Rates(worse, better, shuffles))
    found = [one for cells in judge(rates, limits=False) for one in cells]
    return np.array([np.nan if one.p_adjusted is None else one.p_adjusted for one in found])


def _attributeses(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    claims: list[Claims] = [{}] * len(audits)
    made = [_six(generator, where, ratio) for generator in audits.values()]
    for block, places in blocks(list(audits)):
        shuffles = Shuffles(where.people, SHUFFLES, block)
        for place in places:
            claims[place] = {"disparity.six": _said(six_p(made[place], shuffles))}
    return claims


def _disturbed(
    generator: np.random.Generator, where: Setting, ratio: float, scenarios: Sequence[str]
) -> tuple[People, Array]:
    """Draw people and errors: disturbances cost everybody, and the second group `ratio` times as much."""
    people = draw_people(generator, where)
    factor = for_second(people, ratio)
    counted = counts(
        generator, people, scenarios, lambda _, scenario: 1.0 if scenario == "clean" else COST * factor
    )
    return people, counted


TWO = ("clean", *SCENARIOS[:2])


def _interaction_beside(people: People, counted: Array) -> Sequence[bool]:
    errors, words = by_speaker(people, counted)
    moved = log_rates(errors[:, 1:].mean(axis=1), words) - log_rates(errors[:, 0], words)
    return below(welch(moved, people.group), len(moved))


def _interaction(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted = _disturbed(generator, where, ratio, TWO)
    beside = {f"disparity.interaction | {CHANGE}": _interaction_beside(people, counted)}
    try:
        found = disparity(as_table(people, TWO, counted), attribute="group", interaction="scenario").detail
    except VoxauditError:
        return beside
    return {"disparity.interaction": [one.verdict == "shown" for one in found.changes], **beside}


def change_p(audits: Sequence[tuple[People, Array]], shuffles: Shuffles) -> Array:
    """Return p, in the audit's family, of how much more a group's errors grow from clean speech to each scenario.

    Audits x (recognizers x scenarios); nan where there is no ratio.
    """
    cells = len(RECOGNIZERS) * (len(TWO) - 1)
    sums = np.empty((4, len(audits[0][0].group), len(audits), cells))
    rates = np.empty((2, len(audits)))
    second = audits[0][0].group == 1
    for place, (people, counted) in enumerate(audits):
        errors, words = by_speaker(people, counted)
        sums[0, :, place] = errors[:, 1:].reshape(cells, -1).T
        sums[2, :, place] = np.repeat(errors[:, 0], len(TWO) - 1, axis=0).T
        sums[1, :, place] = sums[3, :, place] = words[:, None]
        rates[:, place] = [errors[..., own].sum() / words[own].sum() for own in (~second, second)]
    _, together = judge_ratios(sums, second, rates[1] > rates[0], shuffles, coefficients=RATIO_CHANGE)
    return together


def _interactions(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    made = [_disturbed(generator, where, ratio, TWO) for generator in audits.values()]
    claims: list[Claims] = [{}] * len(made)
    for block, places in blocks(list(audits)):
        found = change_p([made[place] for place in places], Shuffles(where.people, SHUFFLES, block))
        for place, adjusted in zip(places, found, strict=True):
            claims[place] = {
                "disparity.interaction": _said(adjusted),
                f"disparity.interaction | {CHANGE}": _interaction_beside(*made[place]),
            }
    return claims


ALL = ("clean", *SCENARIOS)
LEVELS = ("overall", "category", "scenario")


def _lwerr_beside(people: People, counted: Array) -> dict[str, Sequence[bool]]:
    errors, words = by_speaker(people, counted)
    overall = log_rates(errors[:, 1:].mean(axis=1), words)
    moved = overall - log_rates(errors[:, 0], words)
    return {
        f"robustness.group_overall | {WELCH}": below(welch(overall, people.group), len(overall)),
        f"robustness.group_change | {CHANGE}": below(welch(moved, people.group), len(moved)),
    }


def _lwerr(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, counted = _disturbed(generator, where, ratio, ALL)
    rows = robustness(as_table(people, ALL, counted), attributes=["group"], difficulty="none").detail.groups
    claims: dict[str, Sequence[bool | None]] = dict(_lwerr_beside(people, counted))
    said = {None: None, "refused": None, "shown": True, "not_shown": False}
    for level in LEVELS:
        own = rows.filter(level=level)
        claims[f"robustness.group_{level}"] = [said[one] for one in own["verdict"]]
        if level == "overall":
            claims["robustness.group_change"] = [said[one] for one in own["change_verdict"]]
    claims["robustness.group_any"] = [said[one] for one in rows["verdict"]]
    claims["robustness.group_change_any"] = [said[one] for one in rows["change_verdict"]]
    return claims


@cache
def _means() -> tuple[list[str], list[str], Array]:
    """Return the scenarios as the audit orders them, and the means it compares: their levels and weights."""
    names = sorted(ALL)
    own = dict(zip(names, np.eye(len(names)), strict=True))
    settings = {name: describe(name) for name in names}
    averaged = climb(own, settings, lambda _level, _name, parts: np.mean(parts, axis=0))
    means = [("scenario", weights) for weights in own.values()]
    means += [(level, weights) for level, _, weights in averaged if level != "perturbation"]
    return names, [level for level, _ in means], np.array([weights for _, weights in means]).T


def lwerr_p(
    audits: Sequence[tuple[People, Array]], shuffles: Shuffles, *, parts: bool
) -> tuple[list[str], Array, Array]:
    """Return p of the ratios of the groups' mean rates, and of their changes from clean speech, for all that is asked.

    First come the levels of the means; p is audits x (recognizers x means), nan where there is no ratio. Without
    `parts`, only means over all disturbances are judged, which the others do not touch.
    """
    names, levels, weights = _means()
    order = [ALL.index(name) for name in names]
    clean = names.index("clean")
    named = by_name(audits[0][0])
    second = audits[0][0].group[named] == 1
    cells = len(RECOGNIZERS) * len(levels)
    sums = np.zeros((4, len(second), len(audits), cells))
    for place, (people, counted) in enumerate(audits):
        errors, words = (one[..., named] for one in by_speaker(people, counted))
        spoken = np.repeat(words[:, None], len(names), axis=1)
        for number in range(len(RECOGNIZERS)):
            here = slice(number * len(levels), (number + 1) * len(levels))
            for own in (~second, second):
                means = as_one_rate(errors[number][order].T[own], spoken[own], weights)
                sums[:2, own, place, here] = means
                sums[2:, own, place, here] = means[:, :, [clean]]
    everywhere = levels * len(RECOGNIZERS)
    first = np.array([level == "overall" for level in everywhere])
    no_change = np.array([k % len(levels) == clean for k in range(cells)])
    found = []
    for coefficients, left_out in ((RATE, np.ones(cells, dtype=bool)), (RATIO_CHANGE, ~no_change)):
        errors = sums[0 : len(coefficients) : 2]
        known = left_out & np.all(
            [errors[:, own].sum(axis=1) > 0.0 for own in (second, ~second)], axis=(0, 1)
        )
        within = np.full((len(audits), cells), np.nan)
        for family in (first, ~first) if parts else (first,):
            chosen = sums[: len(coefficients)][..., family]
            within[:, family] = judge_ratios(
                chosen,
                second,
                np.zeros(len(audits), dtype=bool),
                shuffles,
                coefficients=coefficients,
                known=known[:, family],
            )[1]
        found.append(_asked_together(within, first, known))
    return everywhere, found[0], found[1]


def _asked_together(within: Array, first: Array, known: Array) -> Array:
    """Return p for all that is asked, from those within what is asked first and within the rest."""
    adjusted = np.full_like(within, np.nan)
    for row, own, there in zip(adjusted, within, known, strict=True):
        judged = there & ~np.isnan(own)
        # What is not judged here is asked all the same, and takes its share of the level.
        p = np.append(own[judged], 1.0)
        row[judged] = fallback(p, np.append(first[judged], False))[:-1]
    return adjusted


def _lwerrs(audits: Numbered, where: Setting, ratio: float, *, parts: bool) -> list[Claims]:
    made = [_disturbed(generator, where, ratio, ALL) for generator in audits.values()]
    claims: list[Claims] = [{}] * len(made)
    for block, places in blocks(list(audits)):
        shuffles = Shuffles(where.people, SHUFFLES, block)
        levels, ratios, changes = lwerr_p([made[place] for place in places], shuffles, parts=parts)
        for place, p, moved in zip(places, ratios, changes, strict=True):
            said = {"": _said(p), "_change": _said(moved)}
            own: dict[str, Sequence[bool | None]] = dict(_lwerr_beside(*made[place]))
            for level in LEVELS:
                own[f"robustness.group_{level}"] = _of_level(said[""], levels, level)
            own["robustness.group_change"] = _of_level(said["_change"], levels, "overall")
            own["robustness.group_any"], own["robustness.group_change_any"] = said[""], said["_change"]
            claims[place] = own
    return claims


def _said(p_values: Array) -> list[bool | None]:
    return [None if np.isnan(one) else bool(one <= 0.05) for one in p_values]


def _of_level(said: Sequence[bool | None], levels: Sequence[str], wanted: str) -> list[bool | None]:
    return [one for one, level in zip(said, levels, strict=True) if level == wanted]


FOUR = (SCENARIOS[0], SCENARIOS[2], SCENARIOS[3], SCENARIOS[5])
Made = tuple[People, Array, list[Heard]]
Draw = Callable[[np.random.Generator, Setting, float], Made]


def _apart(generator: np.random.Generator, where: Setting, ratio: float) -> Made:
    """Draw what two recognizers hear; the second group's words are lost `ratio` times as often under disturbance."""
    people = draw_people(generator, where, most=FOR_TEXTS)
    factor = for_second(people, ratio)

    def losses(chance: Array, _: Array, who: Array) -> Array:
        return chance * COST * factor[who]

    return people, *hear(generator, people, FOUR, losses)


LESS, MORE, SHARE = 0.08, 0.4, 0.15
"""Words lost of clean speech by the first and by the second group, and the share of the rest that disturbance takes."""


def _unlike_start(generator: np.random.Generator, where: Setting, ratio: float) -> Made:
    """Draw groups that are heard unlike to begin with; disturbance takes the same share of what is left (`ratio` times
    as much of the second group's).
    """
    people = draw_people(generator, where, most=FOR_TEXTS)
    share = SHARE * for_second(people, ratio)

    def losses(chance: Array, _: Array, who: Array) -> Array:
        return 1.0 - (1.0 - np.minimum(chance, 0.95)) * (1.0 - share[who])

    return people, *hear(generator, people, FOUR, losses, clean=np.where(people.group == 0, LESS, MORE))


def distances(made: Made) -> SpeakerSums:
    """Return how far apart two recognizers are, by speaker: the words that only one of them missed or made up.

    Aligning texts finds the same or a little less, and takes far longer.
    """
    people, _, heard = made
    row = np.repeat(np.arange(len(people.speaker)), people.words)
    of_word, count = people.speaker[row], len(people.group)
    edits, words = [], []
    for one, other in zip(heard[: len(FOUR) + 1], heard[len(FOUR) + 1 :], strict=True):
        apart = np.bincount(of_word, one.kept != other.kept, count)
        apart += np.bincount(people.speaker, np.maximum(one.more, other.more), count)
        lengths = [np.bincount(row, side.kept, len(people.speaker)) + side.more for side in (one, other)]
        edits.append(apart)
        words.append(np.bincount(people.speaker, np.maximum(*lengths), count))
    disturbed = len(FOUR)
    return SpeakerSums(
        ("one_two",),
        tuple(read_scenario_id(name) for name in FOUR),
        ("a", "b"),
        tuple(f"s{n}" for n in range(count)),
        people.group,
        np.array([edits[1:]]),
        np.array([words[1:]]),
        np.repeat(np.array([[edits[0]]]), disturbed, axis=1),
        np.repeat(np.array([[words[0]]]), disturbed, axis=1),
    )


FEWER = 999
"""Shuffles in place of 9,999."""
KINDS = (*("scenario",) * len(FOUR), "all", "clean")
"""What is asked: the growth in each scenario, over all of them, and the distance on clean speech."""
Told = Sequence[tuple[str, str, str]]
"""Of every question its kind, the group that is named, and the verdict."""


def _told(told: Told) -> dict[str, Sequence[bool | None]]:
    said = {"refused": None, "shown": True, "not_shown": False}
    grown = [(group, verdict == "shown") for kind, group, verdict in told if kind != "clean"]
    return {
        "differential.shown": [said[verdict] for *_, verdict in told],
        "differential.clean": [said[verdict] for kind, _, verdict in told if kind == "clean"],
        "differential.better": [shown and group == "a" for group, shown in grown],
        "differential.worse": [shown and group == "b" for group, shown in grown],
    }


def _differential(generator: np.random.Generator, where: Setting, ratio: float, *, draw: Draw) -> Claims:
    people, word, heard = draw(generator, where, ratio)
    table = transcripts(people, word, heard)
    [found] = differential(table, attribute="group", seed=int(generator.integers(1 << 31))).detail
    return _told(found.view.comparisons.select("of", "group", "verdict").rows())


def told_of(sums: SpeakerSums, seed: int, shuffles: int | None = FEWER) -> Told:
    """Return what is said of two groups, by the tests and the rule of the audit (`audits.differential.views`)."""
    each = sums.stacked()
    clean = [sums.clean_edits[:, :1].sum(axis=1), sums.clean_words[:, :1].sum(axis=1)]
    first = np.stack([clean[0], clean[1], np.zeros_like(clean[0]), clean[1]])
    cells = np.concatenate([each, each.sum(axis=1, keepdims=True), first], axis=1)
    tau = np.array([TAUS[0] if kind == "scenario" else 0.0 for kind in KINDS])
    found = compare_groups(cells, sums.group_of, 2, tau=tau, seed=seed, permutations=shuffles)
    p, adjusted, in_points, up = (
        one[0] for one in (found.p, found.p_adjusted, found.p_in_points, found.gap >= 0.0)
    )
    shown = adjusted <= 0.05
    barred = (in_points <= 0.05) & (p > 0.05)
    # Whoever starts better is not named.
    barred |= shown & shown[-1] & (up != up[-1])
    verdicts = np.select([np.isnan(p) | barred, shown], ["refused", "shown"], "not_shown")
    named = np.where(up, "a", "b")
    return list(zip(KINDS, named.tolist(), verdicts.tolist(), strict=True))


def _differentials(audits: Numbered, where: Setting, ratio: float, *, draw: Draw) -> list[Claims]:
    return [
        _told(told_of(distances(draw(generator, where, ratio)), int(generator.integers(1 << 31))))
        for generator in audits.values()
    ]


PARTS = "LWERR, all categories and scenarios one family after the means over all"
UNLIKE = Known(
    (TURNED,),
    0.065,
    "Where the smaller group is the one whose speakers differ much, the few of it that were heard do not show how much:"
    " neither shuffling nor the guard can make up for that.",
)
DISTURBED = "error rate of the second group under disturbance only, times"
EXPERIMENTS = (
    Experiment(
        "disparity",
        _gap,
        (
            Verdict(
                "disparity.gap",
                '"a gap is shown"',
                "speakers shuffled, with a guard; all recognizers and groups one family",
                0.05,
                "any",
                known=(UNLIKE,),
                beside=(WELCH,),
            ),
            Verdict(
                "gate.group_ratio",
                "the interval of a ratio leaves out 1 (what worst_group_ratio starts from)",
                "95 % interval by inversion of the test, each recognizer by itself",
                0.05,
                "each",
                known=(UNLIKE,),
            ),
        ),
        SECOND,
        RATIOS,
        batch=_gaps,
        audits=FIRST_SCREEN,
        also=(*ALSO, (RACES, (1.0,))),
    ),
    Experiment(
        "disparity, six attributes",
        _attributes,
        (
            Verdict(
                "disparity.six",
                '"a gap is shown" where six attributes are asked at once',
                "speakers shuffled, with a guard; all recognizers and attributes one family",
                0.05,
                "any",
                known=(UNLIKE,),
            ),
        ),
        SECOND,
        RATIOS,
        batch=_attributeses,
        sizes=AT_THREE,
    ),
    Experiment(
        "disparity interaction",
        _interaction,
        (
            Verdict(
                "disparity.interaction",
                '"scenario hurts the groups differently"',
                "speakers shuffled, with a guard; all recognizers and scenarios one family",
                0.05,
                "any",
                beside=(CHANGE,),
            ),
        ),
        DISTURBED,
        RATIOS,
        batch=_interactions,
        also=ALSO,
    ),
    Experiment(
        "robustness by group",
        _lwerr,
        (
            Verdict(
                "robustness.group_overall",
                '"shown" over all disturbances',
                "LWERR; speakers shuffled, with a guard; all recognizers, asked before any part",
                0.05,
                "any",
                known=(UNLIKE,),
                beside=(WELCH,),
            ),
            Verdict(
                "robustness.group_change",
                "the gap changes from clean to disturbed speech",
                "the same of the change of LWERR",
                0.05,
                "any",
                beside=(CHANGE,),
            ),
        ),
        DISTURBED,
        RATIOS,
        batch=partial(_lwerrs, parts=False),
        audits=FIRST_SCREEN,
        also=ALSO,
    ),
    Experiment(
        "robustness by group, parts",
        _lwerr,
        (
            Verdict("robustness.group_category", '"shown" in a category', PARTS, 0.05, "any"),
            Verdict("robustness.group_scenario", '"shown" in a scenario', PARTS, 0.05, "any"),
            Verdict(
                "robustness.group_any",
                '"shown" anywhere, overall included',
                PARTS,
                0.05,
                "any",
                known=(UNLIKE,),
            ),
            Verdict(
                "robustness.group_change_any",
                "the gap changes, anywhere",
                f"{PARTS}, of changes",
                0.05,
                "any",
            ),
        ),
        DISTURBED,
        RATIOS,
        batch=partial(_lwerrs, parts=True),
        sizes=AT_THREE,
    ),
    Experiment(
        "differential",
        partial(_differential, draw=_apart),
        (
            Verdict(
                "differential.shown",
                "recognizers drift further apart for one group, or are on clean speech: shown; gate differential",
                "studentized, speakers shuffled, with a guard; all questions one family",
                0.05,
                "any",
            ),
            Verdict(
                "differential.clean",
                "recognizers are further apart for one group on clean speech",
                "the same, in the same family",
                0.05,
                "any",
            ),
        ),
        "chance of the second group's words to be lost under disturbance, times",
        RATIOS,
        audits=FIRST_SCREEN,
        also=ALSO,
        batch=partial(_differentials, draw=_apart),
    ),
    Experiment(
        "differential, unlike start",
        partial(_differential, draw=_unlike_start),
        (
            Verdict(
                "differential.better",
                "the group that is heard better (8 % of words lost, the other 40 %) is hurt more",
                "the same: growth in points and by the room left",
                0.05,
                "any",
            ),
            Verdict(
                "differential.worse",
                "the group that is heard worse is hurt more",
                "the same: growth in points and by the room left",
                0.05,
                "any",
            ),
        ),
        "share of the words left that disturbance takes, of the second group times",
        RATIOS,
        audits=FIRST_SCREEN,
        batch=partial(_differentials, draw=_unlike_start),
    ),
)
