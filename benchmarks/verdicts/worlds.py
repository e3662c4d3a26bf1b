"""Worlds: how speakers, utterances and errors are distributed where nothing is to be found, kind and hard ones.

In every world the groups have the same word error rate. What differs is what tests stumble over: a few speakers who
are much worse than the rest, a few who say most of the words, a few utterances with most of the errors, groups that
differ in how much their speakers differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

Array = NDArray[Any]
Generator = np.random.Generator

RATE = 0.15
"""Mean word error rate of a speaker whose factor is 1."""
WORDS = 9.0
"""Mean number of words of an utterance: 1 and a Poisson number."""
SIGMA = 0.5
"""Standard deviation of a speaker's log error rate in the kind world."""
COMMON = 0.8
"""Correlation of a speaker's log error rates between two recognizers is the square of this."""


def mean_one(sigma: Any, normal: Array) -> Array:
    """Return log-normal factors whose mean is 1, so that a word error rate stays what it is."""
    factors: Array = np.exp(sigma * normal - np.square(sigma) / 2.0)
    return factors


def _normals(generator: Generator, recognizers: int, count: int) -> Array:
    """Return standard normal numbers, recognizers x speakers, most of which is the speaker's own."""
    common, apart = generator.standard_normal(count), generator.standard_normal((recognizers, count))
    numbers: Array = COMMON * common + math.sqrt(1.0 - COMMON**2) * apart
    return numbers


# Speakers: factors of the error rate, recognizers x speakers.


def _kind(generator: Generator, recognizers: int, group: Array) -> Array:
    return mean_one(SIGMA, _normals(generator, recognizers, len(group)))


def _lognormal(generator: Generator, recognizers: int, group: Array) -> Array:
    factors: Array = np.exp(SIGMA * _normals(generator, recognizers, len(group)))
    return factors


_T_SCALE, _T_END = 0.45, 8.0


def _t3(generator: Generator, recognizers: int, group: Array) -> Array:
    """Draw the logarithms from Student's t with 3 degrees of freedom; who is far out is so for both recognizers."""
    tail = np.sqrt(generator.chisquare(3.0, len(group)) / 3.0)
    t = np.clip(_normals(generator, recognizers, len(group)) / tail, -_T_END, _T_END)
    factors: Array = np.exp(_T_SCALE * t)
    return factors


_BAD_SHARE, _BAD_TIMES, _BAD_SIGMA = 0.12, 5.0, 0.25


def _mixed(generator: Generator, recognizers: int, group: Array) -> Array:
    bad = np.where(generator.random(len(group)) < _BAD_SHARE, _BAD_TIMES, 1.0)
    factors: Array = bad * np.exp(_BAD_SIGMA * _normals(generator, recognizers, len(group)))
    return factors


NARROW, WIDE = 0.25, 0.9


def _unlike(first: float, second: float) -> Callable[[Generator, int, Array], Array]:
    def draw(generator: Generator, recognizers: int, group: Array) -> Array:
        return mean_one(np.where(group == 0, first, second), _normals(generator, recognizers, len(group)))

    return draw


# Utterances a speaker.


def _geometric(generator: Generator, count: int) -> Array:
    return 1 + generator.geometric(1.0 / 7.0, count)


def _some(mean: float) -> Callable[[Generator, int], Array]:
    return lambda generator, count: 1 + generator.poisson(mean, count)


MOST = 500


def _unequal(generator: Generator, count: int) -> Array:
    return np.maximum(np.exp(generator.uniform(0.0, math.log(MOST), count)).astype(np.int64), 1)


# Utterances: mean-one factors of the expected errors, drawn anew for every scenario. Errors are Poisson around them.


def _even(generator: Generator, count: int) -> Array:
    return np.ones(count)


def _gamma(generator: Generator, count: int) -> Array:
    """Return factors that make errors negative binomial: the variance is the mean and half its square."""
    return generator.gamma(2.0, 0.5, count)


_SILENT, _SHAPE = 0.55, 0.6


