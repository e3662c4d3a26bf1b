"""Which words the localiser calls robust and which not: the words that a validation speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from voxaudit.audits.localize.result import Localization
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest
from voxaudit.speak.grammar import MENTION, part_of_speech
from voxaudit.stats.proportions import wilson

By = Literal["loss", "drop"]

ROBUST, NON_ROBUST = "robust", "non_robust"
FEWEST_OCCURRENCES = 5
FEWEST_SPEAKERS = 3


@dataclass(frozen=True)
class ChosenWord:
    """A word, what the localiser says of it, and on what ground: `rate` is the share of `occurrences` that was lost."""

    word: str
    kind: str
    occurrences: int
    rate: float


def choose_words(
    found: Localization, recognizer: str, perturbation: str, *, by: By = "loss", count: int = 8
) -> list[ChosenWord]:
    """Return a recognizer's `count` most and `count` least robust words under a perturbation, all groups pooled.

    By `loss`, the aligned losses at the worst setting, or by `drop`, Algorithm 2's, both as a share of the word's
    occurrences on clean speech. Few occurrences can all be lost by chance, so words are ranked by that end of the
    share's 95 % Wilson interval which speaks against choosing them. Words with fewer than five occurrences or (where
    known) three speakers do not count, nor those that the grammar cannot use in a sentence; a word is never both.
    """
    words = found.words.filter(recognizer=recognizer)
    if words.is_empty():
        names = found.words["recognizer"].unique(maintain_order=True).to_list()
        raise VoxauditError(
            f"no recognizer '{one_line(recognizer, 60)}' in the input.{suggest(recognizer, names)}"
        )
    words = words.filter(perturbation=perturbation)
    if words.is_empty():
        names = (
            found.words.filter(recognizer=recognizer)["perturbation"].unique(maintain_order=True).to_list()
        )
        raise VoxauditError(
            f"{recognizer} was not heard under '{one_line(perturbation, 60)}'.{suggest(perturbation, names)}"
            f" Choose one with --validate-perturbation: {', '.join(names)}"
        )
    lost = "drop" if by == "drop" else "lost"
    if lost not in words.columns:
        raise VoxauditError("word counts have no aligned losses: validate --validate-by drop")
    people = (
        [pl.col("speakers").sum()]
        if "speakers" in words.columns and words["speakers"].null_count() == 0
        else []
    )
    pooled = (
        words.group_by("word", maintain_order=True)
        .agg(pl.col("original").sum(), pl.col(lost).sum().alias("lost"), *people)
        .filter(pl.col("original") >= FEWEST_OCCURRENCES)
    )
    if people:
        pooled = pooled.filter(pl.col("speakers") >= FEWEST_SPEAKERS)
    usable = pooled["word"].map_elements(
        lambda word: part_of_speech(word) != MENTION, return_dtype=pl.Boolean
    )
    pooled = pooled.filter(usable)
    low, high = wilson(pooled["lost"].to_numpy(), pooled["original"].to_numpy())
    rate = (pl.col("lost") / pl.col("original")).alias("rate")
    ranked = pooled.with_columns(rate, pl.Series("low", low), pl.Series("high", high))
    count = min(count, ranked.height // 2)
    if count < 1:
        raise VoxauditError(
            f"{recognizer}, {perturbation}: fewer than two usable words occur {FEWEST_OCCURRENCES} times;"
            " give more speech"
        )
    worst = ranked.sort("low", "word", descending=[True, False])[:count]
    best = ranked.sort("high", "word")[:count]
    best = best.filter(pl.col("rate") < worst["rate"].min(), ~pl.col("word").is_in(worst["word"].to_list()))
    if best.is_empty():
        raise VoxauditError(
            f"{recognizer}, {perturbation}: all words are lost equally often; give more speech"
        )
    return [
        ChosenWord(word, kind, int(original), float(rate))
        for kind, table in ((ROBUST, best), (NON_ROBUST, worst))
        for word, original, rate in table.select("word", "original", "rate").iter_rows()
    ]
