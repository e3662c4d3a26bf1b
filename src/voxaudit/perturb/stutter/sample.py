"""Draw stuttering at random, in either mode: one operation, or a chain at a given rate and severity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from voxaudit.align import Timings
from voxaudit.errors import one_line
from voxaudit.perturb.stutter.aster import (
    NO_FILLER,
    Block,
    Interjection,
    Prolongation,
    SoundRepetition,
    WordRepetition,
    fillers,
)
from voxaudit.perturb.stutter.base import Clip, Operation, StutterError
from voxaudit.perturb.stutter.chain import KINDS, Chain
from voxaudit.perturb.stutter.profiles import draw_event, draw_events, shares_at, weights
from voxaudit.registry import unknown

SEVERITIES = (1, 2, 3, 4)
"""Quarters of ASTER's ranges, from mild to severe: 50 to 200 ms of silence, 2 to 4 times as long, 2 to 4 copies."""

MODES = ("realistic", "aster")
"""`realistic`: as real stuttering was measured (`measured.py`). `aster`: as Liu et al. 2023 publish it."""

# Sounds and words draw the same numbers of copies: else kinds that are compared would differ in count as well.
_COPIES = {1: (2, 2), 2: (2, 3), 3: (3, 4), 4: (4, 4), None: (2, 4)}
_FILLER_COPIES = {1: (1, 1), 2: (1, 2), 3: (2, 2), 4: (2, 3), None: (1, 2)}

PROFILE = "profile"
"""The mixture that goes with a rate: the kinds in the shares of people who stutter so much (`measured.PROFILES`)."""

MIXTURES: dict[str, dict[str, float]] = {
    "even": dict.fromkeys(KINDS, 1.0),
    "sep28k": dict(zip(KINDS, (12.0, 10.0, 8.3, 9.8, 21.2), strict=True)),
    "fluencybank": dict(zip(KINDS, (10.3, 8.1, 13.3, 10.4, 27.3), strict=True)),
}
"""Weights of the kinds. `even`: every kind alike, as ASTER draws them. `sep28k` and `fluencybank`: approximate shares
of the kinds among labeled 3 s clips of people who stutter, in podcasts and in interviews, after Lea et al. (2021)."""
MIXTURE_NAMES = (PROFILE, *MIXTURES)


