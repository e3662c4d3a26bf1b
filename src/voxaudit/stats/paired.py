"""Did the error rate change on the same recordings? Each is paired with its own original; speakers are the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.stats.bootstrap import Changed, Resample, Sums
from voxaudit.stats.cells import FloatArray, IntArray

RESAMPLES = 10_000
_SIDES = ("", "_before")


@dataclass(frozen=True)
class Change:
    """How errors change from originals to what was made of them, recordings paired with their own originals.

    `werd` is WER after minus before (pooled), `low` and `high` its 95 % interval and `p` the two-sided test that this
    interval is of (`Resample.change`; None under five speakers): random halves of the speakers and, where an original
    was heard once and what was made of it several times, any of these in its place. `u` and `effect` (the probability
    of superiority minus its opposite, -1 to 1) describe the recordings' error rates after against before as Liu et al.
    2023 do. `p_u_published` is their Mann-Whitney test, for comparison with that paper alone: it takes the two halves
    of each pair for independent samples and the mean of several cases for one recording, and is below 0.05 in up to
    all audits without any effect (docs/verdicts.md).
    """

    werd: float
    low: float | None
    high: float | None
    p: float | None
    speakers: int
    utterances: int
    u: float
    p_u_published: float
    effect: float


def paired_change(counts: pl.DataFrame, *, seed: int = 0) -> Change | None:
    """Return how the counts of `after` differ from those before; None where there is nothing to pair.

    `counts` has a row per trial: `utterance`, `speaker`, `after` (true or false), `errors` and `words`. Several trials
    of an utterance are added up.
    """
    sums = counts.group_by("utterance", "after", maintain_order=True).agg(
        pl.col("speaker").first(),
        pl.col("errors", "words").sum(),
        pl.col("errors", "words").name.suffix("_each"),
    )
    pairs = (
        sums.filter("after")
        .join(sums.filter(~pl.col("after")), on="utterance", suffix="_before")
        .filter((pl.col("words") > 0) & (pl.col("words_before") > 0))
        .sort("utterance")
    )
    if pairs.is_empty():
        return None
    after, before = ((pairs[f"errors{side}"] / pairs[f"words{side}"]).to_numpy() for side in _SIDES)
    u, p_u, effect = _mann_whitney(after, before)
    # An unknown speaker is taken for a person of their own.
    names = pairs.select(pl.coalesce("speaker", pl.concat_str(pl.lit("\0"), "utterance"))).to_series()
    known = pairs["speaker"].null_count() == 0
    found = _changed(pairs, names.rank("dense").to_numpy() - 1, seed) if known else Changed()
    rates = [float(pairs[f"errors{side}"].sum()) / float(pairs[f"words{side}"].sum()) for side in _SIDES]
    return Change(
        werd=rates[0] - rates[1],
        low=found.low,
        high=found.high,
        p=found.p,
        speakers=names.n_unique(),
        utterances=pairs.height,
        u=u,
        p_u_published=p_u,
        effect=effect,
    )


def _changed(pairs: pl.DataFrame, speaker: IntArray, seed: int) -> Changed:
    """Return the limits and p of the change; `speaker` numbers the speakers of the pairs."""
    count = int(speaker.max()) + 1

    def sums(side: str, hearings: int = 1) -> Sums:
        found = []
        for name in ("errors", "words"):
            # A recording with fewer hearings than others has them again.
            column = pairs[f"{name}{side}"].to_list()
            own = np.array([np.resize(one, hearings) for one in column], dtype=np.float64)
            found.append(np.zeros((count, hearings)))
            np.add.at(found[-1], speaker, own)
        return found[0], found[1]

    heard = {side: max(map(len, pairs[f"errors_each{side}"].to_list())) for side in _SIDES}
    few, many = sorted(_SIDES, key=lambda side: heard[side])
    hearings = sums(f"_each{many}", heard[many]) if heard[few] == 1 < heard[many] else None
    found = Resample.within([""] * count, RESAMPLES, seed, 0.95).change(sums(many), sums(few), hearings)
    if few == "_before" or found.low is None or found.high is None:
        return found
    return Changed(-found.high, -found.low, found.p)


def _mann_whitney(after: FloatArray, before: FloatArray) -> tuple[float, float, float]:
    from scipy.stats import mannwhitneyu

    u, p = mannwhitneyu(after, before, alternative="two-sided")
    return float(u), float(p), float(2 * u / (len(after) * len(before)) - 1)


def mann_whitney(one: FloatArray, other: FloatArray) -> float:
    """Return the two-sided p-value of the Mann-Whitney test of two samples, such as the error rates of several runs.

    >>> round(mann_whitney(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])), 2)
    0.1
    """
    return _mann_whitney(one, other)[1]
