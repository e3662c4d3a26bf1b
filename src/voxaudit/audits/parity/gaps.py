"""The gap of an attribute: its best against its worst group (Eq. 5), under three ways of averaging."""

from __future__ import annotations

import numpy as np
import polars as pl

from voxaudit.audits.parity.judge import adjust, floats
from voxaudit.audits.parity.options import Settings
from voxaudit.stats.ttests import welch

KEYS = ("recognizer", "attribute")
MEANS = ("wer_speaker_mean", "wer_utterance_mean", "wer_pooled")


def best_against_worst(groups: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Return one row a recognizer and attribute. Groups with one speaker take no part.

    `gap` is Eq. 5, in percent of the overall mean; `gap_wer` the same in word error rate, with its interval. Best and
    worst were looked for among `pairs` pairs, so `p` is the pair's Welch p times that number (Bonferroni), and the
    interval is as much wider. `choice_matters`: utterance means or pooled rates name another best or worst group.
    """
    usable = groups.filter(pl.col("speakers") >= 2)
    rows = usable.group_by(KEYS, maintain_order=True).agg(
        groups=pl.len(),
        pairs=pl.len() * (pl.len() - 1) // 2,
        gap=pl.col("err_rel").max() - pl.col("err_rel").min(),
        **{f"best_{name}": pl.col("group").sort_by(name, maintain_order=True).first() for name in MEANS},
        **{f"worst_{name}": pl.col("group").sort_by(name, maintain_order=True).last() for name in MEANS},
        **{f"gap_{name}": pl.col(name).max() - pl.col(name).min() for name in MEANS},
    )
    first, *others = MEANS
    found = (
        groups.select(KEYS).unique(maintain_order=True).join(rows, on=KEYS, how="left", maintain_order="left")
    )
    found = found.with_columns(
        pl.col("groups", "pairs").fill_null(0),
        choice_matters=pl.any_horizontal(
            *(
                pl.col(f"{end}_{first}") != pl.col(f"{end}_{name}")
                for end in ("best", "worst")
                for name in others
            )
        ),
    ).rename({f"best_{first}": "best", f"worst_{first}": "worst"})
    # A gap has two groups; with a single usable one there is none.
    alone = pl.col("groups") < 2
    empty = ("best", "worst", "gap", "choice_matters", *(f"gap_{name}" for name in MEANS))
    found = found.with_columns(pl.when(~alone).then(pl.col(name)).alias(name) for name in empty)
    sides = [
        [
            tested[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for name in ("speakers", "wer_speaker_mean", "sd")
        ]
        for tested in (_side(found, "worst", usable), _side(found, "best", usable))
    ]
    picked = np.maximum(found["pairs"].cast(pl.Float64).to_numpy(), 1.0)
    wider = 1.0 - settings.alpha / picked
    worst, best = ((n, mean, sd**2) for n, mean, sd in sides)
    test = welch(*worst, *best, confidence=wider)
    raised = np.minimum(test.p * picked, 1.0)
    return found.select(
        *KEYS, "groups", "best", "worst", "gap", pl.col("gap_wer_speaker_mean").alias("gap_wer"), "pairs"
    ).with_columns(
        gap_low=floats(np.maximum(test.low, 0.0)),
        gap_high=floats(test.high),
        gap_utterance_mean=found["gap_wer_utterance_mean"],
        gap_pooled=found["gap_wer_pooled"],
        choice_matters=found["choice_matters"],
        t=floats(test.t),
        df=floats(test.df),
        p_pair=floats(test.p),
        p=floats(raised),
        p_adjusted=floats(adjust(raised, settings, found["recognizer"])),
    )


def _side(found: pl.DataFrame, which: str, groups: pl.DataFrame) -> pl.DataFrame:
    chosen = found.select(*KEYS, pl.col(which).alias("group"))
    return chosen.join(groups, on=[*KEYS, "group"], how="left", maintain_order="left")
