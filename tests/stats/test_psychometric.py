"""Psychometric curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.stats.psychometric import STEPS, Curves, beyond, fit_thresholds, next_setting


@given(st.floats(0.1, 0.9))
@settings(max_examples=20, deadline=None)
def test_every_candidate_reaches_the_level_at_its_threshold_and_rises(level):
    curves = Curves(level)
    shares = curves(curves.thresholds)  # settings x thresholds x shapes
    at = np.arange(len(curves.thresholds))
    assert shares[at, at] == pytest.approx(np.full(shares[at, at].shape, level))
    assert (np.diff(shares, axis=0) >= 0).all()


def _track(curves, threshold, trials, generator, words=8):
    known = np.zeros((len(curves.thresholds), 16))
    places = []
    for trial in range(trials):
        place = next_setting(curves, known, trial)
        places.append(place)
        share = 0.05 + 0.95 / (1 + np.exp(-(place - threshold) / 0.05))
        wrong = generator.binomial(words, share)
        known += curves.log_likelihood(np.array([place]), np.array([float(wrong)]), np.array([float(words)]))
    return places, known


def test_a_staircase_starts_at_the_ends_and_homes_in():
    curves = Curves(0.5)
    places, known = _track(curves, 0.62, 14, np.random.default_rng(3))
    assert places[:2] == [0.0, 1.0]
    assert all(abs(place - 0.62) < 0.15 for place in places[6:])
    assert all(round(place * STEPS) == pytest.approx(place * STEPS) for place in places)
    assert fit_thresholds(curves, [known])[0] == pytest.approx(0.62, abs=0.05)
    assert not beyond(curves, known)


@pytest.mark.parametrize(("threshold", "off"), [(1.6, lambda x: x >= 1.0), (-0.6, lambda x: x <= 0.0)])
def test_a_speaker_off_the_axis_is_known_to_be_off_it(threshold, off):
    curves = Curves(0.5)
    _, known = _track(curves, threshold, 8, np.random.default_rng(0))
    assert beyond(curves, known)
    assert off(fit_thresholds(curves, [known])[0])


def test_thresholds_are_not_pulled_towards_each_other():
    curves, generator = Curves(0.5), np.random.default_rng(5)
    truth = [0.2, 0.5, 0.8]
    found = np.mean(
        [fit_thresholds(curves, [_track(curves, t, 12, generator)[1] for t in truth]) for _ in range(20)],
        axis=0,
    )
    assert found == pytest.approx(truth, abs=0.02)


def test_more_errors_than_words_count_as_all_words():
    curves = Curves(0.5)
    one = curves.log_likelihood(np.array([0.5]), np.array([6.0]), np.array([6.0]))
    two = curves.log_likelihood(np.array([0.5]), np.array([11.0]), np.array([6.0]))
    assert (one == two).all()
