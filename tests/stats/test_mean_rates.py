"""Means of rates as sums of speakers, and what shuffling them claims."""

import numpy as np
import pytest

from voxaudit.stats.group_ratios import Rates, judge
from voxaudit.stats.mean_rates import as_one_rate
from voxaudit.stats.permutations import Shuffles

WEIGHTS = np.column_stack([np.eye(4), np.full(4, 0.25), [0.5, 0.5, 0.0, 0.0]])


def heard(generator, speakers=9, most=3):
    words = 30.0 * generator.integers(0, most, (speakers, 4)) if most else np.full((speakers, 4), 30.0)
    return generator.poisson(0.2 * words).astype(float), words


def test_the_ratio_of_the_sums_is_the_mean_of_the_rates_where_trials_are_missing():
    errors, words = heard(np.random.default_rng(0))
    sums = as_one_rate(errors, words, WEIGHTS).sum(axis=1)
    rates = errors.sum(axis=0) / words.sum(axis=0)
    np.testing.assert_allclose(sums[0] / sums[1], rates @ WEIGHTS, rtol=1e-12)


def test_speakers_pull_it_as_they_pull_the_mean():
    errors, words = heard(np.random.default_rng(1))
    sums = as_one_rate(errors, words, WEIGHTS)
    pull = sums[0] / sums[0].sum(axis=0) - sums[1] / sums[1].sum(axis=0)
    step = 1e-6
    for speaker in range(len(errors)):  # the derivative by how much a speaker counts
        counts = np.ones((len(errors), 1))
        counts[speaker] += step
        more = np.log(((errors * counts).sum(axis=0) / (words * counts).sum(axis=0)) @ WEIGHTS)
        plain = np.log((errors.sum(axis=0) / words.sum(axis=0)) @ WEIGHTS)
        np.testing.assert_allclose(pull[speaker], (more - plain) / step, atol=1e-5)


def test_nothing_is_done_to_what_was_heard_alike():
    errors, words = heard(np.random.default_rng(2), most=0)
    sums = as_one_rate(errors, words, WEIGHTS)
    np.testing.assert_allclose(sums[0], errors @ WEIGHTS, rtol=1e-12)
    np.testing.assert_allclose(sums[1], words[:, :1] * np.ones(6), rtol=1e-12)


def test_scenarios_without_words_and_without_errors():
    errors, words = heard(np.random.default_rng(3), most=0)
    words[:, 1] = errors[:, 1] = 0.0
    errors[:, 2] = 0.0
    sums = as_one_rate(errors, words, WEIGHTS)
    assert np.isnan(sums).all(axis=(0, 1)).tolist() == [False, True, False, False, True, True]
    assert not sums[0, :, 2].any()
    np.testing.assert_allclose(sums[1, :, 2], words[:, 2])


@pytest.mark.parametrize(("factor", "least", "most"), [(1.0, 0.0, 0.085), (3.0, 0.5, 1.0)])
def test_few_bad_speakers_are_no_gap_and_a_gap_is_seen(factor, least, most):
    """Twelve speakers in a hundred are five times as bad: Welch's test of the log ratio saw a gap in every fifth."""
    generator, shown, repeats = np.random.default_rng(4), 0, 200
    second = np.arange(48) >= 8
    for seed in range(repeats):
        bad = np.where(generator.random(48) < 0.12, 5.0, 1.0) * np.exp(0.25 * generator.standard_normal(48))
        words = np.repeat(9.0 * (1 + generator.poisson(7, 48))[:, None], 4, axis=1)
        words[generator.random((48, 4)) < 0.05] = 0.0  # trials that failed
        expected = 0.15 * (bad * np.where(second, 1.0, factor))[:, None] * words
        errors = generator.poisson(expected).astype(float)
        sides = [
            as_one_rate(errors * who[:, None], words * who[:, None], WEIGHTS[:, 4:5])
            for who in (second, ~second)
        ]
        [[found]] = judge([Rates(*sides, Shuffles(48, 499, seed))], limits=False)
        shown += found.p_adjusted <= 0.05
    # 5 %, and two standard errors of 200 repeats; before, about 20 %.
    assert least <= shown / repeats <= most
