"""Verdicts about kinds of stuttering, recognizers and selections of cases, compared on the same recordings."""

from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.verdicts.experiment import Claims, Experiment, Numbered, Verdict
from benchmarks.verdicts.world import (
    AS_ONE,
    FOR_TEXTS,
    REACTION,
    RECOGNIZERS,
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
from voxaudit.audits.stutter.scoring import compare
from voxaudit.perturb.stutter import KINDS
from voxaudit.stats import paired

SHORT = 1_000
"""Resamples in place of 10,000."""
PLACED = {"interjection": "interjection:before=0,word=0"}


def _cases(generator: np.random.Generator, where: Setting, ratio: float) -> pl.DataFrame:
    """Draw what two recognizers hear of recordings and of one case of each kind, half of which the search kept.

    The second recognizer, blocks and cases that were kept have `ratio` times as many errors.
    """
    people = draw_people(generator, where, most=FOR_TEXTS)
    height = len(people.speaker)
    row, words = np.repeat(np.arange(height), people.words), said_words(generator, people)
    about = pl.DataFrame(
        {
            "utterance": [f"u{n}" for n in range(height)],
            "speaker": [f"s{n}" for n in people.speaker],
            "intended": joined(row, words, height),
        }
    )
    kept = {kind: generator.random(height) < 0.5 for kind in KINDS}
    parts = []
    for number, name in enumerate(RECOGNIZERS):
        for kind in ("", *KINDS):
            chance = chances(generator, people, number) * (ratio if number else 1.0)
            if kind:
                moved = mean_one(REACTION, generator.standard_normal(len(people.group)))[people.speaker]
                chance *= moved * np.where(kept[kind], ratio, 1.0) * (ratio if kind == "block" else 1.0)
            parts.append(
                about.with_columns(
                    recognizer=pl.lit(name),
                    chain=pl.lit(PLACED.get(kind, f"{kind}:word=0") if kind else ""),
                    kind=pl.lit(kind),
                    kept=pl.Series(kept[kind]) if kind else pl.lit(False),
                    seed=pl.lit(0),
                    heard=texts_of(people, words, heard_of(generator, people, chance[row], number)),
                )
            )
    return pl.concat(parts)


def _compared(generator: np.random.Generator, where: Setting, ratio: float) -> Claims:
    claims: dict[str, list[bool | None]] = {}
    for one in judged(compare(_cases(generator, where, ratio), list(KINDS))):
        # Kinds and selections are asked of each recognizer by itself: here of the first.
        if one["recognizer"] in ("", RECOGNIZERS[0]):
            said = None if one["verdict"] == "refused" else one["verdict"] == "shown"
            claims.setdefault(f"stutter.{one['family']}", []).append(said)
    return claims


def _together(audits: Numbered, where: Setting, ratio: float) -> list[Claims]:
    """Do many audits with fewer resamples each."""
    usual, paired.RESAMPLES = paired.RESAMPLES, SHORT
    try:
        return [_compared(generator, where, ratio) for generator in audits.values()]
    finally:
        paired.RESAMPLES = usual


BY = "interval and p have to agree, Holm over the {}"
EXPERIMENTS = (
    Experiment(
        "stutter_compared",
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
