"""Eq. 1 by hand, statsmodels' power functions, and simulation against both."""

import math

import numpy as np
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.stats.power import (
    power_t,
    power_z,
    smallest_gap,
    speakers_needed,
    speakers_needed_t,
    whole_speakers,
)
from voxaudit.stats.power_simulation import (
    fitted_population,
    planned_population,
    simulate_power,
    speakers_by_simulation,
)

# (effect, alpha, power, ratio, two-sided): speakers of statsmodels 0.14's NormalIndPower and TTestIndPower
SOLVED = [
    (0.1 / 0.15, 0.05, 0.8, 1, True, 35.319872, 36.305687),
    (0.1 / 0.15, 0.05, 0.8, 1, False, 27.821508, 28.522748),
    (0.5, 0.01, 0.9, 1, True, 119.035097, 120.705486),
    (0.3, 0.05, 0.8, 2, True, 130.814342, 131.457657),
    (0.8, 0.05, 0.95, 0.5, False, 50.728940, 51.657665),
]
# (effect, speakers, ratio, alpha, two-sided): power by the same two
POWERS = [
    (0.5, 20, 1, 0.05, True, 0.3526080824, 0.3379390289),
    (0.5, 20, 2, 0.05, True, 0.4466901015, 0.4347675115),
    (0.9, 8, 1, 0.01, False, 0.2993232629, 0.2429434103),
]


def test_the_papers_example():
    # 2 (1.95996 + 0.84162)^2 0.15^2 / 0.1^2: "about 35 speakers".
    needed = speakers_needed(0.1, 0.15)
    assert needed == pytest.approx(2 * (1.959964 + 0.841621) ** 2 * 2.25, rel=1e-5)
    assert needed == pytest.approx(35.32, abs=0.01)
    assert whole_speakers(needed) == 36
    # As the text has it, one-sided, it would be 28.
    assert whole_speakers(speakers_needed(0.1, 0.15, two_sided=False)) == 28


def test_more_than_equation_1_asks_for():
    assert whole_speakers(4.0) == 5  # n > 4
    assert whole_speakers(0.3) == 2  # one speaker has no spread


@pytest.mark.parametrize(("effect", "alpha", "power", "ratio", "two_sided", "normal", "student"), SOLVED)
def test_speakers_as_statsmodels(effect, alpha, power, ratio, two_sided, normal, student):
    options = {"confidence": 1 - alpha, "power": power, "ratio": ratio, "two_sided": two_sided}
    assert speakers_needed(effect, 1.0, **options) == pytest.approx(normal, rel=1e-5)
    assert speakers_needed_t(effect, 1.0, **options) == pytest.approx(student, rel=1e-6)


@pytest.mark.parametrize(("effect", "n", "ratio", "alpha", "two_sided", "normal", "student"), POWERS)
def test_power_as_statsmodels(effect, n, ratio, alpha, two_sided, normal, student):
    options = {"confidence": 1 - alpha, "two_sided": two_sided}
    assert power_z(effect, 1.0, n, ratio * n, **options) == pytest.approx(normal, rel=1e-8)
    assert power_t(effect, 1.0, n, ratio * n, **options) == pytest.approx(student, rel=1e-8)


def test_statsmodels_itself():
    module = pytest.importorskip("statsmodels.stats.power")
    for effect, n, ratio in ((0.4, 30, 1.0), (0.7, 12, 3.0), (1.2, 6, 0.5)):
        theirs = module.TTestIndPower().power(effect, n, 0.05, ratio=ratio)
        assert power_t(effect, 1.0, n, ratio * n) == pytest.approx(theirs, rel=1e-8)
        needed = module.TTestIndPower().solve_power(effect_size=effect, alpha=0.05, power=0.9, ratio=ratio)
        assert speakers_needed_t(effect, 1.0, power=0.9, ratio=ratio) == pytest.approx(needed, rel=1e-5)


