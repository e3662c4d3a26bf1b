"""Made-up audits with a known truth: speakers who differ, groups that do not, and effects planted on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from benchmarks.verdicts.resampled import ABOUT, AS_THEY_ARE, draw_speakers, pool, utterances_of
from benchmarks.verdicts.worlds import (
    HETERO,
    KIND,
    NARROW,
    RATE,
    SIGMA,
    TURNED,
    WIDE,
    WORDS,
    WORLDS,
    Array,
    mean_one,
)

__all__ = ["HETERO", "KIND", "RATE", "SIGMA", "TURNED", "Array", "mean_one"]

REACTION = 0.15
"""Standard deviation of what a scenario does to a speaker's log error rate beyond what it does to everybody's."""
RECOGNIZERS = ("one", "two")
SCENARIOS = (
    "gaussian_noise:1",
    "gaussian_noise:2",
    "gaussian_noise:3",
    "lowpass:1",
    "lowpass:2",
    "lowpass:3",
)

SIZES = ("8 + 8", "16 + 16", "40 + 40", "6 + 60", "8 + 40")
AT_THREE = ("16 + 16", "6 + 60", "8 + 40")
"""For verdicts that are not on the first screen."""
AS_ONE = ("8 + 8", "16 + 16", "6 + 60", "8 + 40")
"""Where the groups are one sample of 16, 32, 66 or 48 speakers."""
"""Speakers of the first and of the second group. Where they differ the first is the smaller one."""
HARD = (*WORLDS, *ABOUT)
"""The worlds that every verdict about speakers is tried in."""
FOR_TEXTS = 20
"""Utterances a speaker where texts are made: long ones would take the time and change little."""


@dataclass(frozen=True)
class Setting:
    """How many speakers the groups have, and the world they are from."""

    world: str
    sizes: tuple[int, int]

    @property
    def people(self) -> int:
        """The number of all speakers."""
        return sum(self.sizes)

    @property
    def size(self) -> str:
        """The sizes as they are printed."""
        return f"{self.sizes[0]} + {self.sizes[1]}"

    @property
    def name(self) -> str:
        """World and sizes, as they are printed."""
        return f"{self.world}, {self.size}"


def setting(world: str, size: str) -> Setting:
    """Return the setting of a world and a size ("8 + 40", "8+40").

    >>> setting("t3", "8+40").name
    't3, 8 + 40'
    """
    first, second = size.replace(" ", "").split("+")
    return Setting(world, (int(first), int(second)))


def crossed(worlds: Sequence[str], sizes: Sequence[str]) -> tuple[Setting, ...]:
    """Return worlds crossed with sizes; turned round is another world only where the groups are of unequal size."""
    found = [setting(world, size) for world in worlds for size in sizes]
    return tuple(one for one in found if one.world != TURNED or one.sizes[0] != one.sizes[1])


RATIOS = (1.25, 1.5, 2.0, 3.0)
SECOND = "error rate of the second group, times"


@dataclass(frozen=True)
class People:
    """Who speaks: the group (0, 1) and another attribute of every speaker; the speaker and the words of utterances.

    `own` are factors of the error rate, recognizers x speakers; `hard` one per utterance. Of real speakers `heard` are
    the errors that were counted, columns x utterances. `wer` is the true word error rate of clean speech.
    """

    world: str
    group: Array
    region: Array
    speaker: Array
    words: Array
    own: Array
    hard: Array
    heard: Array | None
    wer: float

    @property
    def mean(self) -> float:
        """The mean of the factors of the error rate: what a rate has to be multiplied by to be the true one."""
        return self.wer / RATE if self.heard is not None else WORLDS[self.world].mean


def draw_people(generator: np.random.Generator, setting: Setting, *, most: int | None = None) -> People:
    """Draw the speakers of a setting and how much each says, `most` utterances at most."""
    count = setting.people
    group = np.repeat([0, 1], setting.sizes)
    if setting.world not in WORLDS:
        return _draw_real(generator, setting, group, most)
    world = WORLDS[setting.world]
    said = world.utterances(generator, count)
    if most is not None:
        said = np.minimum(said, most)
    speaker = np.repeat(np.arange(count), said)
    return People(
        setting.world,
        group,
        generator.permutation(np.arange(count) % 3),
        speaker,
        1 + generator.poisson(WORDS - 1.0, len(speaker)),
        world.speakers(generator, len(RECOGNIZERS), group),
        mean_one(world.hard, generator.standard_normal(len(speaker))),
        None,
        world.wer,
    )


def _draw_real(generator: np.random.Generator, setting: Setting, group: Array, most: int | None) -> People:
    real = setting.world in AS_THEY_ARE.values()
    name = next((one for one, other in AS_THEY_ARE.items() if other == setting.world), setting.world)
    people = pool(name)
    drawn = draw_speakers(generator, people, setting.sizes, real=real)
    said, places = utterances_of(generator, people, drawn, most)
    count = len(group)
    return People(
        setting.world,
        group,
        generator.permutation(np.arange(count) % 3),
        np.repeat(np.arange(count), said),
        people.words[places],
        np.ones((len(RECOGNIZERS), count)),
        np.ones(len(places)),
        people.errors[:, places],
        people.wer,
    )


Factor = Callable[[int, str], Any]
"""From (recognizer's number, scenario) to what the error rate of each speaker is multiplied by."""


def plain(_: int, __: str) -> float:
    """Plant nothing."""
    return 1.0


def counts(
    generator: np.random.Generator,
    people: People,
    scenarios: Sequence[str],
    factor: Factor = plain,
    *,
    alike: bool = False,
) -> Array:
    """Return errors, recognizers x scenarios x utterances.

    Real speakers have the errors that were counted. A scenario is then another recognizer or disturbance; where
    scenarios have to be `alike` but for what is planted, each speaker's are exchanged at random.
    """
    found = np.empty((len(RECOGNIZERS), len(scenarios), len(people.speaker)), dtype=np.int64)
    columns = _columns(generator, people, found.shape[0] * found.shape[1], alike)
    for number in range(len(RECOGNIZERS)):
        for place, scenario in enumerate(scenarios):
            times = np.broadcast_to(
                np.asarray(factor(number, scenario), dtype=np.float64), people.group.shape
            )[people.speaker]
            if people.heard is None:
                reaction: Any = 1.0
                if scenario != "clean":
                    reaction = mean_one(REACTION, generator.standard_normal(len(people.group)))
                rates = RATE * people.own[number] * reaction
                expected = rates[people.speaker] * times * people.hard * people.words
                found[number, place] = WORLDS[people.world].errors(generator, expected)
            else:
                cell = number * len(scenarios) + place
                errors = people.heard[columns[cell][people.speaker], np.arange(len(people.speaker))]
                # As many errors as planted on average, in whole numbers.
                found[number, place] = np.floor(errors * times + generator.random(len(errors)))
    return found


def _columns(generator: np.random.Generator, people: People, cells: int, alike: bool) -> Array:
    """Return which column of what was heard each speaker has in each cell: cells x speakers."""
    if people.heard is None:
        return np.empty(0)
    width, speakers = len(people.heard), len(people.group)
    if not alike:
        return np.repeat(np.arange(cells)[:, None] % width, speakers, axis=1)
    blocks = -(-cells // width)
    orders = generator.permuted(np.tile(np.arange(width), (blocks * speakers, 1)), axis=1)
    return orders.reshape(blocks, speakers, width).transpose(0, 2, 1).reshape(-1, speakers)[:cells]


def scores(
    generator: np.random.Generator,
    people: People,
    scenarios: Sequence[str],
    factor: Factor = plain,
    *,
    alike: bool = False,
) -> pl.DataFrame:
    """Return a `scores` table of two recognizers with the errors of `counts`."""
    return as_table(people, scenarios, counts(generator, people, scenarios, factor, alike=alike))


def as_table(people: People, scenarios: Sequence[str], counted: Array) -> pl.DataFrame:
    """Return errors (recognizers x scenarios x utterances) as a `scores` table."""
    height, cells = len(people.speaker), len(RECOGNIZERS) * len(scenarios)
    repeated = np.tile(np.arange(height), cells)
    cell = np.repeat(np.arange(cells), height)
    speaker = people.speaker[repeated]
    words = people.words[repeated]
    errors = counted.reshape(-1)
    table = {
        "utterance": pl.Series([f"u{n}" for n in range(height)]).gather(repeated),
        "scenario": pl.Series(list(scenarios)).gather(cell % len(scenarios)),
        "recognizer": pl.Series(list(RECOGNIZERS)).gather(cell // len(scenarios)),
        "speaker": pl.Series([f"s{n}" for n in range(len(people.group))]).gather(speaker),
        "words": words,
        "hits": np.maximum(words - errors, 0),
        "substitutions": errors,
        "deletions": np.zeros_like(errors),
        "insertions": np.zeros_like(errors),
        "errors": errors,
        "group": pl.Series(["a", "b"]).gather(people.group[speaker]),
        "region": pl.Series(["east", "north", "south"]).gather(people.region[speaker]),
        "characters": 5 * words,
        "character_errors": 2 * errors,
    }
    return pl.DataFrame(table)


def speaker_rates(people: People) -> list[float]:
    """Return the true means over speakers of their mean rates, by recognizer: what a planted factor multiplies."""
    if people.heard is None:
        return [RATE * WORLDS[people.world].mean] * len(RECOGNIZERS)
    name = next((one for one, other in AS_THEY_ARE.items() if other == people.world), people.world)
    rates = pool(name).mean_rates
    return [float(rates[number % len(rates)]) for number in range(len(RECOGNIZERS))]


def by_name(people: People) -> Array:
    """Return the speakers in the order of their names as text: s0, s1, s10, s11 ..."""
    return np.argsort([f"s{n}" for n in range(len(people.group))])


def by_speaker(people: People, counted: Array) -> tuple[Array, Array]:
    """Return errors (recognizers x scenarios x speakers) and words of every speaker."""
    count = len(people.group)
    words = np.bincount(people.speaker, people.words, count)
    ends = np.searchsorted(people.speaker, np.arange(count))
    return np.add.reduceat(counted, ends, axis=-1).astype(np.float64), words


ERROR = 0.4
"""Standard error of a speaker's breaking point, in standard deviations between speakers, with eight utterances."""
SPOILED = 0.02
"""Share of breaking points that are anything, where a few utterances get many words that nobody said."""


def log_factors(generator: np.random.Generator, where: Setting) -> tuple[Array, Array, Array]:
    """Return groups, how hard speakers are (log rates in units of the kind world's spread, recognizers x speakers), and
    errors of measuring that on the scale of breaking points.

    Groups have the same mean: of logarithms, not of rates.
    """
    people = draw_people(generator, where)
    shape = (len(RECOGNIZERS), len(people.group))
    if people.heard is None:
        sigma = np.where(people.group == 0, *_SPREADS.get(where.world, (0.0, 0.0)))
        hard = (np.log(people.own) + sigma**2 / 2.0) / SIGMA
    else:
        errors, words = by_speaker(people, counts(generator, people, ["clean"]))
        hard = np.log((errors[:, 0] + 0.5) / (words + 1.0)) / SIGMA
        hard = hard - np.log(people.wer) / SIGMA
    said = np.bincount(people.speaker)
    noise = 0.08 * ERROR * np.clip(np.sqrt(8.0 / said), 0.3, 2.0) * generator.standard_normal(shape)
    if where.world == "zinb":
        noise = noise * np.sqrt(2.0 * generator.gamma(0.6, 1.0 / 0.6, shape))
    if where.world == "burst":
        noise = np.where(generator.random(shape) < SPOILED, generator.uniform(-0.6, 0.4, shape), noise)
    return people.group, hard, noise


_SPREADS = {KIND: (SIGMA, SIGMA), HETERO: (NARROW, WIDE), TURNED: (WIDE, NARROW)}


def for_second(people: People, ratio: float) -> Array:
    """Return `ratio` for speakers of the second group and 1 for the others."""
    return np.where(people.group == 1, ratio, 1.0)


_COMMON = """
the of and to in that it was for on are as with they at be this have from or one had by word but not what all were we
when your can said there use an each which she do how their if will up other about out many then them these so some her
would make like him into time has look two more write go see number no way could people
"""
VOCABULARY = tuple(_COMMON.split())
SIZE = 60
"""Words that are said; common ones more often."""


def said_words(generator: np.random.Generator, people: People) -> Array:
    """Return the words (numbers) of all utterances, one after the other."""
    weights = 1.0 / np.arange(3, SIZE + 3)
    return generator.choice(SIZE, int(people.words.sum()), p=weights / weights.sum())


def chances(
    generator: np.random.Generator,
    people: People,
    number: int,
    scenario: str = "clean",
    *,
    clean: float | Array = RATE,
) -> Array:
    """Return the chance of each utterance's words to be lost: on average `clean`, which may differ from speaker to
    speaker, before anything is planted.
    """
    if people.heard is not None:
        column = people.heard[
            generator.integers(0, len(people.heard), len(people.group))[people.speaker],
            np.arange(len(people.speaker)),
        ]
        rate = column / people.words / people.wer
    else:
        world = WORLDS[people.world]
        rate = people.own[number][people.speaker] / world.mean * people.hard
        rate = rate * world.uneven(generator, len(rate))
    if scenario != "clean":
        rate = rate * mean_one(REACTION, generator.standard_normal(len(people.group)))[people.speaker]
    own = np.broadcast_to(np.asarray(clean, dtype=np.float64), people.group.shape)
    chance: Array = own[people.speaker] * rate
    return chance


Losses = Callable[[Array, Array, Array], Array]
"""From (chances, words, speakers) to the chance of each word to be lost under disturbance."""


@dataclass(frozen=True)
class Heard:
    """What a recognizer heard under a scenario: which words were kept, and words that nobody said (`more` of them in
    each utterance, one after the other in `extra`).
    """

    number: int
    scenario: str
    kept: Array
    more: Array
    extra: Array


def hear(
    generator: np.random.Generator,
    people: People,
    scenarios: Sequence[str],
    losses: Losses,
    *,
    clean: float | Array = 0.05,
) -> tuple[Array, list[Heard]]:
    """Return what was said, and what two recognizers heard of clean speech and under each scenario.

    Chances differ from speaker to speaker and from utterance to utterance as error rates do in `scores`.
    """
    word = said_words(generator, people)
    row = np.repeat(np.arange(len(people.speaker)), people.words)
    who = people.speaker[row]
    found = []
    for number in range(len(RECOGNIZERS)):
        for scenario in ("clean", *scenarios):
            chance = chances(generator, people, number, scenario, clean=clean)[row]
            if scenario != "clean":
                chance = losses(chance, word, who)
            found.append(heard_of(generator, people, chance, number, scenario))
    return word, found


def heard_of(
    generator: np.random.Generator, people: People, chance: Array, number: int, scenario: str = "clean"
) -> Heard:
    """Return what is heard when each word (of all utterances, in order) is lost with its chance."""
    kept = generator.random(len(chance)) >= np.minimum(chance, 0.95)
    more = np.zeros(len(people.speaker), dtype=np.int64)
    if people.heard is None:
        more = WORLDS[people.world].inserted(generator, len(people.speaker))
    return Heard(number, scenario, kept, more, generator.integers(0, SIZE, int(more.sum())))


def texts_of(people: People, word: Array, heard: Heard) -> pl.Series:
    """Return what was heard of each utterance as text; words that nobody said come after the others."""
    height = len(people.speaker)
    row = np.repeat(np.arange(height), people.words)[heard.kept]
    word = word[heard.kept]
    if len(heard.extra):
        row = np.concatenate([row, np.repeat(np.arange(height), heard.more)])
        order = np.argsort(row, kind="stable")
        row, word = row[order], np.concatenate([word, heard.extra])[order]
    return joined(row, word, height)


def joined(row: Array, words: Array, height: int) -> pl.Series:
    """Return the words of each row as a text, "" where a row has none; rows ascend."""
    parts = (
        pl.DataFrame({"row": row, "word": pl.Series(VOCABULARY).gather(words)})
        .group_by("row", maintain_order=True)
        .agg(pl.col("word").str.join(" "))
    )
    found = pl.DataFrame({"row": np.arange(height)}).join(parts, on="row", how="left", maintain_order="left")
    return found["word"].fill_null("")


def transcripts(people: People, word: Array, heard: Sequence[Heard]) -> pl.DataFrame:
    """Return what was heard as a table of transcripts."""
    about = pl.DataFrame(
        {
            "utterance": [f"u{n}" for n in range(len(people.speaker))],
            "speaker": [f"s{n}" for n in people.speaker],
            "group": pl.Series([*"ab"]).gather(people.group[people.speaker]),
        }
    )
    return pl.concat(
        about.with_columns(
            text=texts_of(people, word, one),
            scenario=pl.lit(one.scenario),
            recognizer=pl.lit(RECOGNIZERS[one.number]),
        )
        for one in heard
    )
