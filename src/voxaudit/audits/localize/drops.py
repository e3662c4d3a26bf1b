"""AequeVox's Algorithm 2: how many times fewer a word is heard under a disturbance, averages of it, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from voxaudit.answer import Refusal

CELL = ("recognizer", "group", "perturbation")


def word_drops(originals: pl.DataFrame, counts: pl.DataFrame, omega: float) -> pl.DataFrame:
    """Return `drop = max(count in original - min over setting of count, 0)` of every word (Algorithm 2).

    `originals` has a row for each recognizer, group, perturbation and word with its count on clean speech,
    `original`; `counts` has recognizer, group, perturbation, setting, word, count, in the order of the settings. A
    word that a setting lacks was heard 0 times there. Added columns: `minimum`, `setting` (of the minimum, the first
    if several), `drop`, `non_robust` (`drop > omega`) and `counts`, one for each of `settings`.
    """
    settings = counts.select(*CELL, "setting").unique(maintain_order=True)
    grid = originals.lazy().join(settings.lazy(), on=CELL, maintain_order="left_right")
    heard = grid.join(
        counts.lazy(), on=[*CELL, "setting", "word"], how="left", maintain_order="left"
    ).with_columns(pl.col("count").fill_null(0))
    return (
        heard.group_by(*CELL, "word", maintain_order=True)
        .agg(
            pl.col("original").first(),
            pl.col("count").min().alias("minimum"),
            pl.col("setting").gather(pl.col("count").arg_min()).first(),
            pl.col("setting").alias("settings"),
            pl.col("count").alias("counts"),
        )
        .with_columns((pl.col("original") - pl.col("minimum")).clip(lower_bound=0).alias("drop"))
        .with_columns((pl.col("drop") > omega).alias("non_robust"))
        .select(*CELL, "word", "original", "minimum", "drop", "setting", "non_robust", "settings", "counts")
        .collect()
    )


def average_drops(words: pl.DataFrame) -> pl.DataFrame:
    """Return the average drop of a word for each recognizer, group and perturbation, unweighted.

    Beside it `words`, how many words that is the average of, and `share`, the drops as a share of the words' counts
    on clean speech: groups that say more, or other, words differ in the first figure without being treated worse.
    """
    return (
        words.group_by(CELL, maintain_order=True)
        .agg(
            pl.len().alias("words"),
            pl.col("original").sum(),
            pl.col("drop").sum().alias("dropped"),
            pl.col("drop").mean().alias("average_drop"),
            pl.col("non_robust").sum(),
        )
        .with_columns((pl.col("dropped") / pl.col("original")).fill_nan(None).alias("share"))
    )


def mean_over(averages: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return the mean of the average drops over all dimensions but `by` (Table 9: `recognizer` or `perturbation`)."""
    return averages.group_by(by, maintain_order=True).agg(pl.col("average_drop").mean())


@dataclass(frozen=True)
class Localization:
    """Words that get lost, by recognizer, group and perturbation.

    `words`: one row per word with its counts (one for each of the `settings`), drop and (from transcripts) losses and
    tests: `p` and `p_adjusted` against the words beside it, `p_group` and `p_group_adjusted` against other groups.
    `averages`: one row for each recognizer, group and perturbation. `phonemes`: the losses of the words that contain
    each, or None. `examples`: utterances in which a non-robust word was lost, to listen to. `left_out`: utterances not
    counted for a recognizer and perturbation because one of its scenarios has no answer. `notes`: what a reader should
    know. `refusal`: why there are no tests, or none between groups.
    """

    words: pl.DataFrame
    averages: pl.DataFrame
    phonemes: pl.DataFrame | None
    examples: pl.DataFrame | None
    left_out: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    omega: float
    fdr: float
    normalizer: str | None
    refusal: Refusal | None = None
