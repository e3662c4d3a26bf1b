"""Did the error rate change on the same recordings? Each is paired with its own original; speakers are the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray

RESAMPLES = 10_000
_EXACT = 14  # speakers whose signs are all tried: 16,384 arrangements


@dataclass(frozen=True)
class Change:
    """How errors change from originals to what was made of them, recordings paired with their own originals.

    `werd` is WER after minus before (pooled), `low` and `high` its 95 % speaker-bootstrap interval (None under
    five speakers). `p` flips the signs of whole speakers' mean differences (two-sided; exact up to 14 speakers): the
    only test to go by. `u` and `effect` (the probability of superiority minus its opposite, -1 to 1) describe the
    recordings' error rates after against before as Liu et al. 2023 do. `p_u_published` is their Mann-Whitney test, for
    comparison with that paper alone: it takes the two halves of each pair for independent samples and the mean of
    several cases for one recording, and is below 0.05 in 14 to 46 % of audits without any effect (docs/verdicts.md).
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
    sums = counts.group_by("utterance", "after").agg(
        pl.col("speaker").first(), pl.col("errors").sum(), pl.col("words").sum()
    )
    pairs = (
        sums.filter("after")
        .join(sums.filter(~pl.col("after")), on="utterance", suffix="_before")
        .filter((pl.col("words") > 0) & (pl.col("words_before") > 0))
        .sort("utterance")
    )
    if pairs.is_empty():
        return None
    after = (pairs["errors"] / pairs["words"]).to_numpy()
    before = (pairs["errors_before"] / pairs["words_before"]).to_numpy()
    u, p_u, effect = _mann_whitney(after, before)
    # An unknown speaker is taken for a person of their own.
    people = pairs.with_columns(pl.coalesce("speaker", pl.concat_str(pl.lit("\0"), "utterance")))
    by_speaker = people.group_by("speaker", maintain_order=True).agg(
        pl.col("errors", "words", "errors_before", "words_before").sum(),
        difference=(
            pl.col("errors") / pl.col("words") - pl.col("errors_before") / pl.col("words_before")
        ).mean(),
    )
    low, high = _interval(by_speaker, seed)
    known = pairs["speaker"].null_count() == 0
    return Change(
        werd=float(pairs["errors"].sum()) / float(pairs["words"].sum())
        - float(pairs["errors_before"].sum()) / float(pairs["words_before"].sum()),
        low=low if known else None,
        high=high if known else None,
        p=sign_flip(by_speaker["difference"].to_numpy(), seed) if known else None,
        speakers=by_speaker.height,
        utterances=pairs.height,
        u=u,
        p_u_published=p_u,
        effect=effect,
    )


def sign_flip(differences: FloatArray, seed: int = 0) -> float | None:
    """Return the two-sided p-value that speakers' mean differences are symmetric about zero; None under five speakers.

    All sign arrangements up to 14 speakers, 10,000 random ones (the observed one counted in) beyond.
    """
    count = len(differences)
    if count < FEWEST_SPEAKERS:
        return None
    if count <= _EXACT:
        bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
        sums = np.abs((1 - 2 * bits) @ differences)
    else:
        generator = np.random.Generator(np.random.PCG64(seed))
        signs = generator.choice((-1.0, 1.0), size=(RESAMPLES, count))
        sums = np.append(np.abs(signs @ differences), abs(differences.sum()))
    return float(np.mean(sums >= abs(differences.sum()) * (1 - 1e-12)))


def _interval(by_speaker: pl.DataFrame, seed: int) -> tuple[float | None, float | None]:
    count = by_speaker.height
    if count < FEWEST_SPEAKERS:
        return None, None
    weights = speaker_weights(count, RESAMPLES, np.random.Generator(np.random.PCG64(seed)))
    sums = weights @ by_speaker.select("errors", "words", "errors_before", "words_before").to_numpy()
    drawn = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    tail = widened_tail(count, 0.95)
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


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
