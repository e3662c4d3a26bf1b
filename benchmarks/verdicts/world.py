"""Made-up audits with a known truth: speakers who differ, groups that do not, and effects planted on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[Any]

SIGMA = 0.5
"""Standard deviation of a speaker's log error rate; most of it is common to both recognizers."""
REACTION = 0.15
"""Standard deviation of what a scenario does to a speaker's log error rate beyond what it does to everybody's."""
UTTERANCE = 0.3
"""Standard deviation of an utterance's log error rate, the same in every scenario."""
RECOGNIZERS = ("one", "two")
SCENARIOS = (
    "gaussian_noise:1",
    "gaussian_noise:2",
    "gaussian_noise:3",
    "lowpass:1",
    "lowpass:2",
    "lowpass:3",
)


@dataclass(frozen=True)
class Setting:
    """How many speakers the groups have, and the spread of their log error rates."""

    sizes: tuple[int, int]
    spreads: tuple[float, float] = (SIGMA, SIGMA)

    @property
    def people(self) -> int:
        """The number of all speakers."""
        return sum(self.sizes)


SETTINGS: Mapping[str, Setting] = {
    "8 + 8": Setting((8, 8)),
    "16 + 16": Setting((16, 16)),
    "40 + 40": Setting((40, 40)),
    "8 + 40": Setting((8, 40)),
    "16 + 16 unlike": Setting((16, 16), (0.3, 0.8)),
    "2 + 2": Setting((2, 2)),
    "100 + 100": Setting((100, 100)),
}
"""`unlike`: the second group's speakers differ much more (spreads 0.3 and 0.8) at the same mean error rate."""

WITH_UNLIKE = ("8 + 8", "16 + 16", "40 + 40", "8 + 40", "16 + 16 unlike")
RATIOS = (1.25, 1.5, 2.0, 3.0)
SECOND = "error rate of the second group, times"

RATE = 0.15
"""Mean word error rate on clean speech."""


@dataclass(frozen=True)
class People:
    """Who speaks: the group (0, 1) and another attribute of every speaker; the speaker and the words of utterances.

    `own` are mean-one factors of the error rate, recognizers x speakers; `hard` one an utterance.
    """

    group: Array
    region: Array
    speaker: Array
    words: Array
    own: Array
    hard: Array


def draw_people(generator: np.random.Generator, setting: Setting) -> People:
    """Draw speakers with unequal numbers of utterances (2 and more, mean 8) and of words (1 and more, mean 9)."""
    count = setting.people
    group = np.repeat([0, 1], setting.sizes)
    said = 1 + generator.geometric(1.0 / 7.0, count)
    speaker = np.repeat(np.arange(count), said)
    common, apart = generator.standard_normal(count), generator.standard_normal((len(RECOGNIZERS), count))
    return People(
        group,
        generator.permutation(np.arange(count) % 3),
        speaker,
        1 + generator.poisson(8.0, len(speaker)),
        mean_one(np.array(setting.spreads)[group], 0.8 * common + 0.6 * apart),
        mean_one(UTTERANCE, generator.standard_normal(len(speaker))),
    )


def mean_one(sigma: Any, normal: Array) -> Array:
    """Return log-normal factors whose mean is 1, so that a word error rate stays what it is."""
    factors: Array = np.exp(sigma * normal - sigma**2 / 2.0)
    return factors


Factor = Callable[[int, str], Any]
"""From (recognizer's number, scenario) to what the error rate of each speaker is multiplied by."""


def plain(_: int, __: str) -> float:
    """Plant nothing."""
    return 1.0


