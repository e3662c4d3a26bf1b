"""A black-box attack: random search for noise within a signal-to-noise ratio, by transcripts alone.

The noises are scenarios: the id says how a noise was made, so that it can be made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN, Perturbation, Scenario
from voxaudit.perturb.scenario import ScenariosOnDemand
from voxaudit.recognize.attack.gradient import fit, radius
from voxaudit.recognize.attack.models import AttackError, Judge

Hearing = Callable[[Sequence[tuple[Utterance, str]]], list[str | None]]
"""Hears utterances under scenario ids; None where the recognizer failed."""

EXPLORE = 0.3
"""Share of the queries spent on fresh noises before the best is built upon."""

MIXED = (True, False, True, False)
"""What a round tries for each utterance: a new noise mixed into the best so far, or by itself."""

LONGEST = 24
"""Noises in a chain: making one takes a moment each."""

DRIFT = 8
"""Up to so many noises an equal score is a step too, so that a plateau can be crossed; then only better ones are."""


@dataclass(frozen=True)
class Search:
    """The bound in dB, the number of queries for each utterance, and the seed."""

    snr: float
    queries: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise AttackError(f"queries must be at least 1, not {self.queries}")


@dataclass(frozen=True)
class Best:
    """The best noise found for an utterance, and what was heard under it."""

    noise: SearchNoise
    text: str
    score: tuple[int, int]


@dataclass
class _State:
    utterance: Utterance
    chain: tuple[int, ...] = ()
    text: str | None = None
    score: tuple[int, int] = (-1, -1)
    asked: list[tuple[int, ...]] = field(default_factory=list)


def search(
    hear: Hearing,
    utterances: Sequence[Utterance],
    settings: Search,
    *,
    judge: Judge,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Best | None]:
    """Return, for each utterance, the noise with the most word errors (then character errors) of `queries` noises.

    The first noises are drawn afresh; after that half of them are mixed into the best so far, which they replace
    where they are not worse. `judge` counts errors. None where the recognizer answered nothing at all.
    """
    fresh = max(1, round(EXPLORE * settings.queries))
    states = [_State(one, asked=[(number,) for number in range(fresh)]) for one in utterances]
    _ask(hear, states, settings, judge, white=False)
    progress(fresh * len(states))
    for first in range(fresh, settings.queries, len(MIXED)):
        numbers = range(first, min(first + len(MIXED), settings.queries))
        for state in states:
            can_mix = 0 < len(state.chain) < LONGEST
            state.asked = [
                (*state.chain, number) if mixed and can_mix else (number,)
                for number, mixed in zip(numbers, MIXED, strict=False)
            ]
        _ask(hear, states, settings, judge, white=False)
        progress(len(numbers) * len(states))
    return _best(states, settings, white=False)


def best_of_random(
    hear: Hearing,
    utterances: Sequence[Utterance],
    settings: Search,
    *,
    judge: Judge,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Best | None]:
    """Return, for each utterance, the best of `queries` white noises: what a search must beat at the same cost."""
    states = [_State(one, asked=[(number,) for number in range(settings.queries)]) for one in utterances]
    _ask(hear, states, settings, judge, white=True)
    progress(settings.queries * len(states))
    return _best(states, settings, white=True)


def _ask(hear: Hearing, states: list[_State], settings: Search, judge: Judge, *, white: bool) -> None:
    asked = [(state, chain) for state in states for chain in state.asked]
    texts = hear([(state.utterance, SearchNoise(settings.snr, chain, white).id) for state, chain in asked])
    for (state, chain), text in zip(asked, texts, strict=True):
        if text is None:
            continue
        wrong = judge(state.utterance.text or "", text)
        score = (wrong.words, wrong.characters)
        if score > state.score or (score == state.score and 1 < len(chain) <= DRIFT):
            state.chain, state.text, state.score = chain, text, score


def _best(states: list[_State], settings: Search, *, white: bool) -> list[Best | None]:
    return [
        None
        if state.text is None
        else Best(SearchNoise(settings.snr, state.chain, white, settings.seed), state.text, state.score)
        for state in states
    ]


Signal = NDArray[np.float64]


@dataclass(frozen=True)
class SearchNoise(Perturbation):
    """Noise at `snr` dB: number `chain[0]`, into which the other numbers of the chain were mixed one after another.

    Numbers stand for draws of a generator seeded by (seed, utterance, number). `white` noise is plain Gaussian;
    other noise may be gathered in a band or tilted, and in a moment or where the speech is loud.
    """

    name: ClassVar[str] = "blackbox"
    family: ClassVar[str] = "attack"

    snr: float
    chain: tuple[int, ...]
    white: bool = False
    seed: int = 0
    utterance: str = ""

    @property
    def id(self) -> str:
        """The scenario id."""
        kind = "white" if self.white else "shaped"
        return f"blackbox:snr={self.snr:.12g},{kind}={'.'.join(map(str, self.chain))}"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus noise within full scale; the bound on the noise holds exactly."""
        allowed = radius(samples, self.snr)
        if allowed == 0.0:
            return samples.copy()
        noise = self._draw(samples, rate, self.chain[0])[0]
        for number in self.chain[1:]:
            other, share = self._draw(samples, rate, number)
            noise = _unit(np.sqrt(1.0 - share**2) * noise + share * other)
        return fit(samples, allowed * noise, self.snr)

    def for_utterance(self, utterance: str) -> SearchNoise:
        """Return the noise as it is for one utterance."""
        return replace(self, utterance=utterance)

    def _draw(self, samples: Samples, rate: int, number: int) -> tuple[Signal, float]:
        """Return a noise of length 1, and the share with which it is mixed into another."""
        text = "\0".join((str(self.seed), self.utterance, str(self.white), str(number)))
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
        noise = generator.standard_normal(len(samples))
        share = float(generator.uniform(0.2, 0.8))
        return _unit(noise if self.white else _shape(noise, samples, rate, generator)), share