def _often_none(generator: Generator, count: int) -> Array:
    """Return factors most of which are 0, the others widely spread: zero-inflated negative binomial errors."""
    heavy = generator.gamma(_SHAPE, 1.0 / _SHAPE / (1.0 - _SILENT), count)
    return np.where(generator.random(count) < _SILENT, 0.0, heavy)


BURST, BURST_FROM, BURST_TO = 0.004, 50, 250


def _bursts(generator: Generator, count: int) -> Array:
    """Return words that were never said: none of most utterances, 50 to 249 of a few."""
    hit = generator.random(count) < BURST
    return np.where(hit, generator.integers(BURST_FROM, BURST_TO, count), 0)


def _none(generator: Generator, count: int) -> Array:
    return np.zeros(count, dtype=np.int64)


@dataclass(frozen=True)
class World:
    """How speakers differ (`speakers`: factors of the error rate), how much they say, and how errors fall.

    `mean` is the mean of the speakers' factors; `hard` the spread of what makes an utterance hard in every scenario;
    `uneven` are factors of utterances that are drawn anew for every scenario, `inserted` errors beyond those.
    """

    about: str
    speakers: Callable[[Generator, int, Array], Array]
    utterances: Callable[[Generator, int], Array]
    mean: float = 1.0
    hard: float = 0.0
    uneven: Callable[[Generator, int], Array] = _gamma
    inserted: Callable[[Generator, int], Array] = _none
    more: float = 0.0
    """Mean of `inserted` per word."""

    @property
    def wer(self) -> float:
        """The true word error rate of clean speech."""
        return RATE * self.mean + self.more

    def errors(self, generator: Generator, expected: Array) -> Array:
        """Draw the errors of utterances from what is expected of each."""
        counts = generator.poisson(expected * self.uneven(generator, len(expected)))
        errors: Array = counts + self.inserted(generator, len(expected))
        return errors


def _t3_mean() -> float:
    inside = integrate.quad(
        lambda x: math.exp(_T_SCALE * x) * stats.t.pdf(x, 3), -_T_END, _T_END, epsabs=1e-12
    )[0]
    tail = float(stats.t.sf(_T_END, 3))
    return float(inside + tail * (math.exp(_T_SCALE * _T_END) + math.exp(-_T_SCALE * _T_END)))


_LOGNORMAL_MEAN = math.exp(SIGMA**2 / 2.0)
KIND = "kind"
HETERO, TURNED = "hetero", "hetero turned"
WORLDS: Mapping[str, World] = {
    KIND: World(
        "log-normal speakers (standard deviation 0.5), 2 and more utterances each (mean 8), Poisson errors",
        _kind,
        _geometric,
        hard=0.3,
        uneven=_even,
    ),
    "t3": World(
        "heavy tails: log rates are 0.45 times Student's t with 3 degrees", _t3, _some(7.0), _t3_mean()
    ),
    "mix": World(
        "12 % of the speakers have five times as many errors",
        _mixed,
        _some(7.0),
        (1.0 + _BAD_SHARE * (_BAD_TIMES - 1.0)) * math.exp(_BAD_SIGMA**2 / 2.0),
    ),
    "uneq": World("1 to 500 utterances a speaker, log-uniform", _lognormal, _unequal, _LOGNORMAL_MEAN),
    "zinb": World(
        "no errors in 55 % of the utterances, very many in some (zero-inflated negative binomial)",
        _lognormal,
        _some(9.0),
        _LOGNORMAL_MEAN,
        uneven=_often_none,
    ),
    "burst": World(
        "0.4 % of the utterances get 50 to 249 words that nobody said",
        _lognormal,
        _some(9.0),
        _LOGNORMAL_MEAN,
        uneven=_even,
        inserted=_bursts,
        more=BURST * (BURST_FROM + BURST_TO - 1) / 2.0 / WORDS,
    ),
    HETERO: World(
        "equal error rates, unlike spreads: the first group's speakers are much alike (0.25), the second's not (0.9)",
        _unlike(NARROW, WIDE),
        _some(7.0),
    ),
    TURNED: World(
        "the same turned round: the first group, the smaller one, is the one whose speakers differ much",
        _unlike(WIDE, NARROW),
        _some(7.0),
    ),
}
