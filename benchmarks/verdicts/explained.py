"""Verdicts about what a gap is due to: text, recording, voices, prompts; numbers in place of groups; slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import POWER_AT, Audit, Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.world import (
    KIND,
    RATIOS,
    Array,
    People,
    Setting,
    as_table,
    counts,
    draw_people,
    for_second,
    setting,
)

from voxaudit.audits.disparity import explain as explaining
from voxaudit.audits.disparity import gaps
from voxaudit.audits.disparity.audit import disparity
from voxaudit.audits.disparity.frames import Question, frames
from voxaudit.audits.scores import Scores
from voxaudit.audits.slices import audit as slicing
from voxaudit.errors import VoxauditError
from voxaudit.stats import permutations
from voxaudit.stats.group_ratios import judge

WORLDS = (KIND, "mix", "uneq")
LARGE = setting(KIND, "40 + 40")
MOST = 40
"""Utterances of a speaker at most: long ones would take the time and change little."""
TEXTS = 30
SLOPE = 0.4
"""What a standard deviation of a measure adds to an utterance's log error rate."""


def _measured(
    generator: np.random.Generator, people: People, text: float, noise: float
) -> tuple[Array, Array]:
    """Draw a perplexity and a signal-to-noise ratio of every utterance, in standard deviations.

    The second group's lie so much higher and lower that its error rate is `text` and `noise` times as high.
    """
    second = people.group[people.speaker] == 1
    own = [generator.normal(0.0, 0.5, len(people.group))[people.speaker] for _ in range(2)]
    found = [one + generator.normal(0.0, 0.87, len(second)) for one in own]
    return found[0] + second * np.log(text) / SLOPE, found[1] - second * np.log(noise) / SLOPE


def _table(
    generator: np.random.Generator,
    where: Setting,
    *,
    text: float = 1.0,
    noise: float = 1.0,
    voice: float = 1.0,
) -> pl.DataFrame:
    people = draw_people(generator, where, most=MOST)
    perplexity, snr = _measured(generator, people, text, noise)
    people = replace(people, hard=people.hard * np.exp(SLOPE * (perplexity - snr) - SLOPE**2))
    factor = for_second(people, voice)
    counted = counts(generator, people, ["clean"], lambda *_: factor)[:1]
    table = as_table(people, ["clean"], np.repeat(counted, 2, axis=0))
    return table.head(len(people.speaker)).with_columns(
        perplexity_bits=pl.Series(8.0 + 2.0 * perplexity), snr=pl.Series(25.0 + 6.0 * snr)
    )


Reasons = Callable[[pl.DataFrame], Sequence[str | None]]
"""From a table to what explains its gap, if one is shown."""


def whole(table: pl.DataFrame) -> list[str | None]:
    """Return what the audit says."""
    return [one.reason for one in disparity(table, attribute="group", explain=True).detail.explained]


def decided(table: pl.DataFrame) -> list[str | None]:
    """Return what the functions decide that the audit calls, without the model and the sentences beside."""
    scores, question = Scores.of(table), Question("group", by=("recognizer",))
    parts = [gaps.Part(one, "group", ()) for one in frames(scores, question)]
    shown, _ = gaps.compare(parts, against=None, speakers=True, seed=0)
    found, _ = explaining.explain(scores, {"group": question}, shown, (), speakers=True, seed=0)
    return [one.reason for one in found]


def _of_text(generator: np.random.Generator, where: Setting, voice: float, reasons: Reasons) -> Claims:
    found = reasons(_table(generator, where, text=2.0, voice=voice))
    return {"disparity.unexplained": [one == "unexplained" for one in found]}


def _of_recording(generator: np.random.Generator, where: Setting, voice: float, reasons: Reasons) -> Claims:
    found = reasons(_table(generator, where, noise=2.0, voice=voice))
    return {"disparity.unexplained_recording": [one == "unexplained" for one in found]}


def _of_voices(generator: np.random.Generator, where: Setting, text: float, reasons: Reasons) -> Claims:
    """Plant a gap of voices where `text` is 1, else one of the text alone."""
    found = reasons(_table(generator, where, text=text, voice=2.0 if text == 1.0 else 1.0))
    right = ("text",) if text != 1.0 else ("text", "recording", "either", "together")
    return {"disparity.explained": [one in right for one in found]}


SHUFFLES = 999
"""In place of 9,999: a permutation test keeps its level with any number."""


def _fewer(
    audits: Numbered, where: Setting, effect: float, *, audit: Audit, limits: bool = False
) -> list[Claims]:
    """Do many audits with fewer shuffles, and without intervals where no verdict rests on their `limits`."""
    quick = partial(judge, limits=limits)
    with ExitStack() as changed:
        changed.enter_context(patch.object(permutations, "PERMUTATIONS", SHUFFLES))
        for module in (gaps, explaining, slicing):
            changed.enter_context(patch.object(module, "judge", quick))
        return [audit(generator, where, effect) for generator in audits.values()]


