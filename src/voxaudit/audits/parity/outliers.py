"""Outliers: speakers and utterances far from the others, and what the findings would be without them.

An utterance is judged among its speaker's, a speaker among all speakers (|z| > 3). Nothing is removed from the audit
itself: a group that is treated badly can look like a row of outliers, and removing it would hide just that.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from voxaudit.audits.parity.options import Settings
from voxaudit.audits.parity.univariate import univariate


@dataclass(frozen=True)
class Outliers:
    """Who and what is far out, and the univariate rows with and without."""

    speakers: pl.DataFrame
    utterances: pl.DataFrame
    """The furthest ones; `utterance_count` says how many there are."""
    utterance_count: int
    comparison: pl.DataFrame
    """Err_rel and adjusted p of every group with and without, and whether a verdict changes."""
    shares: pl.DataFrame
    """Outlying speakers by group."""


def outliers(
    speakers: pl.DataFrame,
    utterances: tuple[pl.DataFrame, int],
    groups: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    gaps: dict[str, float],
    settings: Settings,
) -> Outliers:
    """Find outlying speakers and repeat the univariate comparison without them and without outlying utterances.

    `speakers` has a column of groups for each attribute; `groups` is the univariate table with everybody.
    """
    wer = pl.col("wer")
    scored = speakers.with_columns(
        z=((wer - wer.mean().over("recognizer")) / wer.std().over("recognizer")).fill_nan(None)
    )
    far = pl.col("z").abs() > settings.outlier_z
    found = (
        scored.filter(far)
        .select("recognizer", "speaker", *order, "utterances", "wer", "z")
        .sort("recognizer", pl.col("z").abs(), descending=[False, True])
    )
    # Utterances first, then speakers by what is left of theirs.
    plain = speakers.with_columns(
        utterances=pl.col("plain_utterances"),
        rate_sum=pl.col("plain_sum"),
        wer=pl.col("plain_sum") / pl.col("plain_utterances"),
    )
    z = (wer - wer.mean().over("recognizer")) / wer.std().over("recognizer")
    rest = plain.filter(~(z.abs() > settings.outlier_z).fill_null(False))
    keys = ["recognizer", "attribute", "group"]
    columns = ["speakers", "wer_speaker_mean", "err_rel", "p_adjusted", "verdict"]
    without = univariate(rest, order, gaps, settings).groups.select(
        *keys, *(pl.col(name).alias(f"{name}_without") for name in columns)
    )
    comparison = groups.select(*keys, *columns).join(without, on=keys, how="left", maintain_order="left")
    significant, still = (pl.col(name) < settings.alpha for name in ("p_adjusted", "p_adjusted_without"))
    comparison = comparison.with_columns(
        changes=(significant.fill_null(False) != still.fill_null(False))
        | (significant & still & (pl.col("err_rel").sign() != pl.col("err_rel_without").sign())).fill_null(
            False
        )
    )
    shares = pl.concat(
        [
            scored.group_by("recognizer", name)
            .agg(speakers=pl.len(), outliers=far.fill_null(False).sum())
            .filter(pl.col("outliers") > 0)
            .select(
                "recognizer",
                pl.lit(name).alias("attribute"),
                pl.col(name).alias("group"),
                "speakers",
                "outliers",
            )
            .sort("recognizer", "group")
            for name in order
        ]
    )
    return Outliers(found, utterances[0], utterances[1], comparison, shares)