def check_mode(mode: str) -> None:
    """Raise one line unless this is a mode."""
    if mode not in MODES:
        raise StutterError(f"unknown mode '{one_line(mode, 40)}'. Available: {', '.join(MODES)}")


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise one line unless these are kinds of stuttering, one at least."""
    for name in kinds:
        if name not in KINDS:
            raise unknown("unknown kind of stuttering", name, KINDS, there="Available", error=StutterError)
    if not kinds:
        raise StutterError(f"no kind of stuttering chosen. Available: {', '.join(KINDS)}")


def applicable(timings: Timings, clips: Sequence[Clip] = (), mode: str = "realistic") -> tuple[str, ...]:
    """Return the kinds of stuttering that a recording has a place for."""
    check_mode(mode)
    places = _targets if mode == "aster" else weights
    return tuple(kind for kind in KINDS if places(kind, timings, clips))


def sample_operation(
    kind: str,
    timings: Timings,
    generator: np.random.Generator,
    severity: int | None = None,
    *,
    mode: str = "realistic",
    clips: Sequence[Clip] = (),
    avoid: Collection[int] = (),
    pitch: float | None = None,
    lengths: np.random.Generator | None = None,
) -> Operation:
    """Return a random operation of a kind that the recording has a place for.

    `severity` 1 to 4 draws from that quarter of the paper's range, or of real lengths, None from all of it. Words in
    `avoid` are taken only where there is no other. `clips` are fillers: in the mode `aster` used where (and only
    where) the recording has none, in `realistic` those of the speaker, or of others brought to the `pitch` (Hz).
    `lengths` is a generator of its own for lengths (see `draw_event`).
    """
    check_kinds([kind])
    check_mode(mode)
    if severity is not None and severity not in SEVERITIES:
        raise StutterError(f"severity must be from 1 to {len(SEVERITIES)}, not {severity}")
    if mode == "realistic":
        return draw_event(
            kind,
            timings,
            generator,
            severity=severity,
            clips=clips,
            avoid=avoid,
            pitch=pitch,
            lengths=lengths,
        )
    places = _targets(kind, timings, clips)
    if not places:
        raise StutterError(_nowhere(kind))
    free = [place for place in places if place[0] not in avoid] or places
    word, syllable = free[int(generator.integers(len(free)))]
    if kind == "block":
        return Block(word, syllable, float(round(_between(50.0, 200.0, severity, generator))))
    if kind == "prolongation":
        return Prolongation(word, syllable, round(_between(2.0, 4.0, severity, generator), 2))
    if kind == "sound_repetition":
        return SoundRepetition(word, syllable, _count(_COPIES[severity], generator))
    if kind == "word_repetition":
        return WordRepetition(word, _count(_COPIES[severity], generator))
    copies = _count(_FILLER_COPIES[severity], generator)
    own = fillers(timings)
    if own:
        filler = own[int(generator.integers(len(own)))]
        return Interjection(word, filler.word, filler.syllable, copies)
    return Interjection(word, copies=copies, clip=clips[int(generator.integers(len(clips)))].key)


def sample_chain(
    timings: Timings,
    mixture: str | Mapping[str, float],
    rate: float,
    severity: int | None,
    generator: np.random.Generator,
    *,
    mode: str = "realistic",
    clips: Sequence[Clip] = (),
    fillers: float = 0.0,
    pitch: float | None = None,
) -> Chain:
    """Return a chain with `rate` events per 100 intended words, on as many different words as there are.

    `mixture` is a name of `MIXTURES`, `profile` (the shares measured at the rate), or weights by kind; kinds that the
    recording has no place for are left out and the others share their weight. The number of events is rounded up or
    down at random, so that its mean over recordings is the rate; for a short recording it may be none. `fillers` per
    100 words come on top (mode `realistic`).
    """
    check_mode(mode)
    if not 0 <= rate <= 500:
        raise StutterError(f"the rate must be from 0 to 500 events per 100 words, not {rate:g}")
    if mode == "realistic":
        own = None if mixture == PROFILE else _weights(mixture, applicable(timings, clips))
        found = draw_events(
            timings,
            rate,
            generator,
            shares=own,
            fillers=fillers,
            severity=severity,
            clips=clips,
            pitch=pitch,
        )
        return Chain(tuple(found))
    shares = shares_at(rate) if mixture == PROFILE else mixture
    chosen = _weights(shares, applicable(timings, clips, mode))
    events = int(np.floor(rate * len(timings.intended) / 100 + generator.random()))
    kinds = list(chosen)
    share = np.array([chosen[kind] for kind in kinds]) / sum(chosen.values())
    chain, used = Chain(), set[int]()
    for _ in range(events):
        kind = kinds[int(generator.choice(len(kinds), p=share))]
        operation = sample_operation(kind, timings, generator, severity, mode=mode, clips=clips, avoid=used)
        used.add(operation.target)
        chain = chain.then(operation)
    return chain


def _weights(mixture: str | Mapping[str, float], possible: Collection[str]) -> dict[str, float]:
    if isinstance(mixture, str):
        if mixture not in MIXTURES:
            raise StutterError(f"unknown mixture '{mixture}'. Available: {', '.join(MIXTURE_NAMES)}")
        mixture = MIXTURES[mixture]
    for kind, weight in mixture.items():
        if kind not in KINDS or not 0 <= weight < float("inf"):
            raise StutterError(f"mixture: '{kind}' = {weight!r} is no weight of one of {', '.join(KINDS)}")
    weights = {kind: mixture[kind] for kind in KINDS if mixture.get(kind, 0) > 0 and kind in possible}
    if not weights:
        raise StutterError(f"none of {', '.join(mixture) or 'no kinds'} has a place in this recording")
    return weights


def _targets(kind: str, timings: Timings, clips: Sequence[Clip]) -> list[tuple[int, int]]:
    """Return (word, syllable) of all places for a kind."""
    sounding = [
        [
            n
            for n, part in enumerate(p for p in timings.words[at].syllables if not p.event)
            if part.end > part.start
        ]
        for at in timings.intended
    ]
    if kind == "block":
        return [(word, part) for word, parts in enumerate(sounding) for part in parts if part > 0]
    if kind == "word_repetition":
        return [(word, 0) for word, parts in enumerate(sounding) if parts]
    if kind == "interjection":
        # Between words, as the paper has it: not before the first nor after the last.
        return [(word, 0) for word in range(1, len(sounding))] if clips or fillers(timings) else []
    if kind == "sound_repetition":
        # The syllable of a word that has one only is the word: repeating it is a repetition of the word.
        return [(word, part) for word, parts in enumerate(sounding) for part in parts if len(parts) > 1]
    return [(word, part) for word, parts in enumerate(sounding) for part in parts]


def _nowhere(kind: str) -> str:
    if kind == "block":
        return "block: no word of this recording has two syllables to put silence between"
    if kind == "sound_repetition":
        return "sound_repetition: no word of this recording has two syllables of which one can be repeated"
    if kind == "interjection":
        return NO_FILLER + ". (There must also be two words to put it between.)"
    return f"{kind}: this recording has no syllable"


def _between(low: float, high: float, severity: int | None, generator: np.random.Generator) -> float:
    if severity is not None:
        quarter = (high - low) / len(SEVERITIES)
        low, high = low + (severity - 1) * quarter, low + severity * quarter
    return float(generator.uniform(low, high))


def _count(limits: tuple[int, int], generator: np.random.Generator) -> int:
    return int(generator.integers(limits[0], limits[1] + 1))
