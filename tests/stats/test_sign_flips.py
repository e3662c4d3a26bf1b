"""Sign flips: exact small cases by hand, families, margins, and the distribution of p under no change."""

from itertools import product

import numpy as np
import pytest

from voxaudit.stats.sign_flips import least_p, sign_flips


def by_hand(change, words):
    """Return the one-sided p of one slice by trying every pattern in plain Python."""

    def t(d):
        ratio = sum(d) / sum(words)
        left = sum((a - ratio * b) ** 2 for a, b in zip(d, words, strict=True))
        se = (len(d) / (len(d) - 1) * left) ** 0.5 / sum(words)
        return ratio / se

    seen = t(change)
    drawn = [
        t([s * d for s, d in zip(signs, change, strict=True)])
        for signs in product((1, -1), repeat=len(change))
    ]
    return sum(value >= seen - 1e-9 for value in drawn) / len(drawn)


def column(values):
    return np.array(values, dtype=float)[:, None]


def test_one_slice_equals_every_pattern_tried_by_hand():
    change, words = [3, 1, -2, 4, 5, 0, 2], [20, 10, 30, 25, 15, 10, 12]
    found = sign_flips(column(change), column(words))
    assert found.estimate[0] == pytest.approx(13 / 122)
    assert found.p_worse[0] == pytest.approx(by_hand(change, words))
    assert found.p_better[0] == pytest.approx(by_hand([-d for d in change], words))


def test_everybody_worse_gives_the_least_p():
    change, words = column([1, 2, 3, 1, 2, 3, 4]), column([10, 11, 12, 13, 14, 15, 16])
    found = sign_flips(change, words)
    assert found.p_worse[0] == 1 / 2**7
    assert 2 * found.p_worse[0] == least_p(7)


def test_no_change_at_all_is_no_evidence_and_no_band():
    found = sign_flips(np.zeros((9, 3)), np.ones((9, 3)))
    assert found.p_worse.tolist() == found.p_better.tolist() == [1.0] * 3
    assert found.band.tolist() == [0.0] * 3


def test_a_family_costs_and_copies_of_a_slice_do_not():
    rng = np.random.default_rng(3)
    change, words = rng.normal(0.8, 1.0, (14, 1)), rng.integers(5, 20, (14, 1)).astype(float)
    alone = sign_flips(change, words)
    copies = sign_flips(np.repeat(change, 5, axis=1), np.repeat(words, 5, axis=1))
    noise = np.hstack([change, rng.normal(0, 1.0, (14, 20))])
    family = sign_flips(noise, np.repeat(words, 21, axis=1))
    assert np.allclose(copies.family_worse, alone.p_worse[0])
    assert family.family_worse[0] > 2 * family.p_worse[0]
    assert family.p_worse[0] == pytest.approx(alone.p_worse[0])


def test_a_margin_makes_small_changes_not_count():
    rng = np.random.default_rng(0)
    words = rng.integers(50, 80, (30, 1)).astype(float)
    change = np.round(0.02 * words + rng.normal(0, 0.5, words.shape))
    assert sign_flips(change, words).p_worse[0] < 0.01
    assert sign_flips(change, words, margin=0.03).p_worse[0] > 0.5
    assert sign_flips(change, words, margin=0.01).p_worse[0] < 0.05


def test_speakers_who_are_not_in_a_slice_do_not_count():
    change, words = column([3, 1, -2, 4, 5, 0, 2]), column([20, 10, 30, 25, 15, 10, 12])
    padded = sign_flips(np.vstack([change, np.zeros((4, 1))]), np.vstack([words, np.zeros((4, 1))]))
    assert padded.p_worse[0] == pytest.approx(sign_flips(change, words).p_worse[0])
    assert padded.se[0] == pytest.approx(sign_flips(change, words).se[0])


def test_p_is_uniform_where_nothing_changed_whatever_the_tails():
    rng = np.random.default_rng(5)
    words = rng.integers(3, 60, (20, 1)).astype(float)
    p = [
        sign_flips(rng.standard_t(1.5, (20, 1)) * words, words, flips=499, seed=s).p_worse[0]
        for s in range(400)
    ]
    for level in (0.05, 0.2, 0.5):
        error = 4 * (level * (1 - level) / 400) ** 0.5
        assert abs(np.mean(np.array(p) <= level) - level) < error


def test_everybody_changed_alike_is_beyond_doubt_and_without_a_band():
    words = np.full((8, 1), 10.0)
    found = sign_flips(np.full((8, 1), 2.0), words)
    assert found.p_worse[0] == 1 / 2**8
    assert found.band[0] == 0.0
