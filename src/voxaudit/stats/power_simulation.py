"""Power by simulation: make-believe studies drawn from the fitted mixed model, each put to the test.

A speaker's log error rate is normal around the group's, the errors of an utterance are Poisson (or wider, by the
dispersion), and utterances are as many and as long as those of the speakers that were really heard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError
from voxaudit.stats.proportions import wilson_of

FloatArray = NDArray[np.float64]
Test = Literal["t", "mixed"]

_DRAWS = 4_000_000  # utterances simulated at a time: bounds memory


@dataclass(frozen=True)
class Population:
    """What studies are drawn from."""

    wer: float
    """Expected word error rate of the group that does better: its mean over speakers."""
    sigma: float
    """Standard deviation of the speakers' log error rates."""
    dispersion: float
    """Variance of an utterance's errors over the Poisson variance; at least 1."""
    words: FloatArray
    """Reference words of all utterances heard, speaker after speaker."""
    starts: NDArray[np.int64]
    """Where each speaker's utterances start in `words`, and the end."""

    @property
    def speakers(self) -> int:
        """The number of speakers the lengths are taken from."""
        return len(self.starts) - 1


def fitted_population(
    errors: FloatArray, words: FloatArray, speaker: FloatArray, group: FloatArray
) -> Population:
    """Fit the mixed-effects Poisson model with one mean a group, and return what it says the speakers are like.

    One entry per utterance, words above 0; `speaker` and `group` are codes. `wer` is the lowest group's, so that a
    gap is added to it.
    """
    from voxaudit.stats.cells import collapse
    from voxaudit.stats.dispersion import dispersion
    from voxaudit.stats.regression import Settings, regress

    _, code = np.unique(speaker, return_inverse=True)
    levels = np.unique(group)
    design = np.column_stack([np.ones(len(errors)), *(group == level for level in levels[1:])]).astype(
        np.float64
    )
    if errors.sum() == 0:
        raise VoxauditError(
            "there are no errors at all: no spread of error rates can be estimated from this table"
        )
    model = regress(collapse(errors, words, code, design), Settings(random=True))
    sigma = model.sigma or 0.0
    mean = [model.estimate(0)[0]]
    mean += [
        mean[0] + model.estimate(column)[0] for column in range(1, len(levels)) if column in model.columns
    ]
    rates = [math.exp(value + 0.5 * sigma**2) for value in mean if math.isfinite(value)]
    spread = dispersion(model).mixed
    order = np.argsort(code, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(code))])
    wide = 1.0 if spread is None or not math.isfinite(spread) else max(1.0, spread)
    return Population(min(rates), sigma, wide, words[order], starts.astype(np.int64))


def planned_population(
    wer: float, sigma: float, *, utterances: int, words: int, dispersion: float = 1.0
) -> Population:
    """Return a population to plan with: every speaker says `utterances` of `words` words; `sigma` on the log scale."""
    lengths = np.full(utterances, float(words))
    return Population(wer, sigma, dispersion, lengths, np.array([0, utterances], dtype=np.int64))


@dataclass(frozen=True)
class SimulatedPower:
    """The share of simulated studies that found the gap, with its own (Wilson) interval."""

    power: float
    low: float
    high: float
    simulations: int
    speakers: int
    other_speakers: int
    test: str


def simulate_power(
    population: Population,
    gap: float,
    speakers: int,
    other_speakers: int,
    *,
    test: Test = "t",
    confidence: float = 0.95,
    simulations: int = 1000,
    seed: int = 0,
) -> SimulatedPower:
    """Return the power of finding a group whose word error rate is `gap` higher; a gap of 0 gives false alarms.

    `test`: "t", Welch's test on the speakers' mean rates, close to the parity audit's; or "mixed", the Wald test of the
    mixed model. Both two-sided.
    """
    if speakers < 2 or other_speakers < 2:
        raise VoxauditError(f"each group needs at least 2 speakers, not {speakers} and {other_speakers}")
    if population.wer <= 0.0 or gap < 0.0:
        raise VoxauditError("the word error rate must be above 0 and the gap 0 or more to simulate from them")
    generator = np.random.Generator(np.random.PCG64(seed))
    people = speakers + other_speakers
    ratio = 1.0 + gap / population.wer
    rate = (
        np.repeat([ratio, 1.0], [speakers, other_speakers])
        * population.wer
        * math.exp(-0.5 * population.sigma**2)
    )
    mean_length = len(population.words) / population.speakers
    batch = max(1, int(_DRAWS / (people * mean_length)))
    found = 0
    for first in range(0, simulations, batch):
        count = min(batch, simulations - first)
        study = _draw(population, np.tile(rate, count), generator)
        p = (_t_tests if test == "t" else _mixed_tests)(study, count, speakers, people)
        found += int((p < 1.0 - confidence).sum())
    low, high = wilson_of(found, simulations)
    return SimulatedPower(found / simulations, low, high, simulations, speakers, other_speakers, test)


