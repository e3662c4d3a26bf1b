import itertools

import numpy as np
import pytest

from voxaudit.stats.bootstrap import Resample, change_interval, widened_tail


def test_limits_that_exclude_no_change_are_those_of_all_flips_of_signs():
    """Eight speakers who say unequally much: the limit is where a test that flips signs begins to accept."""
    words = np.array([100.0, 80, 120, 60, 90, 110, 70, 100])
    changes = np.array([4.0, 2, 9, 1, 3, 2, 5, 30])
    low, high = change_interval(changes, words, resamples=20_000)
    subsets = [np.array(one, dtype=bool) for one in itertools.product([0, 1], repeat=8)]
    rates = sorted(changes[one].sum() / words[one].sum() for one in subsets if one.any())
    # Of 256 halves 6.4 are 2.5 %; the empty one counts.
    assert rates[4] <= low <= rates[6]
    accepted = sum(
        (changes - low * words) @ np.where(one, -1, 1) >= (changes - low * words).sum() - 1e-9
        for one in subsets
    )
    assert accepted / 256 == pytest.approx(0.025, abs=0.006)
    # The other end allows for somebody beyond the speaker of 30 in 100 words.
    assert high > rates[-6]


def test_no_change_is_excluded_where_one_speaker_makes_it():
    words = np.full(10, 100.0)
    changes = np.array([1.0, -2, 0, 1, -1, 2, -1, 0, 1, 90])
    low, high = change_interval(changes, words)
    assert low < 0.0
    assert high > 0.3
    turned = change_interval(-changes, words)
    assert turned == pytest.approx((-high, -low), rel=0.15)  # other draws


def test_five_speakers_and_no_change_at_all():
    assert change_interval(np.arange(4.0), np.full(4, 10.0)) == (None, None)
    assert change_interval(np.zeros(6), np.zeros(6)) == (None, None)
    low, high = change_interval(np.array([3.0, 1, 2, 4, 2]), np.full(5, 100.0))
    assert low < 0.01 < 0.04 < high  # five of one sign happen by chance in 6 %
    tight = change_interval(np.array([30.0, 31, 30, 31, 30]), np.full(5, 100.0))
    assert 0.2 < tight[0] < 0.305 < tight[1] < 0.4


def made_up(generator, speakers, audits, *, factor=1.0, bad=0.0, bursts=0.0):
    """Changes of errors and words of many audits, a column each: the same speakers clean and disturbed."""
    words = generator.integers(30, 120, (speakers, audits)).astype(float)
    rate = 0.15 * np.exp(0.5 * generator.standard_normal(words.shape) - 0.125)
    rate = rate * np.where(generator.random(words.shape) < bad, 5.0, 1.0) / (1.0 + 4.0 * bad)
    varied = 1.0 if factor == 1.0 else factor * np.exp(0.5 * generator.standard_normal(words.shape) - 0.125)
    heard = [generator.poisson(rate * one * words) for one in (1.0, varied)]
    heard = [
        one + generator.binomial(7, bursts, words.shape) * generator.integers(50, 250, words.shape)
        for one in heard
    ]
    return heard[1].astype(float) - heard[0], words, 0.15 * (factor - 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "misses", "power"),
    [
        ({}, 0.065, None),
        ({"bursts": 0.004}, 0.065, None),
        ({"bad": 0.12}, 0.065, None),
        ({"factor": 2.0}, 0.05, 0.9),
        ({"factor": 2.0, "bad": 0.12}, 0.06, 0.6),
    ],
    ids=["null", "null, bursts", "null, bad", "twice", "twice, bad"],
)
@pytest.mark.parametrize("speakers", [8, 16])
def test_changes_are_covered_and_seen(world, misses, power, speakers):
    """Nominal 5 %: percentiles of resampled speakers miss up to 18 % where few are hurt most."""
    changes, words, truth = made_up(np.random.default_rng(3), speakers, 600, **world)
    resample = Resample.within(["a"] * speakers, 1000, 0, 0.95)
    values, share = resample.rates(changes, words), words / words.sum(axis=0)
    said, deviation = resample.sums(share), changes / words.sum(axis=0) - values[0] * share
    ends = np.array(
        [
            resample.change_limits(values[:, k], deviation[:, k], share[:, k], said[:, k], speakers)
            for k in range(changes.shape[1])
        ]
    )
    assert np.mean((ends[:, 0] > truth) | (ends[:, 1] < truth)) < misses
    assert ((ends[:, 0] <= values[0]) & (values[0] <= ends[:, 1])).all()
    if power is not None and speakers == 16:
        assert np.mean(ends[:, 0] > 0.0) > power