def _unit(noise: Signal) -> Signal:
    unit: Signal = noise / max(float(np.sqrt(np.sum(noise**2))), 1e-300)
    return unit


def _shape(noise: Signal, samples: Samples, rate: int, generator: np.random.Generator) -> Signal:
    """Return noise gathered where it may harm most: in pitch (mostly broad), and in time (mostly a moment)."""
    in_pitch, in_time = generator.uniform(size=2)
    if in_pitch > 0.6:
        hertz = np.maximum(np.fft.rfftfreq(len(samples), 1.0 / rate), 50.0)
        if in_pitch > 0.85:  # a band of 0.5 to 2 octaves between 200 Hz and 4 kHz
            octaves = np.log2(hertz / (200.0 * 20.0 ** generator.uniform()))
            weight = np.exp(-0.5 * (octaves / generator.uniform(0.25, 1.0)) ** 2)
        else:  # tilted, -3 to +6 dB per octave
            weight = (hertz / 1000.0) ** generator.uniform(-0.5, 1.0)
        noise = np.fft.irfft(np.fft.rfft(noise) * weight, len(samples))
    if in_time > 0.4:  # for a moment of 5 to 50 % of the clip
        at = np.arange(len(samples)) / len(samples)
        noise = noise * np.exp(-0.5 * ((at - generator.uniform()) / generator.uniform(0.025, 0.25)) ** 2)
    elif in_time > 0.2:  # where the speech is loud
        noise = noise * _smooth(np.abs(samples.astype(np.float64)), max(1, rate // 50))
    return noise


def _smooth(values: NDArray[np.float64], width: int) -> Signal:
    """Return a running mean of `width` values."""
    width = min(width, len(values))
    sums = np.cumsum(np.concatenate([np.zeros(1), values]))
    at = np.arange(len(values))
    first, last = np.maximum(at - width // 2, 0), np.minimum(at - width // 2 + width, len(values))
    mean: Signal = (sums[last] - sums[first]) / np.maximum(last - first, 1)
    return mean


@dataclass(frozen=True)
class SearchScenarios(ScenariosOnDemand):
    """`clean` and every noise of a search as a scenario, made when it is asked for."""

    seed: int = 0

    def __getitem__(self, id_: str) -> Scenario:
        if id_ == CLEAN:
            return Scenario(CLEAN, None)
        name, _, setting = id_.partition(":")
        values = dict(part.partition("=")[::2] for part in setting.split(","))
        kind = "white" if "white" in values else "shaped"
        try:
            if name != SearchNoise.name:
                raise ValueError
            chain = tuple(int(number) for number in values[kind].split("."))
            noise = SearchNoise(float(values["snr"]), chain, kind == "white", self.seed)
        except (KeyError, ValueError) as error:
            raise VoxauditError(f"'{one_line(id_, 80)}' is not a noise of a black-box search") from error
        return Scenario(id_, noise)
