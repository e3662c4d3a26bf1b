"""Verdicts about single answers: who waits longer, whose wrong words a recognizer vouches for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.many import SHUFFLES, blocks, judge_ratios
from benchmarks.verdicts.simple import WELCH, below, welch
from benchmarks.verdicts.world import (
    AT_THREE,
    RATIOS,
    RECOGNIZERS,
    Array,
    People,
    Setting,
    as_table,
    counts,
    draw_people,
    for_second,
)

from voxaudit.audits.confidence.audit import RATIOS as TRUSTED
from voxaudit.audits.confidence.audit import SENT, confidence
from voxaudit.audits.ratios import FEWEST_CASES, Ratio, take_least
from voxaudit.audits.waiting.audit import RATIOS as WAITED
from voxaudit.audits.waiting.audit import waiting
from voxaudit.stats.permutations import LEVEL, Shuffles

PER_WORD, PER_ERROR = 0.02, 0.1
"""Seconds: what is hard to hear takes longer, so that times have the speakers, tails and bursts that errors have."""
LOST = 0.005
"""Share of trials without an answer."""

Made = tuple[People, dict[str, Array]]
"""People, and what is known of every answer: recognizers x utterances each."""


def wait(generator: np.random.Generator, where: Setting, ratio: float) -> Made:
    """Draw the seconds of answers, those of the second group `ratio` times as long."""
    people = draw_people(generator, where)
    errors = counts(generator, people, ["clean"])[:, 0]
    seconds = PER_WORD * people.words + PER_ERROR * errors
    seconds = (
        seconds
        * np.exp(0.3 * generator.standard_normal(errors.shape))
        * for_second(people, ratio)[people.speaker]
    )
    return people, {"seconds": seconds, "lost": generator.random(errors.shape) < LOST}


def trust(generator: np.random.Generator, where: Setting, ratio: float) -> Made:
    """Draw errors and confidences of answers; the second group's errors are `ratio` times as many, unbeknownst."""
    people = draw_people(generator, where)
    errors = counts(generator, people, ["clean"])[:, 0]
    guess = (errors + 1.0) / (people.words + 4.0)
    habit = 0.08 * generator.standard_normal((len(RECOGNIZERS), len(people.group)))[:, people.speaker]
    sure = np.clip(0.95 - 0.6 * guess + habit + 0.1 * generator.standard_normal(errors.shape), 0.01, 0.99)
    more = np.floor(errors * for_second(people, ratio)[people.speaker] + generator.random(errors.shape))
    return people, {"sure": sure.round(3), "errors": np.minimum(more, people.words)}


def waited(made: Made) -> dict[str, Array]:
    """Return what the audit sums of every answer."""
    people, known = made
    longest = known["seconds"].max(axis=1, where=~known["lost"], initial=0.0)[:, None]
    counted = np.where(known["lost"], longest, known["seconds"])
    return {
        "counted_s": counted,
        "trials": np.ones_like(counted),
        "audio_s": 0.4 * people.words + 0.0 * counted,
    }


def trusted(made: Made) -> dict[str, Array]:
    """Return what the audit sums of every answer."""
    people, known = made
    wrong = known["errors"]
    right = people.words - wrong
    order = np.argsort(known["sure"], axis=1, kind="stable")
    share = np.cumsum(people.words[order], axis=1)
    at = [int(np.searchsorted(one, SENT * one[-1])) for one in share]
    limit = np.array([sure[places[k]] for sure, places, k in zip(known["sure"], order, at, strict=True)])
    sent = known["sure"] < limit[:, None]
    return {
        "said": people.words * known["sure"],
        "right": right,
        "wrong": wrong,
        "sent_right": right * sent,
        "passed_wrong": wrong * ~sent,
    }


def table(made: Made) -> pl.DataFrame:
    """Return what was drawn as a table that the audits read."""
    people, known = made
    frame = as_table(people, ["clean"], np.zeros((len(RECOGNIZERS), 1, len(people.speaker)), dtype=np.int64))
    if "seconds" in known:
        return frame.select("utterance", "recognizer", "speaker", "group").with_columns(
            seconds=pl.Series(known["seconds"].reshape(-1)),
            duration=0.4 * frame["words"],
            failure=pl.Series(np.where(known["lost"].reshape(-1), "lost", "")),
        )
    wrong, words = known["errors"].reshape(-1).astype(int), frame["words"].to_list()
    return frame.select("utterance", "recognizer", "speaker", "group").with_columns(
        reference=pl.Series([" ".join(["yes"] * n) for n in words]),
        text=pl.Series([" ".join(["yes"] * (n - k) + ["no"] * k) for n, k in zip(words, wrong, strict=True)]),
        confidence=pl.Series(known["sure"].reshape(-1)),
    )


