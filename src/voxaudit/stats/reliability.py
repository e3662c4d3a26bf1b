"""How far stated confidences can be trusted, speakers being the sample: curve, calibration error, NCE, AUROC.

Everything is computed from sums by speaker over cells of equal confidence, so that drawing speakers again (a cluster
bootstrap) is one product of matrices. A calibration error is a mean of squares and therefore above 0 by chance alone:
of each stretch of the curve the variance of its gap over speakers is taken off (Kumar, Liang and Ma 2019 take off the
binomial one, which is too little where speakers differ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray, IntArray

CELLS = 200
"""Different confidences that are told apart; more are put together."""
STRETCHES = 10
"""Stretches of the reliability curve, with as many words each."""
SUREST = 0.999
"""Confidences beyond this (and below its rest) count as it in the cross entropy: one word said to be impossible would
decide everything."""
MEASURES = ("said", "right", "overconfidence", "calibration_error", "nce", "auroc")
RESAMPLES = 999


@dataclass(frozen=True)
class Reliability:
    """Estimates with their limits by measure, and the curve: words, confidence and share that is right by stretch."""

    values: dict[str, tuple[float, float | None, float | None]]
    curve: list[tuple[float, float, float]]


def reliability(
    confidence: FloatArray,
    right: FloatArray,
    wrong: FloatArray,
    speaker: IntArray,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Reliability:
    """Return how far confidences can be trusted: a row has `right` and `wrong` words of one confidence and speaker.

    `said` is the mean confidence, `right` the share of right words, `overconfidence` the difference;
    `calibration_error` the root of the mean square of confidence less share of right words along the curve, its bias
    removed; `nce` the normalized cross entropy (1: sure and right; 0: no better than the share alone; below: worse);
    `auroc` the chance that a right word is surer than a wrong one. nan where there is none.

    >>> sure, good = np.repeat([0.9, 0.5], 50), np.tile([1.0] * 9 + [0.0], 10)
    >>> found = reliability(sure, good, 1.0 - good, np.arange(100) % 10).values
    >>> {name: round(found[name][0], 2) for name in ("said", "right", "overconfidence", "auroc")}
    {'said': 0.7, 'right': 0.9, 'overconfidence': -0.2, 'auroc': 0.5}
    """
    people, who = np.unique(speaker, return_inverse=True)
    edges = np.unique(np.quantile(confidence, np.linspace(0.0, 1.0, CELLS + 1)[1:-1], method="lower"))
    levels = np.unique(confidence)
    cell = np.searchsorted(levels if len(levels) <= CELLS else edges, confidence)
    size = int(cell.max()) + 1

    def by_cell(values: FloatArray) -> FloatArray:
        found = np.bincount(who * size + cell, values, len(people) * size).astype(np.float64)
        return found.reshape(len(people), size)

    words = right + wrong
    sums = [by_cell(one) for one in (right, wrong, words * confidence)]
    clipped = np.clip(confidence, 1.0 - SUREST, SUREST)
    entropy = np.bincount(who, right * np.log2(clipped) + wrong * np.log2(1.0 - clipped), len(people))
    total = np.cumsum((sums[0] + sums[1]).sum(axis=0))
    stretch = np.minimum(
        ((total - 0.5 * np.diff(total, prepend=0.0)) / total[-1] * STRETCHES).astype(int), STRETCHES - 1
    )
    coarse = (stretch[:, None] == np.unique(stretch)).astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    # The first row is everybody once: the estimate.
    weights = np.vstack([np.ones(len(people)), speaker_weights(len(people), RESAMPLES, generator)])
    r, w, c = (weights @ one for one in sums)
    said, share = c.sum(axis=1) / (r + w).sum(axis=1), r.sum(axis=1) / (r + w).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = r.sum(axis=1) * np.log2(share) + w.sum(axis=1) * np.log2(1.0 - share)
        below = np.cumsum(w, axis=1) - 0.5 * w
        values = {
            "said": said,
            "right": share,
            "overconfidence": said - share,
            "calibration_error": _calibration(weights, [one @ coarse for one in sums]),
            "nce": 1.0 - (weights @ entropy) / alone,
            "auroc": np.einsum("bf,bf->b", r, below) / (r.sum(axis=1) * w.sum(axis=1)),
        }
    found = {}
    for name, drawn in values.items():
        found[name] = (float(drawn[0]), *_limits(drawn[1:], len(people), level))
    heard = [(one @ coarse).sum(axis=0) for one in sums]
    count = heard[0] + heard[1]
    curve = [
        (float(n), float(c / n), float(r / n)) for n, c, r in zip(count, heard[2], heard[0], strict=True)
    ]
    return Reliability(found, curve)


def _limits(drawn: FloatArray, speakers: int, level: float) -> tuple[float | None, float | None]:
    """Return percentile limits, widened for few speakers; None with fewer than five, or where most draws have none."""
    known = drawn[np.isfinite(drawn)]
    if speakers < FEWEST_SPEAKERS or 2 * len(known) < len(drawn):
        return None, None
    tail = widened_tail(speakers, level)
    low, high = np.quantile(known, [tail, 1.0 - tail])
    return float(low), float(high)


def _calibration(weights: FloatArray, sums: list[FloatArray]) -> FloatArray:
    """Return the calibration errors of draws of speakers; `sums` are those of right, wrong and confidence."""
    right, wrong, sure = sums
    words, excess = right + wrong, sure - right
    count = weights @ words
    # A stretch with one speaker cannot tell chance from error, and adds nothing.
    people = (weights > 0.0).astype(np.float64) @ (words > 0.0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = (weights @ excess) / count
        square = (
            weights @ excess**2 - 2.0 * gap * (weights @ (excess * words)) + gap**2 * (weights @ words**2)
        )
        chance = np.where(people > 1.5, square / count**2 * people / (people - 1.0), gap**2)
        share = count / count.sum(axis=1, keepdims=True)
        total = np.nansum(share * (gap**2 - chance), axis=1)
    return np.asarray(np.sqrt(np.maximum(total, 0.0)))
