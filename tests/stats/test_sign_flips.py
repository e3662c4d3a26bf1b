"""Sign flips: exact small cases by hand, families, margins, and the distribution of p under no change."""

from itertools import product

import numpy as np
import pytest

from voxaudit.stats.sign_flips import STRETCH, fallback, flip_limits, least_p, sign_flips


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


def test_no_change_at_all_is_no_evidence_and_tells_nothing_of_chance():
    found = sign_flips(np.zeros((9, 3)), np.ones((9, 3)))
    assert found.p_worse.tolist() == found.p_better.tolist() == [1.0] * 3
    assert np.isnan(found.visible).all()


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


def test_everybody_changed_alike_is_beyond_doubt():
    words = np.full((8, 1), 10.0)
    found = sign_flips(np.full((8, 1), 2.0), words)
    assert found.p_worse[0] == 1 / 2**8
    assert np.isnan(found.visible[0])
    low, high = flip_limits(np.zeros((8, 1)), np.full((8, 1), 2.0), words)
    assert low[0] == pytest.approx(0.2, abs=1e-6)
    assert high[0] == pytest.approx(0.2, abs=1e-6)


def drawn(rng, speakers, slices, change=0.0):
    words = rng.integers(20, 200, (speakers, slices)).astype(float)
    rate = 0.15 * np.exp(rng.normal(0, 0.5, (speakers, 1)))
    before, after = rng.poisson(rate * words), rng.poisson(rate * words) + change * words
    return before.astype(float), after.astype(float), words


def test_an_interval_leaves_out_no_change_exactly_where_the_test_does():
    rng = np.random.default_rng(8)
    for speakers in (7, 11, 25):
        before, after, words = drawn(rng, speakers, 60, change=0.015)
        shown = sign_flips(after - before, words).p <= 0.05
        assert 5 < shown.sum() < 55
        low, high = flip_limits(before, after, words)
        assert ((low > 0) | (high < 0)).tolist() == shown.tolist()
        low, high = flip_limits(before, after, words, ratio=True)
        assert ((low > 1) | (high < 1)).tolist() == shown.tolist()


def test_limits_are_where_trying_every_pattern_by_hand_stops_rejecting():
    change, words = [3, 1, -2, 4, 5, 0, 2], [20, 10, 30, 25, 15, 10, 12]
    low, high = flip_limits(column([0] * 7), column(change), column(words))
    middle = 13 / 122

    def left(value):
        return [d - value * w for d, w in zip(change, words, strict=True)]

    inner = low[0]
    outer = middle + (high[0] - middle) / STRETCH
    assert by_hand(left(inner + 1e-4), words) > 0.025 >= by_hand(left(inner - 1e-4), words)
    above = [[-d for d in left(outer + step)] for step in (-1e-4, 1e-4)]
    assert by_hand(above[0], words) > 0.025 >= by_hand(above[1], words)


def test_five_speakers_have_no_limits_at_95_percent_but_at_90():
    before, after, words = drawn(np.random.default_rng(2), 5, 3, change=0.2)
    assert np.isnan(flip_limits(before, after, words)).all()
    assert np.isfinite(flip_limits(before, after, words, confidence=0.9)).all()


def test_limits_hold_where_those_who_err_most_lose_most():
    """Of skewed changes the limit away from no change must lie farther off: the truth is a quarter more errors."""
    rng = np.random.default_rng(4)
    rate = 0.15 * np.where(rng.random((16, 1000)) < 0.12, 5.0, 1.0) * np.exp(rng.normal(0, 0.25, (16, 1000)))
    words = np.full((16, 1000), 70.0)
    before, after = (rng.poisson(factor * rate * words).astype(float) for factor in (1.0, 1.25))
    truth = 0.25 * 0.15 * (1 + 4 * 0.12) * np.exp(0.25**2 / 2)
    low, high = flip_limits(before, after, words, flips=499)
    assert (low > truth).mean() <= 0.035
    # Without the stretch it is above a tenth.
    assert (high < truth).mean() <= 0.07


