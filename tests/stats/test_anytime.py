"""Evidence that may be looked at after every speaker."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.stats.anytime import (
    GUARD,
    bets,
    e_bh,
    gap_limits,
    log_growth,
    mixed,
    mixture_half_width,
    pseudo_values,
    scale_before,
    two_sided,
)


def test_stakes_suit_the_speakers_there_are():
    # 8 pairs cannot show anything subtle: one stake, sqrt(2 log 20 / 8) = 0.865
    assert bets(8) == pytest.approx([0.8654], abs=1e-4)
    # 100 pairs: sqrt(2 log 20 / 100) = 0.245, so 0.25 and 0.5
    assert bets(100) == pytest.approx([0.25, 0.5])
    assert bets(2) == pytest.approx([1.0])


@settings(deadline=None)
@given(st.floats(-50, 50), st.floats(0.01, 1.0))
def test_a_bet_is_fair_where_the_sign_is_a_coin(difference, stake):
    """(1 + tanh y) + (1 + tanh -y) = 2: whatever its size, a symmetric difference leaves the wealth as it is."""
    up, down = np.exp(log_growth(np.array([difference, -difference]), np.array([stake])))[:, 0]
    assert up + down == pytest.approx(2.0)


def test_every_path_of_signs_together_is_fair():
    """The mean e-value over all 2^6 ways to sign six differences is 1 over the guard, at the end of every path."""
    sizes = np.array([0.3, 2.0, 0.1, 7.0, 0.5, 1.0])
    values = []
    for code in range(64):
        d = sizes * np.array([1 if code >> bit & 1 else -1 for bit in range(6)])
        up, down = np.zeros((2, 2))
        mean = m2 = 0.0
        for n, x in enumerate(d):
            scale = scale_before(np.array([n]), np.array([m2]), np.array([0.25]))[0]
            up += log_growth(np.array([x / scale]), np.array([0.2, 0.8]))[0]
            down += log_growth(np.array([-x / scale]), np.array([0.2, 0.8]))[0]
            step = x - mean
            mean += step / (n + 1)
            m2 += step * (x - mean)
        values.append(math.exp(two_sided(up, down)))
    assert np.mean(values) == pytest.approx(1.0 / GUARD)


def test_pseudo_values_have_the_ratio_of_sums_as_their_mean():
    errors, words = np.array([3.0, 0.0, 10.0, 2.0]), np.array([10.0, 40.0, 25.0, 5.0])
    for known in (0.0, 0.25, 3.0):
        assert pseudo_values(errors, words, words.mean(), known).mean() == pytest.approx(15 / 80 + 0 * known)
    # With the right rate, who speaks more at that rate does not stand out.
    even = pseudo_values(0.2 * words, words, words.mean(), 0.2)
    assert even == pytest.approx(np.full(4, 0.2))


def test_limits_are_where_the_evidence_reaches_its_threshold():
    generator = np.random.default_rng(1)
    d, s = generator.normal(0.1, 0.1, 40), np.full(40, 0.1)
    low, high = gap_limits(d, s, bets(40))
    assert low < d.mean() < high
    assert low > 0.0  # the gap of one deviation is shown
    for limit, side in ((low, 1.0), (high, -1.0)):
        wealth = mixed(log_growth(side * (d - limit) / s, bets(40)).sum(axis=0))
        assert wealth == pytest.approx(math.log(2 * GUARD / 0.05), abs=1e-4)


def test_few_pairs_have_no_limits():
    # Four bets of stake 1 grow to at most 2^4 = 16, below 2 * 1.5 / 0.05 = 60.
    assert gap_limits([0.1, 0.2, 0.1, 0.3], [0.1] * 4, bets(8)) == (-math.inf, math.inf)


def test_the_mixture_is_robbins_boundary_and_tightest_where_asked():
    # By hand: n = 100, best at 50: rho2 = (2 log 20 + log(1 + 2 log 20)) / 50 = 0.158699
    rho2 = (2 * math.log(20) + math.log(1 + 2 * math.log(20))) / 50
    boundary = math.sqrt(2 * (100 * rho2 + 1) / (100**2 * rho2) * math.log(math.sqrt(100 * rho2 + 1) / 0.05))
    half = mixture_half_width(np.array([100.0]), np.array([1.0]), best_at=50)[0]
    assert half == pytest.approx(boundary * 1.984217 / 1.959964, rel=1e-5)
    assert half > 1.984 / 10  # wider than the interval of one look
    early, late = (mixture_half_width(np.array([20.0]), np.array([1.0]), best_at=b)[0] for b in (20, 500))
    assert early < late
    assert mixture_half_width(np.array([1.0]), np.array([1.0]), best_at=50)[0] == math.inf


def test_e_bh_by_hand():
    # K = 4, alpha = 0.05: thresholds 80, 40, 26.7, 20 for the 1st to 4th largest.
    def rejected(*e):
        return e_bh(np.log(np.array(e, dtype=float))).tolist()

    assert rejected(79, 1, 1, 1) == [False] * 4
    assert rejected(80, 1, 1, 1) == [True, False, False, False]
    assert rejected(41, 3, 41, 1) == [True, False, True, False]
    assert rejected(20, 21, 22, 23) == [True] * 4
    assert e_bh(np.array([])).tolist() == []


@settings(deadline=None)
@given(st.lists(st.floats(-5, 15), min_size=1, max_size=30))
def test_e_bh_rejects_the_largest_and_all_of_them_large_enough(log_e):
    values = np.array(log_e)
    found = e_bh(values)
    if found.any():
        assert values[found].min() >= math.log(len(values) / (0.05 * found.sum())) - 1e-12
        assert found.all() or values[~found].max() <= values[found].min()
    else:
        assert values.max() < math.log(len(values) / 0.05)