def _prompts(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    """Groups read 20 of 30 texts each, 10 of them in common; texts differ in difficulty."""
    people = draw_people(generator, where, most=MOST)
    second = people.group[people.speaker]
    text = generator.integers(0, 2 * TEXTS // 3, len(second)) + second * (TEXTS // 3)
    hard = np.exp(generator.normal(0.0, 0.5, TEXTS))[text]
    people = replace(people, hard=people.hard * hard)
    factor = for_second(people, ratio)
    counted = counts(generator, people, ["clean"], lambda *_: factor)[:1]
    table = as_table(people, ["clean"], np.repeat(counted, 2, axis=0)).head(len(second))
    table = table.with_columns(reference=pl.Series([f"text {n}" for n in text]))
    try:
        found = disparity(table, attribute="group").detail.gaps
    except VoxauditError:
        return {}
    return {
        "disparity.prompts": [None if one.verdict == "refused" else one.verdict == "shown" for one in found]
    }


def _trend(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    """A number of every speaker (skewed, as years are) that errors have nothing to do with, or go with."""
    people = draw_people(generator, where, most=MOST)
    years = generator.gamma(2.0, 8.0, len(people.group))
    factor = ratio ** ((years - years.mean()) / (2.0 * years.std()))
    counted = counts(generator, people, ["clean"], lambda *_: factor)[:1]
    table = as_table(people, ["clean"], np.repeat(counted, 2, axis=0)).head(len(people.speaker))
    table = table.with_columns(years=pl.Series(years[people.speaker]))
    try:
        found = disparity(table, attribute="years", trend=True).detail.slopes
    except VoxauditError:
        return {}
    return {
        "disparity.slope": [one.verdict(one.p_adjusted) == "shown" for one in found],
        "disparity.trend": [one.verdict(one.p_any_adjusted) == "shown" for one in found],
    }


def sliced(generator: np.random.Generator, where: Setting, ratio: float) -> pl.DataFrame:
    """Return five measures that have nothing to do with errors; the highest third of one, if something is planted."""
    people = draw_people(generator, where, most=MOST)
    count = len(people.speaker)
    names = ("speaking_rate", "snr", "pitch", "duration", "word_frequency")
    measures = {
        name: generator.normal(0.0, 1.0, len(people.group))[people.speaker]
        + generator.normal(0.0, 1.0, count)
        for name in names
    }
    fast = measures["speaking_rate"] > np.quantile(measures["speaking_rate"], 2 / 3)
    people = replace(people, hard=people.hard * np.where(fast, ratio, 1.0))
    counted = counts(generator, people, ["clean"])[:1]
    table = as_table(people, ["clean"], np.repeat(counted, 2, axis=0)).head(count)
    return table.with_columns(pl.Series(name, values) for name, values in measures.items())


def _slices(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    try:
        found = slicing.slices(sliced(generator, where, ratio), attributes=["region"]).detail
    except VoxauditError:
        return {}
    said = [one.shown and (ratio == 1.0 or "speaking_rate" in one.slice.columns) for one in found]
    return {"slices.confirmed": said}


HELD = "text and recording held fixed; shuffled speakers with a guard"
_of = partial(Experiment, worlds=WORLDS, sizes=("40 + 40", "8 + 40"), power_at=LARGE)
EXPERIMENTS = (
    _of(
        "explain text",
        partial(_of_text, reasons=whole),
        (
            Verdict(
                "disparity.unexplained",
                "a gap of the text: not explained by what was measured",
                HELD,
                0.05,
                "each",
            ),
        ),
        "beside the text, the error rate of the second group, times",
        (1.5, 2.0),
        batch=partial(_fewer, audit=partial(_of_text, reasons=decided)),
    ),
    _of(
        "explain recording",
        partial(_of_recording, reasons=whole),
        (
            Verdict(
                "disparity.unexplained_recording",
                "a gap of the recordings: not explained by what was measured",
                HELD,
                0.05,
                "each",
            ),
        ),
        "beside the noise, the error rate of the second group, times",
        (2.0,),
        batch=partial(_fewer, audit=partial(_of_recording, reasons=decided)),
    ),
    _of(
        "explain voices",
        partial(_of_voices, reasons=whole),
        (
            Verdict(
                "disparity.explained",
                "a gap of the speakers: explained by what is said, or how it was recorded",
                "the change is shown, and nothing is left to show",
                0.05,
                "each",
            ),
        ),
        "in place of the speakers' gap, one of the text alone, times",
        (2.0,),
        batch=partial(_fewer, audit=partial(_of_voices, reasons=decided)),
    ),
    _of(
        "unlike prompts",
        _prompts,
        (
            Verdict(
                "disparity.prompts",
                '"a gap is shown" between groups with a third of 30 texts in common',
                "widened by the texts' own spread",
                0.05,
                "any",
            ),
        ),
        "error rate of the second group, times",
        (1.5, 2.0),
        batch=partial(_fewer, audit=_prompts, limits=True),
    ),
    _of(
        "trend",
        _trend,
        (
            Verdict(
                "disparity.slope", '"a slope is shown"', "shuffled numbers with a guard, Holm", 0.05, "any"
            ),
            Verdict("disparity.trend", "errors change along a curve", "the same, 3 degrees", 0.05, "any"),
        ),
        "error rate from one standard deviation below the mean to one above, times",
        RATIOS,
        sizes=("16 + 16", "8 + 40"),
        power_at=POWER_AT,
        batch=partial(_fewer, audit=_trend),
    ),
    _of(
        "slices",
        _slices,
        (
            Verdict(
                "slices.confirmed",
                "a kind of speech is confirmed to be served worse",
                "searched in half of the speakers, max statistic in the other",
                0.05,
                "any",
            ),
        ),
        "error rate of the fastest third of the utterances, times",
        (1.5, 2.0),
        sizes=("8 + 40",),
        batch=partial(_fewer, audit=_slices),
    ),
)
