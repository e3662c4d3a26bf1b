"""How far several people, or two rules, agree on cases: kappa, plain and weighted, pair by pair; rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError
from voxaudit.stats.bootstrap import speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.proportions import wilson_of

Weights = Literal["linear", "quadratic"]
"""How near two ordered categories are; without, only equal ones agree."""

FEWEST_CASES = 5
"""With fewer cases there is no estimate: one case more could turn it around."""

MISSING = -1
"""The rating of a case that a rater did not judge."""


@dataclass(frozen=True)
class Kappa:
    """Agreement beyond chance, 1 for perfect; `refusal` says why there is no value.

    `observed` and `expected` are the shares of agreement (with weights: of partial agreement) found and due to
    chance. `cases` were judged by two people or more. `low` and `high` are the limits of a 95 % bootstrap over cases.
    """

    value: float | None
    low: float | None
    high: float | None
    observed: float | None
    expected: float | None
    cases: int
    refusal: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two raters: how many cases both judged, the share on which they agree with its 95 % interval, Cohen's kappa."""

    first: str
    second: str
    cases: int
    agreed: int
    share: float | None
    low: float | None
    high: float | None
    kappa: float | None


def rating_counts(ratings: NDArray[np.integer], categories: int) -> FloatArray:
    """Return how many raters put each case into each category: cases x categories.

    `ratings` is cases x raters, holding category numbers from 0, or -1 (`MISSING`) where a rater did not judge.
    """
    ratings = np.asarray(ratings)
    if ratings.size and (ratings.max() >= categories or ratings.min() < MISSING):
        raise VoxauditError(f"ratings must be category numbers from 0 to {categories - 1}, or -1 for none")
    return np.stack([(ratings == one).sum(axis=1) for one in range(categories)], axis=1).astype(np.float64)


def agreement_weights(categories: int, weights: Weights | None) -> FloatArray:
    """Return how much two categories agree, from 0 to 1: the identity, or by their distance in an ordered scale."""
    if weights is None or categories == 1:
        return np.eye(categories)
    if weights not in ("linear", "quadratic"):
        raise VoxauditError(f"unknown weights '{weights}'. Use linear or quadratic")
    place = np.arange(categories, dtype=np.float64)
    distance = np.abs(place[:, None] - place[None, :]) / (categories - 1)
    near: FloatArray = 1.0 - (distance if weights == "linear" else distance**2)
    return near


def fleiss_kappa(counts: FloatArray, weights: Weights | None = None) -> float:
    """Return Fleiss' kappa of a matrix cases x categories of how many people chose each (see `rating_counts`).

    `kappa = (p_o - p_e) / (1 - p_e)` (Fleiss 1971). Cases may have unequal numbers of ratings: `p_o` is the mean
    over cases with two or more of `sum_k n_k (n*_k - 1) / (n (n - 1))`, where `n*_k = sum_l w_kl n_l`; `p_e = sum_kl
    w_kl p_k p_l`, where `p_k` is the mean over rated cases of `n_k / n` (Gwet 2014). With `weights`, near categories
    agree in part; the order of the columns is then the order of the scale. NaN where it is not defined: no case with
    two ratings, or all ratings in one category.
    """
    agreed, shares, judged = _terms(counts, weights)
    one = np.ones((1, len(agreed)))
    observed, expected = _chance(one, agreed, shares, judged, agreement_weights(counts.shape[1], weights))
    return float(_beyond(observed, expected)[0])


def kappa_interval(
    counts: FloatArray, weights: Weights | None = None, *, resamples: int = 2000, seed: int = 0
) -> Kappa:
    """Return Fleiss' kappa with a 95 % percentile bootstrap over cases, or the reason why there is none.

    The limits are widened to the t distribution's as in `ratio_intervals`. Fewer than five cases are refused.
    """
    agreed, shares, judged = _terms(counts, weights)
    cases = int(judged.sum())
    if cases < FEWEST_CASES:
        few = (
            f"only {cases} of the at least {FEWEST_CASES} cases that it takes were"
            if cases
            else "no case was"
        )
        return Kappa(None, None, None, None, None, cases, f"{few} judged by two people")
    near = agreement_weights(counts.shape[1], weights)
    observed, expected = _chance(np.ones((1, len(agreed))), agreed, shares, judged, near)
    value = _beyond(observed, expected)[0]
    if not np.isfinite(value):
        reason = "all judgments are the same: chance alone would agree"
        return Kappa(None, None, None, float(observed[0]), float(expected[0]), cases, reason)
    low = high = None
    draws = speaker_weights(len(agreed), resamples, np.random.Generator(np.random.PCG64(seed)))
    drawn = _beyond(*_chance(draws, agreed, shares, judged, near))
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) >= resamples // 2:
        tail = widened_tail(cases, 0.95)
        low, high = (float(limit) for limit in np.quantile(drawn, [tail, 1.0 - tail]))
    return Kappa(float(value), low, high, float(observed[0]), float(expected[0]), cases)


