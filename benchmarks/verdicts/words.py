"""Verdicts about words and sounds that get lost: localize and its validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial

import numpy as np
import polars as pl
from benchmarks.studies.localize import NON_ROBUST, ROBUST, compare
from benchmarks.verdicts import world
from benchmarks.verdicts.experiment import Claims, Experiment, Known, Numbered, Verdict
from benchmarks.verdicts.simple import PLAIN, below, welch
from benchmarks.verdicts.world import (
    AT_THREE,
    FOR_TEXTS,
    KIND,
    RECOGNIZERS,
    SCENARIOS,
    VOCABULARY,
    Array,
    People,
    Setting,
    draw_people,
    hear,
    transcripts,
)

from voxaudit.audits.localize.audit import localize
from voxaudit.score.lost_words import Clean, Heard, Sample, Sounds, sample, sounds_of, sums
from voxaudit.stats.multiplicity import benjamini_hochberg
from voxaudit.stats.word_tests import Tally, together

COST = 2.0
WORD = 0
"""The planted word: the commonest."""
SOUND = np.array([word.startswith("th") or word == "other" for word in VOCABULARY])
"""Words with the planted sound, that of `the`."""


Made = tuple[People, Array, list[world.Heard]]


def _drawn(generator: np.random.Generator, where: Setting, ratio: float, *, asked: str) -> Made:
    """Draw what two recognizers hear; what is asked about is lost `ratio` times as often under disturbance."""
    people = draw_people(generator, where, most=FOR_TEXTS)

    def losses(chance: Array, word: Array, who: Array) -> Array:
        hit = SOUND[word] if asked == "sound" else word == WORD
        if asked == "group":
            hit = hit & (people.group[who] == 1)
        return chance * COST * np.where(hit, ratio, 1.0)

    return people, *hear(generator, people, SCENARIOS[:4], losses)


def _below(values: Iterable[float | None]) -> list[bool | None]:
    return [None if one is None or np.isnan(one) else bool(one <= 0.05) for one in values]


def _words(generator: np.random.Generator, where: Setting, ratio: float, *, asked: str) -> Claims:
    people, word, heard = _drawn(generator, where, ratio, asked=asked)
    table = transcripts(people, word, heard)
    found = localize(table, attribute="group", phonemes=asked == "sound").detail
    beside = _beside(people, tallies((people, word, heard))) if asked == "group" else {}
    if asked == "sound":
        values = [] if found.phonemes is None else found.phonemes["p_adjusted"].to_list()
    else:
        values = found.words["p_group_adjusted" if asked == "group" else "p_adjusted"].to_list()
    return {NAMES[asked]: _below(values), **beside}


NAMES = {"word": "localize.word", "sound": "localize.sound", "group": "localize.word_group"}


def tallies(made: Made, *, sounds: bool = False) -> list[Tally]:
    """Return what is counted of every recognizer and perturbation: words heard on clean speech and not when disturbed.

    In place of aligned texts their bags of words are compared, which is nearly always the same.
    """
    people, word, heard = made
    said = np.repeat(np.arange(len(people.speaker)), people.words)
    vocabulary = pl.Series(VOCABULARY[: world.SIZE])
    order = np.argsort(VOCABULARY[: world.SIZE])
    place = np.argsort(order)
    found = []
    for number in range(len(RECOGNIZERS)):
        own = {one.scenario: _bag(people, said, place[word], one) for one in heard if one.number == number}
        keys, times = own.pop("clean")
        row, spoken = np.divmod(keys, world.SIZE)
        texts = pl.Series([""]).gather(np.zeros(len(people.speaker), dtype=np.int64))
        clean = Clean(texts, people.speaker, people.group, vocabulary.gather(order), row, spoken, times)
        part = sample(clean, np.ones(len(people.speaker), dtype=bool))
        for perturbation in dict.fromkeys(name.partition(":")[0] for name in own):
            tally = Tally(
                part,
                pl.Series(["a", "b"]),
                np.ones(world.SIZE, dtype=bool),
                _sounds() if sounds else None,
                labels={"recognizer": RECOGNIZERS[number], "perturbation": perturbation},
            )
            for name, bag in own.items():
                if name.startswith(perturbation):
                    tally.add(name.partition(":")[2], _lost(part, *bag))
            found.append(tally)
    return found


@cache
def _sounds() -> Sounds:
    return sounds_of(pl.Series(sorted(VOCABULARY[: world.SIZE])))


def _bag(people: People, said: Array, word: Array, heard: world.Heard) -> tuple[Array, Array]:
    """Return which words an utterance has (`utterance * words + word`), and how often."""
    keys = said[heard.kept] * world.SIZE + word[heard.kept]
    if len(heard.extra):
        keys = np.concatenate(
            [keys, np.repeat(np.arange(len(heard.more)), heard.more) * world.SIZE + heard.extra]
        )
    return np.unique(keys, return_counts=True)


def _lost(part: Sample, keys: Array, times: Array) -> Heard:
    wanted = part.row * world.SIZE + part.word
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    lost = np.maximum(part.times - np.where(keys[at] == wanted, times[at], 0), 0)
    words = np.bincount(part.row, part.times, len(part.clean.speaker))
    rate = np.bincount(part.row, lost, len(words)) / np.maximum(words, 1.0)
    row, word = np.divmod(keys, world.SIZE)
    counts = np.bincount(part.clean.group[row] * world.SIZE + word, times, 2 * world.SIZE).astype(np.int64)
    pairs = len(part.said)
    return Heard(
        counts.reshape(2, -1),
        lost,
        sums(part.pair_of, lost, pairs),
        sums(part.pair_of, part.times * rate[part.row], pairs),
    )


def _beside(people: People, found: Sequence[Tally]) -> Claims:
    """Compare the share of each word that speakers lose, a word at a time: Welch's test at 0.05 over all of them."""
    p_values = []
    for tally in found:
        said, lost, _ = tally._pairs
        shares = np.full((world.SIZE, len(people.group)), np.nan)
        shares[tally.part.pair_word, tally.part.pair_speaker] = lost / said
        for share in shares:
            sides = [share[(people.group == one) & ~np.isnan(share)] for one in (0, 1)]
            if min(map(len, sides)) >= FEWEST and np.concatenate(sides).any():
                group = np.repeat([0, 1], [len(one) for one in sides])
                p_values.append(float(welch(np.concatenate(sides), group)))
    return {f"localize.word_group | {PLAIN}": below(np.array(p_values), max(len(p_values), 1))}