def test_row_zero_is_the_estimate_and_everybody_is_drawn_as_often():
    resample = Resample.within(["a", "b", "a", "b"], 500, 0, 0.95)
    weights = resample.weights
    assert resample.halves.shape == (500, 4)
    assert np.allclose(resample.halves.mean(axis=0), 0.5, atol=0.1)
    assert (weights[0] == 1).all()
    assert (weights[:, [0, 2]].sum(axis=1) == 2).all()
    assert (weights[:, [1, 3]].sum(axis=1) == 2).all()
    assert np.allclose(weights.mean(axis=0), 1.0, atol=0.1)


def test_rates_of_draws_without_words_are_unknown():
    drawn = Resample(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]]), 0.95)
    rates = drawn.rates(np.array([[1.0], [0.0]]), np.array([[4.0], [0.0]]))
    np.testing.assert_array_equal(rates, [[0.25], [0.25], [np.nan]])


def test_percentiles_are_widened_for_few_speakers_and_errors_are_of_draws_with_replacement():
    assert widened_tail(10**6, 0.8) == pytest.approx(0.1, abs=1e-5)
    assert widened_tail(6, 0.8) < 0.09
    values = np.concatenate([[50.0], np.arange(1.0, 100.0)])
    resample = Resample(np.ones((100, 1)), 0.8)
    assert resample.standard_error(values) == pytest.approx(np.std(np.arange(1.0, 100.0), ddof=1))


def hearings_of(generator, speakers, many, *, bursts=0.0, spread=1.0):
    """What speakers add to the rates of one clean and `many` disturbed hearings, 500 words each, and these rates."""
    sizes = np.array([1.0, *[spread] * many])
    errors = 50.0 + 10.0 * sizes * generator.standard_normal((speakers, many + 1))
    errors += 20.0 * generator.standard_normal((speakers, 1))
    hit = generator.random(errors.shape) < bursts
    errors += np.where(hit, generator.integers(200, 600, errors.shape), 0)
    rates = errors / 500.0
    return (rates - rates.mean(axis=0)) / speakers, rates.mean(axis=0)


@pytest.mark.parametrize(("spread", "bound"), [(1.0, (0.9, 1.1)), (4.0, (0.4, 1.1))])
def test_turned_hearings_vary_as_a_mean_against_one_does(spread, bound):
    """Where disturbed speech varies more than clean speech, its spread must not be lent to the clean hearing."""
    generator = np.random.Generator(np.random.PCG64(3))
    resample = Resample.within(["all"] * 200, 2000, 1, 0.95)
    apart, _ = hearings_of(generator, 200, 6, spread=spread)
    drawn = resample.turned(apart[:, 1:], apart[:, :1], np.full(6, 1 / 6), np.full(200, 1 / 200))
    true = 10.0 / 500.0 * np.sqrt((1.0 + spread**2 / 6.0) / 200)
    assert bound[0] < drawn.std() / true < bound[1]
    assert abs(drawn.mean()) < 0.1 * true


def test_rare_bursts_that_clean_speech_was_spared_are_no_cost():
    generator = np.random.Generator(np.random.PCG64(5))
    resample = Resample.within(["all"] * 24, 799, 1, 0.95)
    share, weights = np.full(24, 1 / 24), np.full(8, 1 / 8)
    alarms = {"halves alone": 0, "with turned hearings": 0}
    for _ in range(300):
        apart, rates = hearings_of(generator, 24, 8, bursts=0.04)
        change = rates[1:].mean() - rates[0]
        moved = apart[:, 1:] @ weights - apart[:, 0]
        values, said = change + resample.sums(moved[:, None])[:, 0], resample.sums(share[:, None])[:, 0]
        turned = resample.turned(apart[:, 1:], apart[:, :1], weights, share)
        for name, guard in zip(alarms, (None, turned), strict=True):
            low, high = resample.change_limits(values, moved, share, said, 24, turned=guard)
            alarms[name] += not low <= 0.0 <= high
    assert alarms["halves alone"] > 36
    assert alarms["with turned hearings"] < 22


def test_a_cost_that_all_speakers_have_is_shown_in_spite_of_turned_hearings():
    generator = np.random.Generator(np.random.PCG64(7))
    resample = Resample.within(["all"] * 16, 799, 1, 0.95)
    share, weights = np.full(16, 1 / 16), np.full(20, 1 / 20)
    apart, rates = hearings_of(generator, 16, 20, spread=3.0)
    moved = apart[:, 1:] @ weights - apart[:, 0]
    change = rates[1:].mean() - rates[0] + 0.05
    values, said = change + resample.sums(moved[:, None])[:, 0], resample.sums(share[:, None])[:, 0]
    turned = resample.turned(apart[:, 1:], apart[:, :1], weights, share)
    low, high = resample.change_limits(values, moved, share, said, 16, turned=turned)
    assert 0.0 < low < 0.05 < high
