"""A black-box attack: random search for noise within a signal-to-noise ratio, by transcripts alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from voxaudit.audits.attack.base import AttackError
from voxaudit.audits.attack.noises import SearchNoise
from voxaudit.corpus import Utterance
from voxaudit.score import count_characters, count_words, normalizer

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
    reference: str
    chain: tuple[int, ...] = ()
    text: str | None = None
    score: tuple[int, int] = (-1, -1)
    asked: list[tuple[int, ...]] = field(default_factory=list)


def search(
    hear: Hearing,
    utterances: Sequence[Utterance],
    settings: Search,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Best | None]:
    """Return, for each utterance, the noise with the most word errors (then character errors) of `queries` noises.

    The first noises are drawn afresh; after that half of them are mixed into the best so far, which they replace
    where they are not worse. None where the recognizer answered nothing at all.
    """
    states = [_State(normalizer("basic")(utterance.text or "")) for utterance in utterances]
    fresh = max(1, round(EXPLORE * settings.queries))
    for state in states:
        state.asked = [(number,) for number in range(fresh)]
    _ask(hear, utterances, states, settings, white=False)
    progress(fresh * len(states))
    for first in range(fresh, settings.queries, len(MIXED)):
        numbers = range(first, min(first + len(MIXED), settings.queries))
        for state in states:
            can_mix = 0 < len(state.chain) < LONGEST
            state.asked = [
                (*state.chain, number) if mixed and can_mix else (number,)
                for number, mixed in zip(numbers, MIXED, strict=False)
            ]
        _ask(hear, utterances, states, settings, white=False)
        progress(len(numbers) * len(states))
    return _best(states, settings, white=False)


def best_of_random(
    hear: Hearing,
    utterances: Sequence[Utterance],
    settings: Search,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Best | None]:
    """Return, for each utterance, the best of `queries` white noises: what a search must beat at the same cost."""
    states = [_State(normalizer("basic")(utterance.text or "")) for utterance in utterances]
    for state in states:
        state.asked = [(number,) for number in range(settings.queries)]
    _ask(hear, utterances, states, settings, white=True)
    progress(settings.queries * len(states))
    return _best(states, settings, white=True)


def _ask(
    hear: Hearing, utterances: Sequence[Utterance], states: list[_State], settings: Search, *, white: bool
) -> None:
    asked = [
        (utterance, state, chain)
        for utterance, state in zip(utterances, states, strict=True)
        for chain in state.asked
    ]
    texts = hear([(u, SearchNoise(settings.snr, chain, white).id) for u, _, chain in asked])
    for (_, state, chain), text in zip(asked, texts, strict=True):
        if text is None:
            continue
        score = rate(state.reference, text)
        if score > state.score or (score == state.score and 1 < len(chain) <= DRIFT):
            state.chain, state.text, state.score = chain, text, score


def rate(reference: str, text: str) -> tuple[int, int]:
    """Return the word and the character errors of a transcript against a normalised reference."""
    heard = normalizer("basic")(text)
    return count_words(reference, heard).errors, count_characters(reference, heard).errors


def _best(states: list[_State], settings: Search, *, white: bool) -> list[Best | None]:
    return [
        None
        if state.text is None
        else Best(SearchNoise(settings.snr, state.chain, white, settings.seed), state.text, state.score)
        for state in states
    ]
