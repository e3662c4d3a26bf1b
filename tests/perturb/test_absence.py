"""Nothing is said: silence and noise alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import PERTURBATIONS, parse_scenario

SAMPLES = np.linspace(-0.9, 0.9, 4000, dtype=np.float32)


def apply(scenario, samples=SAMPLES, rate=16000, seed=1, utterance="u"):
    return parse_scenario(scenario).apply(Audio(samples, rate), seed=seed, utterance=utterance).samples


@pytest.mark.parametrize(
    "name", [n for n in PERTURBATIONS.names() if PERTURBATIONS.load(n).family == "absence"]
)
def test_nothing_is_left_of_what_was_said(name):
    kind = PERTURBATIONS.load(name)
    assert kind.speech is False
    scenario = f"{name}:1" if kind.severities else name
    assert np.array_equal(apply(scenario), apply(scenario, SAMPLES[::-1].copy()))


def test_the_two_kinds_of_absence_are_the_only_ones():
    speechless = {name for name in PERTURBATIONS.names() if not PERTURBATIONS.load(name).speech}
    assert speechless == {"silence", "noise_only"}


def test_silence_is_zero_and_the_recording_is_left_alone():
    before = SAMPLES.copy()
    out = apply("silence")
    assert out.dtype == np.float32
    assert len(out) == len(SAMPLES)
    assert not out.any()
    assert np.array_equal(SAMPLES, before)


@given(
    level=st.floats(-100, -14), count=st.integers(20, 4000), rate=st.sampled_from([8000, 16000, 44100, 48000])
)
def test_noise_has_the_level_asked_for(level, count, rate):
    perturbation = parse_scenario(f"noise_only:level={level}").perturbation
    out = perturbation(SAMPLES[:count], rate, np.random.default_rng(count))
    assert out.dtype == np.float32
    assert len(out) == count
    assert np.abs(out).max() <= 1.0
    measured = 20 * np.log10(np.sqrt(np.mean(out.astype(np.float64) ** 2)))
    assert measured == pytest.approx(level, abs=0.01)
    assert perturbation.achieved(SAMPLES[:count], out, rate) == {"noise_dbfs": pytest.approx(measured)}


def test_noise_is_white_and_there_even_where_the_recording_is_silent():
    noise = apply("noise_only:4", np.zeros(64000, np.float32))
    power = np.abs(np.fft.rfft(noise)) ** 2
    quarters = [np.mean(part) for part in np.array_split(power[1:], 4)]
    assert np.ptp(10 * np.log10(quarters)) < 0.5


def test_same_seed_same_noise_another_utterance_other_noise():
    assert np.array_equal(apply("noise_only:1"), apply("noise_only:1"))
    assert not np.array_equal(apply("noise_only:1"), apply("noise_only:1", utterance="v"))
    assert not np.array_equal(apply("noise_only:1"), apply("noise_only:1", seed=2))


def test_one_sample():
    assert abs(apply("noise_only:level=-20", SAMPLES[:1])[0]) == pytest.approx(0.1)


@pytest.mark.parametrize("level", [-200, -10, 3])
def test_impossible_levels_are_one_clear_line(level):
    with pytest.raises(VoxauditError, match="from -150 to -14"):
        parse_scenario(f"noise_only:level={level}")
