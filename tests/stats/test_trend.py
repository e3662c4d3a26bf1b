"""Slope and curve against another package, the spline's shape, and how often a trend is claimed without one."""

import numpy as np
import pytest

from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.trend import spline, trend


def people(seed, count=60, slope=0.0, spread=0.4, bend=0.0, each=1):
    generator = np.random.default_rng(seed)
    x = generator.gamma(2.0, 10.0, count) if not bend else generator.uniform(0.0, 40.0, count)
    rate = 0.1 * np.exp(slope * (x - 20.0) + bend * (x - 20.0) ** 2 + generator.normal(0, spread, count))
    speaker = np.repeat(np.arange(count), each)
    words = generator.integers(50, 200, len(speaker)).astype(float)
    errors = generator.poisson(words * rate[speaker]).astype(float)
    return errors, words, x[speaker], speaker


def asked(errors, words, x, speaker, controls=None, shuffles=199):
    held = np.empty((len(x), 0)) if controls is None else controls
    return trend(errors, words, x, speaker, held, Shuffles(int(speaker.max()) + 1, shuffles))


@pytest.mark.parametrize("far", [0.0, 1900.0])
def test_the_slope_is_that_of_a_poisson_regression(far):
    """Also where the number lies far from 0, as birth years do."""
    sm = pytest.importorskip("statsmodels.api")
    errors, words, x, speaker = people(1, slope=0.02)
    control = np.random.default_rng(9).normal(50.0, 3.0, len(x))
    design = np.column_stack([np.ones(len(x)), control, x])
    glm = sm.GLM(errors, design, family=sm.families.Poisson(), offset=np.log(words)).fit()
    found = asked(errors, words, x + far, speaker, control[:, None])
    assert np.log(found.ratio) == pytest.approx(glm.params[-1], rel=1e-5)
    assert found.low < found.ratio < found.high


def test_the_spline_is_straight_beyond_its_knots():
    knots = np.array([-1.0, -0.3, 0.4, 1.5])
    for at in (np.array([-9.0, -5.0, -1.0]), np.array([1.5, 4.0, 6.5])):
        rows = spline(at, knots)
        assert rows[2] - rows[1] == pytest.approx((rows[1] - rows[0]) * (at[2] - at[1]) / (at[1] - at[0]))
    assert spline(np.linspace(-2, 2, 9), knots).shape == (9, 3)
    assert np.linalg.matrix_rank(spline(np.linspace(-2, 2, 9), knots)) == 3


def test_a_bend_is_a_trend_without_a_slope():
    found = asked(*people(3, count=150, bend=0.002, spread=0.2))
    assert found.p_any < 0.01
    assert found.rate.min() < 0.8 * found.rate[-1]


def test_a_number_that_varies_within_speakers():
    generator = np.random.default_rng(4)
    errors, words, _, speaker = people(4, each=8)
    x = generator.normal(0, 1, len(speaker))
    errors = generator.poisson(words * 0.1 * np.exp(0.5 * x)).astype(float)
    found = asked(errors, words, x, speaker)
    assert found.within
    assert found.p < 1e-4
    assert found.low < np.exp(0.5) < found.high


@pytest.mark.slow
@pytest.mark.parametrize("count", [16, 60])
def test_without_a_trend_few_are_claimed(count):
    """At most 5 % of 400, and two standard errors."""
    found = [asked(*people(seed, count)) for seed in range(400)]
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert np.mean([one.p <= 0.05 for one in found]) <= limit
    assert np.mean([one.p_any <= 0.05 for one in found]) <= limit
    assert np.mean([not one.low <= 1.0 <= one.high for one in found]) <= limit
