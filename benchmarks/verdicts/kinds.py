"""Verdicts about kinds of stuttering, recognizers and selections of cases, compared on the same recordings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from benchmarks.verdicts.disturbance import errors_of
from benchmarks.verdicts.experiment import Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.many import TOGETHER
from benchmarks.verdicts.world import (
    AS_ONE,
    FOR_TEXTS,
    REACTION,
    RECOGNIZERS,
    Array,
    Heard,
    People,
    Setting,
    chances,
    draw_people,
    heard_of,
    joined,
    mean_one,
    said_words,
    texts_of,
)

from voxaudit.audits.stutter.audit import judged
from voxaudit.audits.stutter.scoring import Comparison, compare
from voxaudit.perturb.stutter.chain import KINDS
from voxaudit.stats.bootstrap import Resample

PLACED = {"interjection": "interjection:before=0,word=0"}
Cases = tuple[People, Array, dict[str, Array], dict[tuple[str, str], Heard]]
"""Who spoke, the words, which cases of each kind were kept, and what recognizers heard of each kind ("": the original).
"""


def _cases(generator: np.random.Generator, where: Setting, ratio: float) -> Cases:
    """Draw what two recognizers hear of recordings and of one case of each kind, half of which the search kept.

    The second recognizer, blocks and cases that were kept have `ratio` times as many errors.
    """
    people = draw_people(generator, where, most=FOR_TEXTS)
    row, words = np.repeat(np.arange(len(people.speaker)), people.words), said_words(generator, people)
    kept = {kind: generator.random(len(people.speaker)) < 0.5 for kind in KINDS}
    heard = {}
    for number, name in enumerate(RECOGNIZERS):
        for kind in ("", *KINDS):
            chance = chances(generator, people, number) * (ratio if number else 1.0)
            if kind:
                moved = mean_one(REACTION, generator.standard_normal(len(people.group)))[people.speaker]
                chance *= moved * np.where(kept[kind], ratio, 1.0) * (ratio if kind == "block" else 1.0)
            heard[name, kind] = heard_of(generator, people, chance[row], number)
    return people, words, kept, heard


def _claims(comparisons: Sequence[Comparison]) -> Claims:
    claims: dict[str, list[bool | None]] = {}
    for one in judged(comparisons):
        # Kinds and selections are asked of each recognizer by itself: here of the first.
        if one["recognizer"] in ("", RECOGNIZERS[0]):
            said = None if one["verdict"] == "refused" else one["verdict"] == "shown"
            claims.setdefault(f"stutter.{one['family']}", []).append(said)
    return claims


def _compared(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    people, words, kept, heard = _cases(generator, where, ratio)
    height = len(people.speaker)
    about = pl.DataFrame(
        {
            "utterance": [f"u{n}" for n in range(height)],
            "speaker": [f"s{n}" for n in people.speaker],
            "intended": joined(np.repeat(np.arange(height), people.words), words, height),
        }
    )
    parts = [
        about.with_columns(
            recognizer=pl.lit(name),
            chain=pl.lit(PLACED.get(kind, f"{kind}:word=0") if kind else ""),
            kind=pl.lit(kind),
            kept=pl.Series(kept[kind]) if kind else pl.lit(False),
            seed=pl.lit(0),
            heard=texts_of(people, words, one),
        )
        for (name, kind), one in heard.items()
    ]
    return _claims(compare(pl.concat(parts), list(KINDS)))


def _together(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    """Do many audits: the same comparisons from counts, without tables and texts, and with shared draws."""
    first, second = RECOGNIZERS
    found = []
    for number, generator in audits.items():
        people, _, kept, heard = _cases(generator, where, ratio)
        errors = {key: errors_of(people, one) for key, one in heard.items()}
        resample = shared(len(people.group), number // TOGETHER)
        one, every = np.ones(len(people.words)), sum(kept[kind].astype(float) for kind in KINDS)

        def sums(
            parts: Sequence[tuple[tuple[str, str], Array]], people: People = people, errors: Any = errors
        ) -> tuple[Array, Array]:
            pairs = [(errors[key] * weight, people.words * weight) for key, weight in parts]
            added = [sum(side) for side in zip(*pairs, strict=True)]
            return tuple(np.bincount(people.speaker, each, len(people.group)) for each in added)  # type: ignore[return-value]

        def asked(
            family: str, recognizer: str, after: Any, before: Any, sums: Any = sums, resample: Any = resample
        ) -> Comparison:
            ends = resample.change(sums(after), sums(before))
            return Comparison(family, recognizer, "", "", 0, 0, 0, ends.low, ends.high, ends.p, 0, 0, 1, None)

        alone = [
            asked("kinds", first, [((first, a), one)], [((first, b), one)]) for b, a in combinations(KINDS, 2)
        ]
        sides = [[((name, kind), one) for kind in KINDS] for name in (second, first)]
        front = [((first, kind), kept[kind].astype(float)) for kind in KINDS]
        draw = [((first, kind), every / (1 + len(KINDS))) for kind in ("", *KINDS)]
        rest = [asked("recognizers", "", *sides), asked("selections", first, front, draw)]
        found.append(_claims([*alone, *rest]))
    return found


@cache
def shared(count: int, seed: int) -> Resample:
    """Return draws that many audits with so many speakers share."""
    return Resample.within([""] * count, SHORT, seed, 0.95)


SHORT = 1_000
"""Resamples in place of 10,000."""
BY = "interval and p have to agree, Holm over the {}"
EXPERIMENTS = (
    Experiment(
        "stutter compared",
        _compared,
        (
            Verdict(
                "stutter.kinds",
                'stutter: "word repetitions cost more than blocks", shown',
                BY.format("ten pairs of kinds"),
                0.05,
                "any",
            ),
            Verdict(
                "stutter.recognizers",
                'stutter: "one recognizer has more errors on stuttered speech", shown',
                BY.format("pairs of recognizers"),
                0.05,
                "any",
            ),
            Verdict(
                "stutter.selections",
                'stutter: "the front has more errors than as many at random", shown',
                "interval and p have to agree",
                0.05,
                "any",
            ),
        ),
        "error rate of blocks, of the second recognizer, of the cases kept, times",
        (1.25, 1.5, 2.0),
        batch=_together,
        sizes=AS_ONE,
    ),
)