def test_a_general_change_is_not_drowned_by_slices():
    rng = np.random.default_rng(1)
    before, after, words = drawn(rng, 16, 1, change=0.03)
    noise = rng.normal(0, 1.0, (16, 60)) * (rng.random((16, 60)) < 0.5)
    change = np.hstack([after - before, noise])
    words = np.hstack([words, np.where(noise != 0, 50.0, 0.0)])
    first = np.arange(61) == 0
    together, asked_first = sign_flips(change, words), sign_flips(change, words, first=first)
    assert asked_first.p_family[0] == pytest.approx(asked_first.p[0] / 0.8)
    assert asked_first.p_family[0] <= 0.05 < together.p_family[0]
    # Once it is shown, the slices are judged as if they had been asked alone.
    alone = sign_flips(change[:, 1:], words[:, 1:])
    assert asked_first.p_family[1:].min() == pytest.approx(
        max(asked_first.p_family[0], alone.p_family.min()), abs=0.02
    )


def test_slices_keep_a_fifth_of_the_level_where_the_whole_shows_nothing():
    p = fallback(np.array([0.9, 0.6, 0.0099, 0.0101]), np.array([True, True, False, False]))
    assert p.tolist() == pytest.approx([1.0, 0.75, 0.0495, 0.0505])
    # One first question that shows nothing is enough to keep them there.
    p = fallback(np.array([0.001, 0.6, 0.02]), np.array([True, True, False]))
    assert p.tolist() == pytest.approx([0.00125, 0.75, 0.1])


def test_what_is_called_visible_is_shown_four_times_in_five():
    rng = np.random.default_rng(6)
    first = np.array([True, False, False])
    sizes = []
    for seed in range(40):
        before, after, words = drawn(rng, 20, 3)
        sizes.append(sign_flips(after - before, words, first=first, flips=999, seed=seed).visible)
    size = np.mean(sizes, axis=0)
    shown = []
    for seed in range(200):
        before, after, words = drawn(rng, 20, 3, change=size * np.array([1.0, 0.0, 0.0]))
        shown.append(sign_flips(after - before, words, first=first, flips=999, seed=seed).p_family[0] <= 0.05)
    assert 0.7 <= np.mean(shown) <= 0.9


def test_limits_may_lie_beyond_every_speaker_where_few_say_most_of_the_words():
    """Taking off the most extreme speaker's rate is not yet rejected here; a limit is found all the same."""
    words = column([5, 37, 1683, 29, 184, 39, 178, 39])
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(40):
        before, after = (
            rng.poisson(0.15 * np.exp(rng.normal(0, 0.7, words.shape)) * words) for _ in range(2)
        )
        low, high = flip_limits(before.astype(float), after.astype(float), words)
        assert np.isfinite([low[0], high[0]]).all()
        own = (after - before) / words
        inner = (after - before).sum() / words.sum()
        # The limit nearer to no change is the test's own: just inside it is kept, just outside rejected.
        limit, sign = (low[0], 1) if inner > 0 else (high[0], -1)
        left = [
            (sign * (after - before - (limit + step) * words))[:, 0].tolist()
            for step in (1e-4 * sign, -1e-4 * sign)
        ]
        assert by_hand(left[0], words[:, 0].tolist()) > 0.025 >= by_hand(left[1], words[:, 0].tolist())
        beyond += limit < own.min() or limit > own.max()
    assert beyond > 0


def test_a_ratio_of_nothing_has_limits_that_start_at_0():
    before, words = np.full((8, 1), 3.0), np.full((8, 1), 50.0)
    low, high = flip_limits(before, np.zeros((8, 1)), words, ratio=True)
    assert low[0] == 0.0
    assert 0.0 <= high[0] < 1.0


def test_limits_of_a_family_hold_for_all_of_it():
    generator = np.random.default_rng(5)
    words, change = np.ones((60, 4)), 0.3 + generator.normal(0.0, 1.0, (60, 4))
    found, alone = sign_flips(change, words), sign_flips(change[:, :1], words[:, :1])
    assert alone.critical[0] == pytest.approx(2.0, rel=0.05)  # Student's t with 59 degrees
    assert found.critical[0] == pytest.approx(2.57, rel=0.05)  # four at once: 0.95 ** (1 / 4) of each
    low, high = found.limits
    near, far = np.abs(np.where(found.estimate > 0.0, [low, high], [high, low]) - found.estimate)
    assert far == pytest.approx(STRETCH * near)
    # A limit leaves out no change where the whole family, in one step, shows one.
    left_out = (low > 0.0) | (high < 0.0)
    assert left_out.tolist() == (np.abs(found.estimate / found.se) > found.critical).tolist()