def scores(
    generator: np.random.Generator,
    people: People,
    scenarios: Sequence[str],
    factor: Factor = plain,
    *,
    rate: float = RATE,
) -> pl.DataFrame:
    """Return a `scores` table of two recognizers: Poisson errors around each speaker's rate in each scenario."""
    parts = []
    for number, name in enumerate(RECOGNIZERS):
        for scenario in scenarios:
            reaction: Any = 1.0
            if scenario != "clean":
                reaction = mean_one(REACTION, generator.standard_normal(len(people.group)))
            rates = rate * people.own[number] * reaction * factor(number, scenario)
            errors = generator.poisson(rates[people.speaker] * people.hard * people.words)
            parts.append((name, scenario, errors))
    height = len(people.speaker)
    repeated = np.tile(np.arange(height), len(parts))
    speakers = pl.Series([f"s{n}" for n in range(len(people.group))])
    speaker = people.speaker[repeated]
    words = people.words[repeated]
    errors = np.concatenate([one for _, _, one in parts])
    table = {
        "utterance": pl.Series([f"u{n}" for n in range(height)]).gather(repeated),
        "scenario": pl.Series([one for _, one, _ in parts]).gather(np.repeat(np.arange(len(parts)), height)),
        "recognizer": pl.Series([one for one, _, _ in parts]).gather(
            np.repeat(np.arange(len(parts)), height)
        ),
        "speaker": speakers.gather(speaker),
        "words": words,
        "hits": np.maximum(words - errors, 0),
        "substitutions": errors,
        "deletions": np.zeros_like(errors),
        "insertions": np.zeros_like(errors),
        "errors": errors,
        "group": pl.Series(["a", "b", "c"]).gather(people.group[speaker]),
        "region": pl.Series(["east", "north", "south"]).gather(people.region[speaker]),
        "characters": 5 * words,
        "character_errors": 2 * errors,
    }
    return pl.DataFrame(table)


def for_second(people: People, ratio: float) -> Array:
    """Return `ratio` for speakers of the second group and 1 for the others."""
    return np.where(people.group == 1, ratio, 1.0)


_COMMON = """
the of and to in that it was for on are as with they at be this have from or one had by word but not what all were we
when your can said there use an each which she do how their if will up other about out many then them these so some her
would make like him into time has look two more write go see number no way could people
"""
VOCABULARY = tuple(_COMMON.split())


def said_texts(generator: np.random.Generator, people: People, size: int = 60) -> list[Array]:
    """Return the words (numbers) of every utterance, common words more often."""
    weights = 1.0 / np.arange(3, size + 3)
    return [generator.choice(size, count, p=weights / weights.sum()) for count in people.words]


Losses = Callable[[int, str, Array, Array], Any]
"""From (recognizer's number, scenario, words, speakers) to what each word's chance of being lost is multiplied by."""


def transcripts(
    generator: np.random.Generator,
    people: People,
    scenarios: Sequence[str],
    losses: Losses,
    *,
    clean: float = 0.05,
) -> pl.DataFrame:
    """Return transcripts of two recognizers that miss words, of clean speech each with a chance of `clean`.

    Chances differ from speaker to speaker and from utterance to utterance as error rates do in `scores`.
    """
    texts = said_texts(generator, people)
    row = np.repeat(np.arange(len(texts)), people.words)
    word, who = np.concatenate(texts), people.speaker[row]
    spelled = np.array(VOCABULARY, dtype=object)[word]
    ends = np.cumsum(people.words)[:-1]
    about = {
        "utterance": [f"u{n}" for n in range(len(texts))],
        "speaker": [f"s{n}" for n in people.speaker],
        "group": ["ab"[g] for g in people.group[people.speaker]],
    }
    frames = []
    for number, name in enumerate(RECOGNIZERS):
        for scenario in ("clean", *scenarios):
            chance = clean * people.own[number][who] * people.hard[row]
            if scenario != "clean":
                chance = chance * mean_one(REACTION, generator.standard_normal(len(people.group)))[who]
                chance = chance * losses(number, scenario, word, who)
            kept = np.where(generator.random(len(word)) < np.minimum(chance, 0.95), "", spelled)
            heard = [" ".join(filter(None, part)) for part in np.split(kept, ends)]
            labels = {"scenario": [scenario] * len(texts), "recognizer": [name] * len(texts), "text": heard}
            frames.append(pl.DataFrame({**about, **labels}))
    return pl.concat(frames)
