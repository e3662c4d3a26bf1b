"""Accuracy: error rates of every recognizer, scenario and group, with intervals that respect speakers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from voxaudit.stats.rates import lower_limits_together, rate_intervals
from voxaudit.tables import require_columns


def accuracy(
    scores: pl.DataFrame, by: Sequence[str] = ("recognizer", "scenario"), *, confidence: float = 0.95
) -> pl.DataFrame:
    """Return word and character error rates of a `scores` table for every combination of `by`.

    Rates are ratios of sums over utterances. `ci_low` and `ci_high` bound `wer`; they come from the
    log scale with speakers as the sample (`stats.rates`) and are null where speakers are unknown or fewer than five,
    and where nobody met an error: nothing tells then how far above 0 the rate may be. Columns: `by`, utterances,
    speakers, words, errors, wer, ci_low, ci_high, cer. A missing attribute value is a group of its own (null).
    """
    counts = ("substitutions", "deletions", "insertions", "words", "character_errors", "characters")
    require_columns(scores, [*by, "speaker", *counts], "scores")
    errors = pl.col("substitutions") + pl.col("deletions") + pl.col("insertions")
    table = scores.with_columns(errors=errors)
    rates = table.group_by(by, maintain_order=True).agg(
        utterances=pl.len(),
        words=pl.col("words").sum(),
        errors=pl.col("errors").sum(),
        wer=pl.col("errors").sum() / pl.col("words").sum(),
        cer=pl.col("character_errors").sum() / pl.col("characters").sum(),
    )
    rates = rates.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in ("wer", "cer")
    )
    intervals = rate_intervals(table, by, confidence=confidence)
    joined = rates.join(intervals, on=by, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(*by, "utterances", "speakers", "words", "errors", "wer", "ci_low", "ci_high", "cer")


def surely_at_least(scores: pl.DataFrame, *, confidence: float = 0.95) -> pl.DataFrame:
    """Return, by scenario, what the word error rate surely reaches: lower limits that hold for all scenarios at once.

    `scores` are those of one recognizer. Columns: scenario, low (null where there is no interval).
    """
    require_columns(
        scores, ["scenario", "speaker", "substitutions", "deletions", "insertions", "words"], "scores"
    )
    errors = pl.col("substitutions") + pl.col("deletions") + pl.col("insertions")
    return lower_limits_together(scores.with_columns(errors=errors), ["scenario"], confidence=confidence)