def _one(generator: np.random.Generator, where: Setting, ratio: float, *, asked: str) -> Claims:
    made = (wait if asked == "waiting" else trust)(generator, where, ratio)
    audit = waiting if asked == "waiting" else confidence
    found = [one for one in audit(table(made), attributes="group").findings if one.attribute is not None]
    return {f"{asked}.groups": [one.verdict == "shown" for one in found], **_beside(made, asked)}


def _beside(made: Made, asked: str) -> Claims:
    people, known = made[0], (waited if asked == "waiting" else trusted)(made)
    ratio = WAITED[0] if asked == "waiting" else TRUSTED[0]
    top, low = (_by_speaker(people, known[name]) for name in (ratio.top, ratio.below))
    rates = np.log((top + 1e-9) / np.maximum(low, 0.5))
    return {f"{asked}.groups | {WELCH}": below(welch(rates, people.group), len(RECOGNIZERS))}


def _by_speaker(people: People, values: Array) -> Array:
    return np.stack([np.bincount(people.speaker, one, len(people.group)) for one in values])


def group_p(
    audits: list[Made],
    sums_of: Callable[[Made], dict[str, Array]],
    ratios: tuple[Ratio, ...],
    shuffles: Shuffles,
) -> Array:
    """Return p of every audit, recognizer and ratio in the audit's family; nan where it is not asked."""
    second = audits[0][0].group == 1
    sums = np.zeros((2, len(second), len(audits), len(RECOGNIZERS), len(ratios)))
    asked = np.ones((len(audits), len(RECOGNIZERS), len(ratios)), dtype=bool)
    for place, made in enumerate(audits):
        known = sums_of(made)
        for number, ratio in enumerate(ratios):
            for column, name in enumerate((ratio.top, ratio.below)):
                sums[column, :, place, :, number] = _by_speaker(made[0], known[name]).T
            if ratio.above_least:
                for cell in range(len(RECOGNIZERS)):
                    own = sums[:, :, place, cell, number]
                    sides = [np.where(side, own, 0.0)[:, :, None] for side in (second, ~second)]
                    take_least(sides)
                    sums[:, :, place, cell, number] = (sides[0] + sides[1])[:, :, 0]
            if ratio.cases:
                asked[place, :, number] = known[ratio.cases].sum(axis=1) >= FEWEST_CASES
    flat = sums.reshape(*sums.shape[:3], -1)
    # The smaller group is set against the larger one; of two as large, the one that comes first in the alphabet.
    turned = np.full(len(audits), bool(second.sum() <= (~second).sum()))
    return judge_ratios(flat, second, turned, shuffles, known=asked.reshape(len(audits), -1))[1]


def _many(audits: Numbered, where: Setting, ratio: float, *, asked: str) -> list[Claims]:
    made = [(wait if asked == "waiting" else trust)(one, where, ratio) for one in audits.values()]
    sums, ratios = (waited, WAITED[:2]) if asked == "waiting" else (trusted, TRUSTED)
    claims: list[Claims] = [{}] * len(made)
    for block, places in blocks(list(audits)):
        p = group_p([made[place] for place in places], sums, ratios, Shuffles(where.people, SHUFFLES, block))
        for place, own in zip(places, p, strict=True):
            said = [None if np.isnan(one) else bool(one <= LEVEL) for one in own]
            claims[place] = {f"{asked}.groups": said, **_beside(made[place], asked)}
    return claims


def _experiment(asked: str, says: str, planted: str) -> Experiment:
    by = "speakers shuffled, with a guard; all recognizers and measures one family"
    return Experiment(
        f"{asked} between groups",
        partial(_one, asked=asked),
        (Verdict(f"{asked}.groups", says, by, LEVEL, "any", beside=(WELCH,)),),
        planted,
        RATIOS[:3],
        batch=partial(_many, asked=asked),
        sizes=AT_THREE,
    )


EXPERIMENTS = (
    _experiment("waiting", "one group waits longer: shown", "seconds of the second group, times"),
    _experiment(
        "confidence", "one group's words are vouched for more: shown", "errors of the second group, times"
    ),
)