def pair_agreement(
    ratings: NDArray[np.integer], raters: Sequence[str], categories: int, weights: Weights | None = None
) -> list[Pair]:
    """Return, for every two raters, on how many of the cases that both judged they agree, and Cohen's kappa.

    `ratings` is cases x raters as in `rating_counts`. With `weights`, Cohen's kappa counts near categories in part;
    the share of agreement counts equal ones only.
    """
    near = agreement_weights(categories, weights)
    pairs = []
    for first, second in combinations(range(len(raters)), 2):
        both = (ratings[:, first] != MISSING) & (ratings[:, second] != MISSING)
        one, two = ratings[both, first], ratings[both, second]
        cases, agreed = len(one), int((one == two).sum())
        if not cases:
            pairs.append(Pair(raters[first], raters[second], 0, 0, None, None, None, None))
            continue
        low, high = wilson_of(agreed, cases)
        kappa = _cohen(one, two, near)
        pairs.append(Pair(raters[first], raters[second], cases, agreed, agreed / cases, low, high, kappa))
    return pairs


@dataclass(frozen=True)
class Overlap:
    """Cases that both of two rules flag, that only one does, that neither does; Cohen's kappa, None where undefined."""

    both: int
    only_first: int
    only_second: int
    neither: int
    kappa: float | None


def overlap(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Overlap:
    """Return how far two rules flag the same cases."""
    kappa = _cohen(first.astype(np.int64), second.astype(np.int64), np.eye(2)) if len(first) else None
    sides = ((first, second), (first, ~second), (~first, second), (~first, ~second))
    both, left, right, neither = (int((one & two).sum()) for one, two in sides)
    return Overlap(both, left, right, neither, kappa)


def rank_correlation(x: FloatArray, y: FloatArray) -> float | None:
    """Return Spearman's correlation over what is known of both; None with fewer than three values, or all alike."""
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 3:
        return None
    a, b = (pl.Series(side[known]).rank().to_numpy() for side in (x, y))
    return None if np.ptp(a) == 0 or np.ptp(b) == 0 else float(np.corrcoef(a, b)[0, 1])


def _cohen(one: NDArray[np.integer], two: NDArray[np.integer], near: FloatArray) -> float | None:
    observed = float(near[one, two].mean())
    first, second = (np.bincount(ratings, minlength=len(near)) / len(ratings) for ratings in (one, two))
    expected = float(first @ near @ second)
    return None if expected >= 1.0 - 1e-12 else (observed - expected) / (1.0 - expected)


def _terms(counts: FloatArray, weights: Weights | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    # Per rated case: its agreement, its shares of the categories, and whether two people or more judged it.
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] < 1 or not np.isfinite(counts).all() or (counts < 0).any():
        raise VoxauditError("agreement needs a matrix cases x categories of counts that are not negative")
    counts = counts[counts.sum(axis=1) > 0]
    ratings = counts.sum(axis=1)
    judged = (ratings >= 2).astype(np.float64)
    near = counts @ agreement_weights(counts.shape[1], weights)
    pairs = np.where(judged > 0, ratings * (ratings - 1), 1.0)
    agreed = np.where(judged > 0, (counts * (near - 1.0)).sum(axis=1) / pairs, 0.0)
    return agreed, counts / ratings[:, None], judged


def _chance(
    draws: FloatArray, agreed: FloatArray, shares: FloatArray, judged: FloatArray, near: FloatArray
) -> tuple[FloatArray, FloatArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (draws @ agreed) / (draws @ judged)
        totals = (draws @ shares) / draws.sum(axis=1)[:, None]
    return observed, np.einsum("rk,kl,rl->r", totals, near, totals)


def _beyond(observed: FloatArray, expected: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        value: FloatArray = np.where(
            expected >= 1.0 - 1e-12, np.nan, (observed - expected) / (1.0 - expected)
        )
    return value
