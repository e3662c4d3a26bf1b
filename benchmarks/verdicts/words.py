"""Verdicts about words and sounds that get lost: localize and its validation."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from benchmarks.studies.localize import NON_ROBUST, ROBUST, compare
from benchmarks.verdicts.experiment import Claims, Experiment, Verdict
from benchmarks.verdicts.world import SCENARIOS, VOCABULARY, Array, Setting, draw_people, transcripts

from voxaudit.audits.localize.audit import localize

COST = 2.0
WORD = 0
"""The planted word: the commonest."""
SOUND = np.array([word.startswith("th") or word == "other" for word in VOCABULARY])
"""Words with the planted sound, that of `the`."""


def _below(table: pl.DataFrame | None, column: str) -> list[bool | None]:
    if table is None or column not in table.columns:
        return []
    return [None if q is None else q <= 0.05 for q in table[column].to_list()]


def _words(generator: np.random.Generator, setting: Setting, ratio: float, *, asked: str) -> Claims:
    people = draw_people(generator, setting)

    def losses(_: int, __: str, word: Array, who: Array) -> Array:
        hit = SOUND[word] if asked == "sound" else word == WORD
        if asked == "group":
            hit = hit & (people.group[who] == 1)
        return COST * np.where(hit, ratio, 1.0)

    heard = transcripts(generator, people, SCENARIOS[:4], losses)
    found = localize(heard, attribute="group", phonemes=asked == "sound").detail
    if asked == "sound":
        return {"localize.sound": _below(found.phonemes, "p_adjusted")}
    column = "p_group_adjusted" if asked == "group" else "p_adjusted"
    return {f"localize.word{'_group' * (asked == 'group')}": _below(found.words, column)}


EACH = 6
"""Sentences around a word."""


def _validate(generator: np.random.Generator, setting: Setting, ratio: float) -> Claims:
    """Sentences around words of two kinds; words differ in how often they are missed, kinds do not."""
    counts = setting.sizes
    kinds = np.repeat([ROBUST, NON_ROBUST], counts)
    middle = np.where(kinds == NON_ROBUST, ratio, 1.0) * 0.3
    chance = np.clip(middle * np.exp(0.5 * generator.standard_normal(len(kinds)) - 0.125), 0.0, 0.95)
    words = np.repeat(np.arange(len(kinds)), EACH)
    missed = (generator.random(len(words)) < chance[words]).astype(float)
    found = compare(missed, kinds[words], words, int(generator.integers(1 << 31)))
    low = found.words_low
    return {"localize.validated": [None if low is None else low > 1.0], "localize.fisher": [found.p < 0.05]}


assert len(VOCABULARY) > WORD
EXPERIMENTS = (
    Experiment(
        "localize",
        partial(_words, asked="word"),
        (
            Verdict(
                "localize.word",
                "a word gets lost more than those beside it: shown",
                "draws by chance, false-discovery rate 5 % over all words",
                0.05,
                "any",
            ),
        ),
        "chance of one word to be lost under disturbance, times",
        (2.0, 4.0, 8.0),
        settings=("8 + 8", "16 + 16"),
        weight=0.5,
    ),
    Experiment(
        "localize sounds",
        partial(_words, asked="sound"),
        (
            Verdict(
                "localize.sound",
                "a phoneme gets lost more than others (corrected p)",
                "draws by chance, false-discovery rate 5 % over all phonemes",
                0.05,
                "any",
            ),
        ),
        "chance of words with one sound to be lost under disturbance, times",
        (2.0, 4.0, 8.0),
        settings=("8 + 8", "16 + 16"),
        weight=0.5,
    ),
    Experiment(
        "localize between groups",
        partial(_words, asked="group"),
        (
            Verdict(
                "localize.word_group",
                "one group loses a word more than the others: shown",
                "exact, false-discovery rate 5 % over all words",
                0.05,
                "any",
            ),
        ),
        "chance of one word to be lost in one group, times",
        (2.0, 4.0, 8.0),
        settings=("8 + 8", "16 + 16"),
        weight=0.5,
    ),
    Experiment(
        "localize validation",
        _validate,
        (
            Verdict(
                "localize.validated",
                "non-robust words are missed more often: interval by word above 1",
                "one side of a 95 % interval, words resampled",
                0.025,
                "each",
            ),
            Verdict("localize.fisher", "Fisher's p below 0.05 (the paper's)", "over sentences", 0.05, "each"),
        ),
        "chance of non-robust words to be missed, times",
        (1.25, 1.5, 2.0),
        settings=("8 + 8", "16 + 16", "40 + 40"),
        units="words of a kind, six sentences each",
    ),
)