def speakers_by_simulation(
    population: Population,
    gap: float,
    *,
    power: float = 0.8,
    ratio: float = 1.0,
    test: Test = "t",
    confidence: float = 0.95,
    simulations: int = 1000,
    seed: int = 0,
    limit: int = 5000,
) -> SimulatedPower | None:
    """Return the fewest speakers of the first group that reach `power`; None where `limit` do not.

    The same seed serves every size, so power grows smoothly enough to be halved in on.
    """

    def at(n: int) -> SimulatedPower:
        other = max(2, round(ratio * n))
        return simulate_power(
            population, gap, n, other, test=test, confidence=confidence, simulations=simulations, seed=seed
        )

    low, high = 2, 4
    best = at(high)
    while best.power < power:
        low, high = high, 2 * high
        if high > limit:
            return None
        best = at(high)
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        tried = at(middle)
        low, high, best = (low, middle, tried) if tried.power >= power else (middle, high, best)
    return best


@dataclass(frozen=True)
class _Study:
    rates: FloatArray
    """Mean over utterances of errors / words, one entry a simulated speaker."""
    errors: FloatArray
    words: FloatArray


def _draw(population: Population, rate: FloatArray, generator: np.random.Generator) -> _Study:
    who = generator.integers(population.speakers, size=len(rate))
    length = np.diff(population.starts)[who]
    starts = np.concatenate([[0], np.cumsum(length)[:-1]])
    place = np.arange(length.sum()) - np.repeat(starts - population.starts[who], length)
    words = population.words[place]
    own = rate * np.exp(population.sigma * generator.standard_normal(len(rate)))
    expected = words * np.repeat(own, length)
    if population.dispersion > 1.0:  # a gamma mixture of Poissons with variance dispersion * mean
        expected = generator.gamma(expected / (population.dispersion - 1.0), population.dispersion - 1.0)
    errors = generator.poisson(expected).astype(np.float64)
    return _Study(
        np.add.reduceat(errors / words, starts) / length,
        np.add.reduceat(errors, starts),
        np.add.reduceat(words, starts),
    )


def _t_tests(study: _Study, count: int, speakers: int, people: int) -> FloatArray:
    from voxaudit.stats.ttests import welch

    rates = study.rates.reshape(count, people)
    sides = (rates[:, :speakers], rates[:, speakers:])
    summary = [(np.full(count, side.shape[1]), side.mean(axis=1), side.var(axis=1, ddof=1)) for side in sides]
    return welch(*summary[0], *summary[1]).p


def _mixed_tests(study: _Study, count: int, speakers: int, people: int) -> FloatArray:
    from voxaudit.stats.cells import collapse
    from voxaudit.stats.regression import Settings, normal_tails, regress

    design = np.column_stack([np.ones(people), np.arange(people) < speakers]).astype(np.float64)
    codes = np.arange(people)
    p = np.ones(count)
    for number in range(count):
        part = slice(number * people, (number + 1) * people)
        if study.errors[part].sum() == 0:
            continue
        model = regress(collapse(study.errors[part], study.words[part], codes, design), Settings(random=True))
        estimate, error = model.estimate(1)
        # A side without errors has no Wald test: such a study finds nothing.
        p[number] = float(normal_tails(estimate / error)) if math.isfinite(estimate) else 1.0
    return p
