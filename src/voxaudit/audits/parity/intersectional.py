"""Groups at the intersection of all attributes: who is treated best and worst, where there are speakers enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice, product

import numpy as np
import polars as pl

from voxaudit.audits.parity.judge import FEW, REFUSED, adjust, floats, power_columns, verdict
from voxaudit.audits.parity.options import Refusal, Settings
from voxaudit.audits.parity.univariate import gap_of
from voxaudit.stats.speaker_means import combine, pooled_sigma, rest_of, variance
from voxaudit.stats.ttests import relative_interval, steadied, welch

FEWEST_TESTED = 5
"""Crossed groups of fewer speakers are not tested: two alike by chance would seem sure."""


def intersectional(
    cells: pl.DataFrame, attributes: Sequence[str], gaps: dict[str, float], settings: Settings
) -> pl.DataFrame:
    """Compare every combination of groups with everybody else (Eq. 4), the worst treated first.

    `cells` has recognizer, the attributes, and speakers, mean and m2. Groups of `FEWEST_TESTED` speakers and more are
    tested. Only those with enough speakers (Eq. 1) are ranked (`rank` 1 is the worst); the others say how many more
    are needed. Sigma is the spread between speakers within these groups, or over all speakers where every group has
    one. It grows with the error rate, so that Eq. 1 alone would pass over the groups that are treated worst.
    """
    n, mean, m2 = (cells[name].to_numpy().astype(np.float64) for name in ("speakers", "mean", "m2"))
    rest = rest_of(cells, ["recognizer"])
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    gap = gap_of(cells["recognizer"], gaps)
    within = pooled_sigma(cells, ["recognizer"])
    over_all = pooled_sigma(combine(cells, ["recognizer"]), ["recognizer"]).rename({"sigma": "sigma_all"})
    spread = within.join(over_all.select("recognizer", "sigma_all"), on="recognizer", how="left")
    sigma = (
        cells.join(spread, on="recognizer", how="left", maintain_order="left")
        .select(pl.coalesce("sigma", "sigma_all").fill_null(float("nan")))
        .to_series()
    )
    judged = power_columns(n, rest.n, sigma.to_numpy(), gap, settings)
    tested = (n >= FEWEST_TESTED) & (rest.n >= FEWEST_TESTED)
    used = steadied(n, own, rest.n, others)
    test = welch(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = 100.0 * (mean - rest.overall) / rest.overall
    p = np.where(tested, test.p, np.nan)
    table = cells.select(
        "recognizer", pl.struct(attributes).alias("group"), pl.col("speakers").cast(pl.Int64)
    ).with_columns(
        wer_speaker_mean=floats(mean),
        err_rel=floats(relative),
        ci_low=floats(np.where(tested, low, np.nan)),
        ci_high=floats(np.where(tested, high, np.nan)),
        difference=floats(test.estimate),
        difference_low=floats(np.where(tested, test.low, np.nan)),
        difference_high=floats(np.where(tested, test.high, np.nan)),
        t=floats(np.where(tested, test.t, np.nan)),
        df=floats(np.where(tested, test.df, np.nan)),
        p=floats(p),
        p_adjusted=floats(adjust(p, settings, cells["recognizer"])),
        **judged,
    )
    rank = pl.col("err_rel").rank("ordinal", descending=True).over("recognizer", "enough_speakers")
    few = pl.when(pl.col("more_needed") > 0).then(pl.format(FEW + ", {} more needed", "more_needed"))
    table = table.with_columns(
        rank=pl.when("enough_speakers").then(rank).cast(pl.Int64), verdict=verdict(table, settings, gap)
    ).with_columns(
        verdict=pl.when(pl.col("verdict").is_in([FEW, REFUSED]) & ~pl.col("enough_speakers"))
        .then(few.otherwise(pl.lit(FEW + " outside the group")))
        .otherwise("verdict")
    )
    # Behind the ranked groups those that differ all the same, then those that lack the fewest speakers.
    differs = (pl.col("p_adjusted") < settings.alpha).fill_null(False)
    return table.sort(
        "recognizer",
        "rank",
        differs,
        "more_needed",
        descending=[False, False, True, False],
        nulls_last=True,
        maintain_order=True,
    )


def empty_groups(cells: pl.DataFrame, order: dict[str, tuple[str, ...]]) -> list[Refusal]:
    """Return a refusal for the combinations of groups that no speaker has; none of them can be compared."""
    there = set(cells.select(list(order)).unique().iter_rows())
    every = math.prod(len(groups) for groups in order.values())
    if len(there) == every:
        return []
    absent = islice((group for group in product(*order.values()) if group not in there), 5)
    names = "; ".join(
        ", ".join(f"{name}={value}" for name, value in zip(order, group, strict=True)) for group in absent
    )
    more = every - len(there) - 5
    return [
        Refusal(
            f"{every - len(there)} of {every} intersectional groups",
            f"no speaker belongs to them: {names}" + (f"; and {more} more" if more > 0 else ""),
            "speakers of these groups",
        )
    ]