FEWEST = 5
"""Speakers of either group who say a word."""


def _many(audits: Numbered, where: Setting, ratio: float, *, asked: str) -> list[Claims]:
    claims: list[Claims] = []
    for generator in audits.values():
        made = _drawn(generator, where, ratio, asked=asked)
        found = tallies(made, sounds=asked == "sound")
        beside = _beside(made[0], found) if asked == "group" else {}
        claims.append({NAMES[asked]: _below(word_p(found, asked)), **beside})
    return claims


SHUFFLES = 499
"""In place of 1,999."""


def word_p(found: Sequence[Tally], asked: str, shuffles: int = SHUFFLES) -> Array:
    """Return p over all words (or sounds, or groups and words) of all recognizers and perturbations."""
    if asked == "group":
        parts = [one[0] for tally in found if (one := tally.between(shuffles)) is not None]
        return together(parts)[-1] if parts else np.empty(0)
    tables = [tally.phonemes() if asked == "sound" else tally.losses() for tally in found]
    p_values = pl.concat(table.select("p") for table in tables)["p"].to_list()
    return np.array([np.nan if one is None else one for one in benjamini_hochberg(p_values)], dtype=float)


EACH = 6
"""Sentences around a word."""


def _validate(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    """Sentences around words of two kinds; words differ in how often they are missed, kinds do not."""
    counts = where.sizes
    kinds = np.repeat([ROBUST, NON_ROBUST], counts)
    middle = np.where(kinds == NON_ROBUST, ratio, 1.0) * 0.3
    chance = np.clip(middle * np.exp(0.5 * generator.standard_normal(len(kinds)) - 0.125), 0.0, 0.95)
    words = np.repeat(np.arange(len(kinds)), EACH)
    missed = (generator.random(len(words)) < chance[words]).astype(float)
    found = compare(missed, kinds[words], words, int(generator.integers(1 << 31)))
    low = found.words_low
    return {"localize.validated": [None if low is None else low > 1.0], "localize.fisher": [found.p < 0.05]}


SENTENCES = (
    "The published test takes the six sentences around a word for independent, and they share it. It is there for"
    " comparison with the paper; the interval by word is what is concluded from."
)
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
        batch=partial(_many, asked="word"),
        sizes=AT_THREE,
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
        batch=partial(_many, asked="sound"),
        sizes=AT_THREE,
    ),
    Experiment(
        "localize between groups",
        partial(_words, asked="group"),
        (
            Verdict(
                "localize.word_group",
                "one group loses a word more than the others: shown",
                "speakers shuffled, with a guard; all words one family",
                0.05,
                "any",
                beside=(PLAIN,),
            ),
        ),
        "chance of one word to be lost in one group, times",
        (2.0, 4.0, 8.0),
        batch=partial(_many, asked="group"),
        sizes=AT_THREE,
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
            Verdict(
                "localize.fisher",
                "Fisher's p below 0.05 (the paper's)",
                "over sentences",
                0.05,
                "each",
                known=(Known((KIND,), 0.12, SENTENCES),),
            ),
        ),
        "chance of non-robust words to be missed, times",
        (1.25, 1.5, 2.0),
        worlds=(KIND,),
        sizes=("8 + 8", "16 + 16", "40 + 40"),
        units="words of a kind, six sentences each",
    ),
)
