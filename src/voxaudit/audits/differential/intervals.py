"""Intervals of gaps: speakers are drawn again within each group, the same draws for all scenarios and pairs."""

from __future__ import annotations

import numpy as np

from voxaudit.audits.differential.sums import FloatArray, SpeakerSums
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail

_BLOCK = 500_000  # resamples x cells x 4 sums worked on at a time


def gap_intervals(
    sums: SpeakerSums, *, confidence: float, resamples: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits of D(g) - D(h): axes g, h, pair, scenario.

    Percentiles of the speaker bootstrap, widened as the smaller group's t distribution asks; nan where one of the
    groups has fewer than five speakers.
    """
    groups, sizes = len(sums.groups), sums.sizes()
    shape = (len(sums.pairs), len(sums.scenarios))
    weights = [speaker_weights(size, resamples, generator) for size in sizes]
    values = np.stack([sums.edits, sums.words, sums.clean_edits, sums.clean_words])
    values = values.reshape(4, -1, len(sums.speakers))
    cells = values.shape[1]
    low, high = (np.full((groups, groups, cells), np.nan) for _ in range(2))
    step = max(1, _BLOCK // resamples)
    for start in range(0, cells, step):
        some = slice(start, start + step)
        drawn: list[FloatArray] = []
        for group in range(groups):
            a, w, c, v = (weights[group] @ part[some, sums.members(group)].T for part in values)
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn.append(a / w - c / v)
        for g in range(groups):
            for h in range(g + 1, groups):
                fewest = min(sizes[g], sizes[h])
                if fewest < FEWEST_SPEAKERS:
                    continue
                tail = widened_tail(fewest, confidence)
                limits = _quantiles(drawn[g] - drawn[h], tail)
                low[g, h, some], high[g, h, some] = limits
                low[h, g, some], high[h, g, some] = -limits[1], -limits[0]
    return low.reshape(groups, groups, *shape), high.reshape(groups, groups, *shape)


def _quantiles(gaps: FloatArray, tail: float) -> FloatArray:
    limits = np.quantile(gaps, [tail, 1.0 - tail], axis=0)
    for column in np.flatnonzero(np.isnan(gaps).any(axis=0)):
        # A draw of speakers who said nothing has no distance; the others speak for it if they are most.
        finite = gaps[np.isfinite(gaps[:, column]), column]
        if 2 * len(finite) >= len(gaps):
            limits[:, column] = np.quantile(finite, [tail, 1.0 - tail])
    return np.asarray(limits)
