"""One attribute at a time: group word error rates, relative errors, gaps, and tests on speakers (Eq. 2 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from voxaudit.audits.parity.gaps import KEYS, best_against_worst
from voxaudit.audits.parity.judge import FloatArray, adjust, floats, one_hypothesis, power_columns, verdict
from voxaudit.audits.parity.options import Settings
from voxaudit.stats.speaker_means import pooled_sigma, rest_of, summarize_groups, variance
from voxaudit.stats.ttests import one_sample, relative_interval, steadied, welch

MOST_PAIRED = 100
"""Groups of one attribute that are compared pair by pair."""


@dataclass(frozen=True)
class Univariate:
    """Three tables: every group against the rest, best against worst group, and every pair of groups."""

    groups: pl.DataFrame
    gaps: pl.DataFrame
    pairs: pl.DataFrame


def univariate(
    speakers: pl.DataFrame, order: dict[str, tuple[str, ...]], gaps: dict[str, float], settings: Settings
) -> Univariate:
    """Compare the groups of every attribute of a speaker table that has a column of groups for each.

    `order` names the attributes and their groups; `gaps` is the gap asked about for each recognizer.
    """
    summaries = pl.concat([_summary(speakers, name, groups) for name, groups in order.items()])
    groups = _each_group(summaries, gaps, settings)
    pairs = _pairs(summaries, gaps, settings)
    return Univariate(groups, best_against_worst(groups, settings), pairs)


def _summary(speakers: pl.DataFrame, name: str, groups: Sequence[str]) -> pl.DataFrame:
    by = ["recognizer", name]
    counts = speakers.group_by(by).agg(
        utterances=pl.col("utterances").sum(),
        words=pl.col("words").sum(),
        wer_utterance_mean=pl.col("rate_sum").sum() / pl.col("utterances").sum(),  # Eq. 2
        wer_pooled=pl.col("errors").sum() / pl.col("words").sum(),
    )
    place = pl.DataFrame({name: groups, "place": range(len(groups))}, schema_overrides={name: pl.String})
    return (
        summarize_groups(speakers, by)
        .join(counts, on=by)
        .join(place, on=name)
        .sort("recognizer", "place")
        .select(
            "recognizer",
            pl.lit(name).alias("attribute"),
            pl.col(name).alias("group"),
            pl.col("speakers").cast(pl.Int64),
            "mean",
            "m2",
            pl.col("utterances", "words").round().cast(pl.Int64),
            "wer_utterance_mean",
            "wer_pooled",
        )
    )


def _each_group(groups: pl.DataFrame, gaps: dict[str, float], settings: Settings) -> pl.DataFrame:
    n, mean, m2 = (groups[name].to_numpy().astype(np.float64) for name in ("speakers", "mean", "m2"))
    rest = rest_of(groups, KEYS)
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    # Two groups are one comparison, whichever side it is looked at from.
    several = groups.select(pl.len().over(KEYS) > 2).to_series().to_numpy()
    used = np.where(several, steadied(n, own, rest.n, others), own)
    two = welch(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    # The paper's test: the group's speakers against the overall mean as if that were known exactly.
    one = one_sample(n, mean, own, rest.overall, confidence=settings.confidence)
    around = one_sample(n, mean, own, 0.0, confidence=settings.confidence)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = 100.0 * (mean - rest.overall) / rest.overall  # Eq. 4
    gap = gap_of(groups["recognizer"], gaps)
    same = one_hypothesis(groups, KEYS)
    sigma = groups.join(pooled_sigma(groups, KEYS), on=KEYS, how="left", maintain_order="left")["sigma"]
    table = groups.select(*KEYS, "group", "speakers", "utterances", "words").with_columns(
        wer_speaker_mean=floats(mean),  # Eq. 3
        wer_low=floats(np.maximum(around.low, 0.0)),
        wer_high=floats(around.high),
        wer_utterance_mean=groups["wer_utterance_mean"],
        wer_pooled=groups["wer_pooled"],
        sd=floats(np.sqrt(own)),
        err_rel=floats(relative),
        ci_low=floats(low),
        ci_high=floats(high),
        difference=floats(two.estimate),
        difference_low=floats(two.low),
        difference_high=floats(two.high),
        t=floats(two.t),
        df=floats(two.df),
        p=floats(two.p),
        p_adjusted=floats(adjust(two.p, settings, groups["recognizer"], same)),
        one_sample_t=floats(one.t),
        one_sample_df=floats(one.df),
        one_sample_p=floats(one.p),
        one_sample_p_adjusted=floats(adjust(one.p, settings, groups["recognizer"])),
        **power_columns(n, rest.n, sigma.to_numpy().astype(np.float64), gap, settings),
    )
    return table.with_columns(verdict(table, settings, gap))


def _pairs(groups: pl.DataFrame, gaps: dict[str, float], settings: Settings) -> pl.DataFrame:
    """Compare every two groups of an attribute; groups with one speaker are in no pair.

    Of an attribute with more than `MOST_PAIRED` groups, those with the most speakers are paired.
    """
    first: list[int] = []
    second: list[int] = []
    rows = groups.with_row_index("row").filter(pl.col("speakers") >= 2)
    for _, part in rows.group_by(KEYS, maintain_order=True):
        largest = part.sort("speakers", descending=True, maintain_order=True).head(MOST_PAIRED)
        chosen = list(combinations(largest["row"].sort().to_list(), 2))
        first += [a for a, _ in chosen]
        second += [b for _, b in chosen]
    a, b = groups[first], groups[second]

    def side(table: pl.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = table["speakers"].to_numpy().astype(np.float64)
        return (
            n,
            table["mean"].to_numpy().astype(np.float64),
            variance(n, table["m2"].to_numpy().astype(np.float64)),
        )

    test = welch(*side(a), *side(b), confidence=settings.confidence)
    gap = gap_of(a["recognizer"], gaps)
    sigma = a.join(pooled_sigma(groups, KEYS), on=KEYS, how="left", maintain_order="left")["sigma"]
    table = a.select(*KEYS, pl.col("group").alias("first")).with_columns(
        second=b["group"],
        speakers=a["speakers"],
        second_speakers=b["speakers"],
        wer=a["mean"],
        second_wer=b["mean"],
        difference=floats(test.estimate),
        difference_low=floats(test.low),
        difference_high=floats(test.high),
        t=floats(test.t),
        df=floats(test.df),
        p=floats(test.p),
        p_adjusted=floats(adjust(test.p, settings, a["recognizer"])),
        **power_columns(side(a)[0], side(b)[0], sigma.to_numpy().astype(np.float64), gap, settings),
    )
    # A pair lacks what its smaller side lacks.
    more = (pl.col("speakers_needed") - pl.min_horizontal("speakers", "second_speakers")).clip(lower_bound=0)
    return table.with_columns(more.alias("more_needed"), verdict(table, settings, gap))


def gap_of(recognizers: pl.Series, gaps: dict[str, float]) -> FloatArray:
    """Return the gap asked about, one entry a row."""
    return recognizers.replace_strict(list(gaps), list(gaps.values()), return_dtype=pl.Float64).to_numpy()
