"""Trials become speakers: every statistic of the audit starts from one row a speaker and recognizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from voxaudit.audits.parity.options import MEAN

COUNTS = ("utterances", "words", "errors", "rate_sum", "wer", "noise", "plain_utterances", "plain_sum")


@dataclass(frozen=True)
class SpeakerTable:
    """One row a recognizer and speaker.

    Columns: recognizer, speaker; utterances, words, errors; rate_sum (sum of the utterances' rates); wer (their mean,
    the inner mean of Eq. 3); noise (variance of that mean that comes from having few utterances, null for one);
    plain_utterances and plain_sum (the same without outlying utterances). Several recognizers are followed by `MEAN`.
    """

    table: pl.DataFrame
    raw: pl.DataFrame
    """One row a speaker: the smallest and largest value of each attribute, and the mean of each measure."""
    recognizers: tuple[str, ...]
    notes: tuple[str, ...]


def speaker_table(
    trials: pl.DataFrame, attributes: Sequence[str], measures: Sequence[str], outlier_z: float
) -> SpeakerTable:
    """Take means over the utterances of each speaker (inner mean of Eq. 3).

    An utterance is an outlier where its rate lies more than `outlier_z` standard deviations from its speaker's mean.
    """
    rate = pl.col("rate")
    plain = ~((rate - rate.mean()).abs() > outlier_z * rate.std()).fill_null(False)
    values = [pl.col(f"@{name}") for name in attributes]
    grouped = (
        trials.lazy()
        .with_columns(rate=pl.col("errors") / pl.col("words"))
        .group_by("recognizer", "speaker")
        .agg(
            *(value.min() for value in values),
            *(value.max().name.suffix("_max") for value in values),
            *(pl.col(f"#{name}").mean() for name in measures),
            utterances=pl.len().cast(pl.Float64),
            words=pl.col("words").sum().cast(pl.Float64),
            errors=pl.col("errors").sum().cast(pl.Float64),
            rate_sum=rate.sum(),
            wer=rate.mean(),
            noise=rate.var() / pl.len(),
            plain_utterances=plain.sum().cast(pl.Float64),
            plain_sum=rate.filter(plain).sum(),
        )
        .sort("recognizer", "speaker")
        .collect()
    )
    raw = grouped.group_by("speaker", maintain_order=True).agg(
        *(pl.col(f"@{name}").min() for name in attributes),
        *(pl.col(f"@{name}_max").max() for name in attributes),
        *(pl.col(f"#{name}").mean() for name in measures),
    )
    table = grouped.select("recognizer", "speaker", *COUNTS)
    recognizers = tuple(table["recognizer"].unique(maintain_order=True).to_list())
    notes: list[str] = []
    if len(recognizers) > 1:
        heard_by_all = pl.len() == len(recognizers)
        mean = (
            table.group_by("speaker", maintain_order=True)
            .agg(*(pl.col(name).mean() for name in COUNTS), complete=heard_by_all)
            .filter("complete")
            # Recognizers err on the same utterances: the noise of their mean is not the mean of their noise.
            .with_columns(noise=pl.lit(None, dtype=pl.Float64))
            .select(pl.lit(MEAN).alias("recognizer"), "speaker", *COUNTS)
        )
        lost = raw.height - mean.height
        if lost:
            notes.append(f"{lost} speakers were not heard by every recognizer and are not in {MEAN}")
        if table.group_by("recognizer").agg(pl.col("utterances").sum())["utterances"].n_unique() > 1:
            notes.append(
                "the recognizers did not all hear the same number of utterances; failed trials may be missing"
            )
        table = pl.concat([table, mean])
        recognizers = (*recognizers, MEAN) if mean.height else recognizers
    return SpeakerTable(table, raw, recognizers, tuple(notes))


def outlying_utterances(trials: pl.DataFrame, outlier_z: float, most: int = 100) -> tuple[pl.DataFrame, int]:
    """Return the utterances furthest from their speaker's mean, the worst first, and how many there are in all."""
    rate = pl.col("errors") / pl.col("words")
    own = (
        trials.lazy()
        .select("recognizer", "speaker", "utterance", rate.alias("wer"))
        .with_columns(
            z=(pl.col("wer") - pl.col("wer").mean().over("recognizer", "speaker"))
            / pl.col("wer").std().over("recognizer", "speaker")
        )
        .filter(pl.col("z").abs() > outlier_z, pl.col("z").is_finite())
        .sort(pl.col("z").abs(), descending=True)
        .collect()
    )
    return own.head(most), own.height