def test_the_smallest_gap_turns_equation_1_round():
    for gap, sigma, ratio in ((0.1, 0.15, 1.0), (0.03, 0.2, 4.0)):
        n = speakers_needed(gap, sigma, ratio=ratio)
        assert smallest_gap(n, ratio * n, sigma) == pytest.approx(gap)
    assert smallest_gap(0, 10, 0.1) == math.inf
    # Groups of different spread: 0.1^2 / 20 + 0.3^2 / 30.
    expected = (1.959964 + 0.841621) * math.sqrt(0.01 / 20 + 0.09 / 30)
    assert smallest_gap(20, 30, 0.1, other_sigma=0.3) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gap": 0.0, "sigma": 0.1}, "gap must be above 0"),
        ({"gap": 0.1, "sigma": -1.0}, "sigma"),
        ({"gap": 0.1, "sigma": 0.1, "confidence": 1.0}, "confidence must lie between"),
        ({"gap": 0.1, "sigma": 0.1, "power": 0.01}, "no more than the chance"),
        ({"gap": 0.1, "sigma": 0.1, "ratio": 0.0}, "ratio"),
    ],
)
def test_nonsense_is_refused(arguments, message):
    with pytest.raises(VoxauditError, match=message):
        speakers_needed(**arguments)


def test_simulation_agrees_with_the_t_test_where_its_assumptions_hold():
    # Long recordings and a small spread: speaker means are nearly normal, sigma is 0.3 * 0.1 for both groups.
    population = planned_population(0.3, 0.1, utterances=40, words=50)
    sigma = 0.3 * 0.1
    found = simulate_power(population, 0.02, 25, 25, simulations=2000)
    expected = power_t(0.02, math.hypot(sigma * 1.033, math.sqrt(0.31 / 2000)), 25, 25)
    assert found.low - 0.02 < expected < found.high + 0.02


@pytest.mark.parametrize(
    ("test", "simulations", "limits"), [("t", 1500, (0.03, 0.07)), ("mixed", 150, (0.0, 0.13))]
)
def test_false_alarms(test, simulations, limits):
    population = planned_population(0.2, 0.4, utterances=15, words=8, dispersion=2.0 if test == "t" else 1.0)
    found = simulate_power(population, 0.0, 20, 20, test=test, simulations=simulations)
    assert limits[0] <= found.power <= limits[1]


def test_the_same_seed_gives_the_same_power():
    population = planned_population(0.2, 0.5, utterances=10, words=10)
    first = simulate_power(population, 0.1, 20, 30, simulations=200, seed=3)
    assert first == simulate_power(population, 0.1, 20, 30, simulations=200, seed=3)
    assert first.low < first.power < first.high


def test_the_population_is_found_again():
    # 400 speakers, log rates N(log 0.15, 0.4), the second group 1.5 times worse.
    generator = np.random.default_rng(4)
    speaker = np.repeat(np.arange(400), 12)
    group = (speaker >= 200).astype(float)
    words = generator.integers(4, 20, len(speaker)).astype(float)
    rate = 0.15 * 1.5**group * np.exp(0.4 * generator.standard_normal(400))[speaker]
    found = fitted_population(generator.poisson(words * rate).astype(float), words, speaker, group)
    assert found.sigma == pytest.approx(0.4, abs=0.04)
    assert found.wer == pytest.approx(0.15 * math.exp(0.08), rel=0.08)
    assert found.dispersion == pytest.approx(1.0, abs=0.1)
    assert found.speakers == 400


def test_speakers_by_simulation_reach_the_power():
    population = planned_population(0.2, 0.5, utterances=20, words=10)
    found = speakers_by_simulation(population, 0.1, simulations=400)
    assert found.power >= 0.8
    assert (
        simulate_power(population, 0.1, found.speakers // 2, found.speakers // 2, simulations=400).power
        < 0.75
    )
    assert speakers_by_simulation(population, 0.0001, simulations=50, limit=64) is None


def test_simulation_refuses_what_it_cannot_draw():
    population = planned_population(0.2, 0.5, utterances=5, words=10)
    with pytest.raises(VoxauditError, match="at least 2 speakers"):
        simulate_power(population, 0.1, 1, 5)
    errors, words = np.zeros(6), np.full(6, 10.0)
    with pytest.raises(VoxauditError, match="no errors at all"):
        fitted_population(errors, words, np.arange(6) // 2, np.arange(6) // 3)
