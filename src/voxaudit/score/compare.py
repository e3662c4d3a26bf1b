"""What a score rests on: how much the normalizer moves it, and which words are wrong most often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from voxaudit.score.align import Texts
from voxaudit.score.normalize import (
    NORMALIZERS,
    UNSPACED,
    Normalizer,
    count_unspaced,
    language_of,
    normalizer,
)
from voxaudit.score.pairs import Pairs
from voxaudit.score.table import score_columns, total

LARGE_CHANGE = 0.20
"""Normalizers that disagree by more than this share of the word error rate decide more than a recognizer does."""


@dataclass(frozen=True)
class NormalizerRate:
    """The rates of one text under one normalizer; `change` is relative to the chosen one's word error rate."""

    normalizer: str
    words: int
    wer: float | None
    cer: float | None
    change: float | None


@dataclass(frozen=True)
class FrequentEdits:
    """The most frequent errors with their numbers, from `utterances` utterances that have any."""

    substitutions: tuple[tuple[str, str, int], ...]
    deletions: tuple[tuple[str, int], ...]
    insertions: tuple[tuple[str, int], ...]
    utterances: int


def normalizer_sensitivity(
    references: pl.Series,
    hypotheses: pl.Series,
    chosen: str | Normalizer = "basic",
    among: Iterable[Normalizer] | None = None,
) -> list[NormalizerRate]:
    """Return the rates of two columns of raw text under every normalizer, the chosen one first.

    `unspaced` is among them only where there is text without spaces: elsewhere it is `basic`. The rules of one
    language are among them where the chosen one is of that language, those of English where it is of none.
    """
    first = normalizer(chosen)
    language = language_of(first) or "en"
    rules = [
        first,
        *(
            rule
            for rule in (among or NORMALIZERS.values())
            if rule.name != first.name and language_of(rule) in (None, language)
        ),
    ]
    if first.name != UNSPACED and not count_unspaced(references):
        rules = [rule for rule in rules if rule.name != UNSPACED]
    rates: list[NormalizerRate] = []
    for rule in rules:
        table = score_columns(references, hypotheses, rule)
        counts = total(table)
        characters, errors = int(table["characters"].sum()), int(table["character_errors"].sum())
        base = rates[0].wer if rates else counts.wer
        change = counts.wer / base - 1.0 if base and counts.wer is not None else None
        rates.append(
            NormalizerRate(
                rule.id, counts.words, counts.wer, errors / characters if characters else None, change
            )
        )
    return rates


def disagreement(rates: Iterable[NormalizerRate]) -> tuple[NormalizerRate, NormalizerRate] | None:
    """Return the lowest and the highest rate where they differ by more than a fifth of the chosen one's (the first).

    `none` is left out: nobody reports a rate in which a comma is an error. None where the choice decides little.
    """
    first, *others = rates
    known = [
        one for one in (first, *others) if one.wer is not None and not one.normalizer.startswith("none@")
    ]
    if first.wer is None or len(known) < 2:
        return None
    low, high = (pick(known, key=lambda one: one.wer or 0.0) for pick in (min, max))
    return (low, high) if (high.wer or 0.0) - (low.wer or 0.0) > LARGE_CHANGE * first.wer else None


def frequent_edits(said: Texts, heard: Texts, most: int = 5) -> FrequentEdits:
    """Return the most frequent word substitutions, deletions and insertions of normalized pairs.

    Ties are broken by spelling, so the same pairs give the same list in any order.
    """
    pairs = Pairs.of(pl.Series(said, dtype=pl.String), pl.Series(heard, dtype=pl.String))
    times = np.bincount(pairs.pair, minlength=len(pairs))
    pair, word, other = pairs.changes()
    edits = pl.DataFrame({"said": word, "heard": other, "times": times[pair]})
    edits = edits.group_by("said", "heard").agg(pl.col("times").sum())
    gone, new = pl.col("heard") < 0, pl.col("said") < 0
    substitutions, deletions, insertions = (
        _top(edits.filter(kind), pairs.words.vocabulary, most) for kind in (~gone & ~new, gone, new)
    )
    utterances = int(times[pairs.said != pairs.heard].sum())
    return FrequentEdits(substitutions, deletions, insertions, utterances)


def _top(edits: pl.DataFrame, vocabulary: list[str], most: int) -> tuple[Any, ...]:
    # Words are spelled out only where one of them can be among the first, or as frequent as the last of those.
    rows = edits.filter(pl.col("times") >= pl.col("times").top_k(most).min()).rows()
    named = [(*(vocabulary[code] for code in codes if code >= 0), times) for *codes, times in rows]
    return tuple(sorted(named, key=lambda row: (-row[-1], row[:-1]))[:most])
