"""Means of values of which some are only known to lie beyond the end of a scale (Tobin 1958)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.bootstrap import speaker_weights, widened_tail

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """How far the mean of a group is from another's, with a 95 % interval and a permutation's p-value."""

    group: str
    against: str
    gap: float
    low: float
    high: float
    p: float


def censored_mean(
    values: FloatArray, low: float, high: float, weights: FloatArray | None = None
) -> FloatArray:
    """Return the maximum-likelihood mean of a normal variable seen through a scale from `low` to `high`.

    Values at or beyond an end are known to lie there and no more. Without any it is the plain mean. `weights` has a row
    for every sample wanted (how often each value is in it); the result has an entry for each.
    """
    from scipy.special import log_ndtr

    w = np.ones((1, len(values))) if weights is None else weights
    inside = (values > low) & (values < high)
    x = np.clip(values, low, high)
    total = w.sum(axis=1)
    mean = w @ x / total
    if inside.all():
        return np.asarray(mean, dtype=np.float64)
    floor = 1e-3 * (high - low)
    deviation = np.sqrt(np.maximum((w * (x - mean[:, None]) ** 2).sum(axis=1) / total, floor**2))
    below, above = values <= low, values >= high
    for _ in range(200):
        # E step: mean and square of the part beyond each end, by the inverse Mills ratio.
        a, b = (low - mean) / deviation, (high - mean) / deviation
        mills_low = np.exp(-(a**2) / 2.0 - log_ndtr(a)) / np.sqrt(2.0 * np.pi)
        mills_high = np.exp(-(b**2) / 2.0 - log_ndtr(-b)) / np.sqrt(2.0 * np.pi)
        low_mean, high_mean = mean - deviation * mills_low, mean + deviation * mills_high
        low_var = deviation**2 * np.clip(1.0 - a * mills_low - mills_low**2, 0.0, 1.0)
        high_var = deviation**2 * np.clip(1.0 + b * mills_high - mills_high**2, 0.0, 1.0)
        n_low, n_high = w[:, below].sum(axis=1), w[:, above].sum(axis=1)
        seen = w[:, inside]
        new = (seen @ x[inside] + n_low * low_mean + n_high * high_mean) / total
        squares = (seen * (x[inside] - new[:, None]) ** 2).sum(axis=1)
        squares += n_low * (low_var + (low_mean - new) ** 2) + n_high * (high_var + (high_mean - new) ** 2)
        new_deviation = np.sqrt(np.maximum(squares / total, floor**2))
        moved = float(np.max(np.abs(new - mean) + np.abs(new_deviation - deviation)))
        mean, deviation = new, new_deviation
        if moved < 1e-5 * (high - low):
            break
    return np.asarray(mean, dtype=np.float64)


def mean_resamples(
    values: FloatArray, low: float, high: float, generator: np.random.Generator, resamples: int = 2000
) -> FloatArray:
    """Return the censored mean of samples of speakers drawn with replacement."""
    return censored_mean(values, low, high, speaker_weights(len(values), resamples, generator))


def interval(draws: FloatArray, speakers: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval, its tails widened to the t distribution's."""
    tail = widened_tail(speakers, confidence)
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    return float(low), float(high)


def permutation_p(
    first: FloatArray,
    second: FloatArray,
    low: float,
    high: float,
    generator: np.random.Generator,
    permutations: int = 2000,
) -> float:
    """Return the two-sided p-value of a difference of censored means when speakers change groups at random."""
    pooled = np.concatenate([first, second])
    n = len(first)
    chosen = np.argsort(generator.random((permutations, len(pooled))), axis=1)[:, :n]
    weights = np.zeros((permutations + 1, len(pooled)))
    np.put_along_axis(weights[1:], chosen, 1.0, axis=1)
    weights[0, :n] = 1.0
    gaps = censored_mean(pooled, low, high, weights) - censored_mean(pooled, low, high, 1.0 - weights)
    return float(np.mean(np.abs(gaps) >= abs(gaps[0]) - 1e-12))


def compare_groups(
    groups: Mapping[str, FloatArray], low: float, high: float, generator: np.random.Generator
) -> tuple[dict[str, tuple[float, float, float]], list[Gap]]:
    """Return the mean of every group of speakers with its 95 % interval, and how far each two are apart."""
    draws = {name: mean_resamples(values, low, high, generator) for name, values in groups.items()}
    means = {name: float(censored_mean(values, low, high)[0]) for name, values in groups.items()}
    limits = {name: interval(draws[name], len(values)) for name, values in groups.items()}
    gaps = []
    for one, other in combinations(groups, 2):
        first, second = groups[one], groups[other]
        ends = interval(draws[one] - draws[other], min(len(first), len(second)))
        p = permutation_p(first, second, low, high, generator)
        gaps.append(Gap(one, other, means[one] - means[other], *ends, p))
    return {name: (means[name], *limits[name]) for name in groups}, gaps
