"""Speakers by their mean over utterances; groups of them by numbers, means and sums of squares, and their rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.stats.ttests import NO_SPREAD
from voxaudit.tables import mean_of, total

FloatArray = NDArray[np.float64]

MEAN = "(mean of recognizers)"
"""The name under which each speaker's mean over all recognizers is analyzed."""
OUTLIER_Z = 3.0
"""Speakers and utterances beyond this many standard deviations are outliers."""
SUMS = ("utterances", "words", "errors", "rate_sum", "wer", "plain_utterances", "plain_sum")
"""What is known of each speaker: utterances, words, errors; the sum of the utterances' rates; their mean, `wer` (the
inner mean of Herron et al., Eq. 3); and number and sum without outlying utterances."""


def speaker_means(trials: pl.DataFrame, attributes: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """Return one row per recognizer and speaker: `SUMS`, the least and the largest (`_max`) of each attribute among
    the speaker's trials, and the mean of each measure.

    An utterance is an outlier where its rate lies more than `OUTLIER_Z` standard deviations from its speaker's mean.
    """
    rate = pl.col("rate")
    plain = ~((rate - rate.mean()).abs() > OUTLIER_Z * rate.std()).fill_null(False)
    return (
        trials.lazy()
        .with_columns(rate=pl.col("errors") / pl.col("words"))
        .group_by("recognizer", "speaker")
        .agg(
            *(pl.col(name).min() for name in attributes),
            *(pl.col(name).max().name.suffix("_max") for name in attributes),
            *(pl.col(name).mean() for name in measures),
            utterances=pl.len().cast(pl.Float64),
            words=pl.col("words").sum().cast(pl.Float64),
            errors=pl.col("errors").sum().cast(pl.Float64),
            rate_sum=rate.sum(),
            wer=rate.mean(),
            plain_utterances=plain.sum().cast(pl.Float64),
            plain_sum=rate.filter(plain).sum(),
        )
        .sort("recognizer", "speaker")
        .collect()
    )


def mean_of_recognizers(speakers: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `MEAN`: each speaker that all recognizers of `speakers` heard, averaged over them."""
    return (
        speakers.group_by("speaker", maintain_order=True)
        .agg(mean_of(*SUMS), complete=pl.len() == speakers["recognizer"].n_unique())
        .filter("complete")
        .select(pl.lit(MEAN).alias("recognizer"), "speaker", *SUMS)
    )


def summarize_groups(speakers: pl.DataFrame, by: Sequence[str], value: str = "wer") -> pl.DataFrame:
    """Return speakers, mean, and sum of squares about the mean (`m2`) of `value` for every combination of `by`.

    One row of `speakers` is one speaker; the order is that of first appearance.
    """
    centered = (pl.col(value) - pl.col(value).mean()) ** 2
    return speakers.group_by(by, maintain_order=True).agg(
        speakers=pl.len(), mean=pl.col(value).mean(), m2=centered.sum()
    )


def variance(n: FloatArray, m2: FloatArray) -> FloatArray:
    """Return the sample variance; nan for fewer than two speakers, 0 where the speakers differ by rounding only."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(n >= 2, m2 / (n - 1.0), np.nan)
    return np.where(found < NO_SPREAD, 0.0, found)


@dataclass(frozen=True)
class Rest:
    """Everybody outside a group."""

    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    overall: FloatArray
    """The mean of group and rest together."""


def rest_of(groups: pl.DataFrame, within: Sequence[str]) -> Rest:
    """Return the rest of every row of `groups` (see `summarize_groups`): the other rows with the same `within`."""
    totals = combine(groups, within)
    if within:
        joined = groups.join(
            totals, on=within, how="left", nulls_equal=True, maintain_order="left", suffix="_all"
        )
    else:
        joined = groups.join(totals, how="cross", suffix="_all")
    n, mean, m2 = (joined[name].to_numpy().astype(np.float64) for name in ("speakers", "mean", "m2"))
    all_n, all_mean, all_m2 = (
        joined[f"{name}_all"].to_numpy().astype(np.float64) for name in ("speakers", "mean", "m2")
    )
    rest_n = all_n - n
    with np.errstate(divide="ignore", invalid="ignore"):
        rest_mean = np.where(rest_n > 0, (all_n * all_mean - n * mean) / rest_n, np.nan)
        left = all_m2 - m2 - n * rest_n / all_n * (mean - rest_mean) ** 2
    # What is left of a difference of large sums after rounding is no spread.
    rest_m2 = np.where(rest_n > 0, np.where(left < 1e-12 * all_m2, 0.0, left), np.nan)
    return Rest(rest_n, rest_mean, rest_m2, all_mean)


def combine(groups: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the summaries of larger groups from those of their parts, exactly."""
    n, mean, m2 = pl.col("speakers"), pl.col("mean"), pl.col("m2")
    overall = (n * mean).sum() / n.sum()
    parts = [
        n.sum().alias("speakers"),
        overall.alias("mean"),
        (m2.sum() + (n * (mean - overall) ** 2).sum()).alias("m2"),
    ]
    return groups.group_by(by, maintain_order=True).agg(parts) if by else groups.select(parts)


def pooled_sigma(groups: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return `sigma`, the standard deviation between speakers within groups, and its degrees of freedom.

    The mean of each group is taken out first: only what speakers of one group differ by counts. Null where every
    group has a single speaker.
    """
    df = (pl.col("speakers") - 1).sum()
    sigma = (total("m2") / df).sqrt()
    parts = [pl.when(df > 0).then(sigma).alias("sigma"), df.alias("sigma_df")]
    return groups.group_by(by, maintain_order=True).agg(parts) if by else groups.select(parts)
