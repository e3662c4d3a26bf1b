"""Evidence that may be looked at after every speaker: e-processes, confidence sequences, e-BH.

A usual interval is right once, at a sample size fixed beforehand. What is here is right at all looks together, so an
audit may stop as soon as it knows enough. The unit is the speaker: one value per speaker or per pair of speakers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

GUARD = 1.5
"""E-values are divided by this. They are exact where two groups differ by chance only; where their speakers' spreads
differ, skewness makes them a little too large, as it does to a t-test (see docs/sequential.md)."""

LARGEST_BET = 0.5
FIRST_RATE = 0.25
"""What an error rate is taken for before the first speaker: any value is right, a near one is efficient."""

_LOWEST_RATE = 0.01


def bets(horizon: int, alpha: float = 0.05) -> FloatArray:
    """Return the stakes of a test that can see at most `horizon` pairs of speakers.

    The smallest stake suits the smallest effect that so many pairs can show; each next is twice as large.
    """
    smallest = math.sqrt(2.0 * math.log(1.0 / alpha) / max(horizon, 1))
    # Steps of 2: the mean over stakes loses no more than the logarithm of their number against the best of them.
    stakes = [max(LARGEST_BET, min(1.0, smallest))]
    while stakes[-1] / 2.0 >= 0.9 * smallest:
        stakes.append(stakes[-1] / 2.0)
    return np.array(stakes[::-1])


def pseudo_values(
    errors: FloatArray, words: FloatArray, mean_words: FloatArray | float, rate_before: FloatArray | float
) -> FloatArray:
    """Return one value per speaker whose mean is the ratio of sums, `E errors / E words`.

    `z = errors / W + r (1 - words / W)`, where W is the mean number of words of all speakers (references are known
    before anything is heard) and r an error rate known before this speaker: whatever r is, the mean of z is the
    word error rate; a good r takes out the spread that comes from speaking more or less.
    """
    share = words / mean_words
    return np.asarray(errors / mean_words + rate_before * (1.0 - share), dtype=np.float64)


def scale_before(n: FloatArray, m2: FloatArray, rate_before: FloatArray) -> FloatArray:
    """Return the scale of the next difference, from the `n` before it, their sum of squares about the mean, and a rate.

    It must not know the difference that it scales; the rate counts as one more observation.
    """
    prior = np.maximum(rate_before, _LOWEST_RATE) ** 2
    return np.asarray(np.sqrt((prior + m2) / (1.0 + np.maximum(n - 1.0, 0.0))), dtype=np.float64)


def log_growth(scaled: FloatArray, stakes: FloatArray) -> FloatArray:
    """Return the growth of the log-wealth of bets that `scaled` differences are positive; a last axis for the stakes.

    `log(1 + tanh(stake x))`. The factor has mean 1 where x is symmetric about 0, without any condition on its tails
    (de la Pena 1999 has the same with `exp(y - y^2 / 2)`, which is smaller).
    """
    # log(1 + tanh y) = log 2 - log(1 + exp(-2 y)), which does not overflow
    return np.asarray(math.log(2.0) - np.logaddexp(0.0, -2.0 * scaled[..., None] * stakes), dtype=np.float64)


def mixed(log_wealth: FloatArray) -> FloatArray:
    """Return the logarithm of the mean wealth over the stakes (the last axis)."""
    # In logarithms: wealth may double with every speaker and overflows after a thousand.
    return np.asarray(
        np.logaddexp.reduce(log_wealth, axis=-1) - math.log(log_wealth.shape[-1]), dtype=np.float64
    )


def two_sided(up: FloatArray, down: FloatArray) -> FloatArray:
    """Return the log e-value against "no difference" from the log-wealths of both directions, with the guard."""
    return np.asarray(np.logaddexp(mixed(up), mixed(down)) - math.log(2.0 * GUARD), dtype=np.float64)


def gap_limits(
    differences: ArrayLike, scales: ArrayLike, stakes: FloatArray, alpha: float = 0.05
) -> tuple[float, float]:
    """Return the confidence sequence of the mean difference at this look: all values whose e-value is below 1/alpha.

    The limits hold at all looks together with probability 1 - alpha.
    """
    from voxaudit.numeric import brentq

    d, s = np.asarray(differences, dtype=np.float64), np.asarray(scales, dtype=np.float64)
    needed = math.log(2.0 * GUARD / alpha)

    def excess(null: float, side: float) -> float:
        return float(mixed(log_growth(side * (d - null) / s, stakes).sum(axis=0))) - needed

    def limit(side: float) -> float:
        """Return the value beyond which, on one side, all are rejected; evidence grows without turning back."""
        step = float(s.max()) + float(np.ptp(d))
        inner = float(d.mean())
        # A sequence that drifts may reject its own mean: first find a value that stands.
        while excess(inner, side) >= 0.0:
            inner += side * step
        outer = inner
        for _ in range(60):
            outer -= side * step
            if excess(outer, side) >= 0.0:
                return brentq(lambda null: excess(null, side), outer, inner, xtol=1e-9)
            step *= 2.0
        return -side * math.inf

    return limit(1.0), limit(-1.0)


def mixture_half_width(
    n: FloatArray, deviation: FloatArray, *, best_at: float, alpha: float = 0.05
) -> FloatArray:
    """Return the half-width of the confidence sequence of a mean of `n` speakers, given their standard deviation.

    Robbins' normal mixture with an estimated variance (Waudby-Smith et al. 2024, "Time-uniform central limit theory",
    Theorem 2.2), tightest at `best_at` speakers, widened by the ratio of the t to the normal quantile. Infinite below
    two speakers. It is asymptotic: the first look should come after ten or more.
    """
    from voxaudit.numeric import ndtri, stdtrit

    n, deviation = np.asarray(n, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
    log_term = 2.0 * math.log(1.0 / alpha)
    # Nearly the best rho for `best_at` in closed form; any fixed one is valid.
    rho2 = (log_term + math.log(1.0 + log_term)) / best_at
    enough = n >= 2.0
    m = np.where(enough, n, 2.0)
    wide = np.sqrt(2.0 * (m * rho2 + 1.0) / (m**2 * rho2) * np.log(np.sqrt(m * rho2 + 1.0) / alpha))
    inflation = stdtrit(m - 1.0, 1.0 - alpha / 2.0) / ndtri(1.0 - alpha / 2.0)
    return np.where(enough, deviation * wide * inflation, np.inf)


def e_bh(log_e: FloatArray, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Return which hypotheses the e-BH procedure rejects (Wang and Ramdas 2022).

    Of K e-values the k largest are rejected for the greatest k with `e_(k) >= K / (alpha k)`. The expected share of
    false rejections stays below alpha whatever the dependence, and whenever the e-processes were stopped.
    """
    found = np.zeros(len(log_e), dtype=bool)
    order = np.argsort(-log_e, kind="stable")
    ranks = np.arange(1, len(log_e) + 1)
    # The last that passes, not the first that fails: those before it are rejected with it.
    passed = np.flatnonzero(log_e[order] >= np.log(len(log_e) / (alpha * ranks)))
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found
