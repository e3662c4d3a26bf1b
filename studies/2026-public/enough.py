"""How many speakers would have been enough? Fewer of the 110 people are drawn, many times, and each method is asked.

python studies/2026-public/study.py ask enough       100 draws of 8, 16 and 24 speakers per group; some minutes
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import voxaudit

DRAWS = 100
FIRST = 5
"""Of so many draws the claims are kept one by one: a test draws some of them again."""
SIZES = (8, 16, 24)
RECOGNIZER = "moonshine-tiny"
PAIRS = (
    ("native_language", "mandarin", "english"),
    ("native_language", "arabic", "english"),
    ("gender", "female", "male"),
)
METHODS = ("ratio of WERs", "typical speaker", "mean of speakers", "resampled utterances")
RESAMPLES = 1000


def enough(scores: pl.DataFrame, draws: int = DRAWS) -> Iterator[dict[str, Any]]:
    """Yield by pair of groups and number of speakers how often each method claims a gap; of first draws, in which."""
    heard = scores.filter(pl.col("recognizer") == RECOGNIZER)
    for attribute, group, against in PAIRS:
        both = heard.filter(pl.col(attribute).is_in([group, against]))
        for size in SIZES:
            claims = np.array([asked(draw(both, attribute, size, k), attribute, k) for k in range(draws)])
            yield {
                "group": group,
                "against": against,
                "speakers": size,
                "claimed": dict(zip(METHODS, claims.mean(axis=0).tolist(), strict=True)),
                "first": dict(zip(METHODS, claims[:FIRST].T.tolist(), strict=True)),
            }


def draw(heard: pl.DataFrame, attribute: str, size: int, seed: int) -> pl.DataFrame:
    """Return what `size` speakers of each group said."""
    speakers = heard.select("speaker", attribute).unique().sort("speaker")
    chosen = pl.concat(
        [group.sample(size, seed=seed) for _, group in speakers.group_by(attribute, maintain_order=True)]
    )
    return heard.join(chosen.select("speaker"), on="speaker", how="semi", maintain_order="left")


def asked(heard: pl.DataFrame, attribute: str, seed: int) -> tuple[bool, ...]:
    """Return which of the methods claim a gap at 5 %."""
    disparity = {one.measure: one for one in voxaudit.disparity(heard, attribute=attribute).findings}
    parity = {one.measure: one for one in voxaudit.parity(heard, attributes=[attribute]).findings}
    typical = disparity["typical_speaker_ratio"].p
    return (
        disparity["wer_ratio"].verdict == "shown",
        typical is not None and typical < 0.05,
        parity["wer_gap"].verdict == "shown",
        resampled(heard, attribute, seed),
    )


def resampled(heard: pl.DataFrame, attribute: str, seed: int) -> bool:
    """Return whether the interval of the resampled ratio leaves out 1: the baseline of Liu et al."""
    generator = np.random.default_rng(seed)
    errors = heard["substitutions"] + heard["deletions"] + heard["insertions"]
    rates = []
    for group in heard[attribute].unique().sort():
        own = (heard[attribute] == group).to_numpy()
        counts, words = errors.to_numpy()[own], heard["words"].to_numpy()[own]
        chosen = generator.integers(0, own.sum(), (RESAMPLES, own.sum()))
        rates.append(counts[chosen].sum(axis=1) / words[chosen].sum(axis=1))
    low, high = np.quantile(rates[0] / np.maximum(rates[1], 1e-9), (0.025, 0.975))
    return bool(low > 1 or high < 1)
