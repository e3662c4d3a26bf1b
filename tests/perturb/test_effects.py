import numpy as np
import pytest
from bank_properties import LEVELS, RATES, SEEDS, apply, check_audio
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.effect import feedback

EFFECTS = [f"{name}:{n}" for name in ("echo", "chorus", "phaser", "tremolo") for n in (1, 2, 3, 4)]
STEP = 2.0**-23  # echo and chorus leave SoX in 24 bits


def click(count):
    samples = np.zeros(count, np.float32)
    samples[0] = 0.5
    return samples


@settings(deadline=None, max_examples=12)
@given(count=st.integers(1, 3000), rate=RATES, level=LEVELS, seed=SEEDS)
@pytest.mark.parametrize("scenario", EFFECTS)
def test_audio_stays_finite_within_full_scale_and_as_long_as_declared(scenario, count, rate, level, seed):
    check_audio(scenario, count, rate, level, seed)


@pytest.mark.parametrize("scenario", EFFECTS)
def test_silence_stays_silence(scenario):
    assert not apply(scenario, np.zeros(5000, np.float32)).any()


@pytest.mark.parametrize("scenario", EFFECTS)
def test_the_loudest_input_saturates_and_never_wraps(scenario):
    out = apply(scenario, np.ones(40_000, np.float32))
    assert out.min() >= 0.0
    assert out.max() <= 1.0


@pytest.mark.parametrize(("severity", "delay"), [(1, 2000), (2, 4000), (3, 8000), (4, 16000)])
def test_an_echo_is_one_later_copy(severity, delay):
    out = apply(f"echo:{severity}", click(100))
    assert len(out) == 100 + delay
    assert np.flatnonzero(out).tolist() == [0, delay]
    assert out[0] == pytest.approx(0.5 * 0.8 * 0.9, abs=STEP)
    assert out[delay] == pytest.approx(0.5 * 0.3 * 0.9, abs=STEP)


def test_echo_is_cut_to_24_bits_towards_zero():
    out = apply(
        "echo:delay=1,gain_in=0.5,gain_out=1,decay=0", np.array([3, -3, 5], np.float32) * np.float32(STEP)
    )
    assert (out[:3] / STEP).tolist() == [1.0, -1.0, 2.0]


def test_two_voices_join_in_a_chorus():
    rate, count = 16000, 16000
    out = apply("chorus:1", click(count), rate)
    assert len(out) == count + 42 * 16  # 30 + 10 ms of delay, 2 ms of wavering
    direct, *voices = np.flatnonzero(out).tolist()
    assert direct == 0
    assert out[0] == pytest.approx(0.5 * 0.9 * 0.9, abs=STEP)
    # The sine begins in the middle of 2 ms; the triangle begins 2 ms (and a sample) under 30 ms.
    assert voices[0] == 16
    assert 28 * 16 - 1 <= voices[-1] <= 28 * 16 + 1
    assert out[voices[0]] == pytest.approx(0.5 * 0.3 * 0.9, abs=STEP)
    assert out[voices[-1]] == pytest.approx(0.5 * 0.4 * 0.9, abs=STEP)


def test_a_phaser_feeds_back_after_one_sample_at_first_and_after_the_whole_delay_half_a_turn_later():
    out = apply("phaser:2", click(200))
    assert out[:4] == pytest.approx(0.5 * 0.6 * 0.8 * 0.5 ** np.arange(4), rel=1e-6)
    later = np.zeros(8000, np.float32)
    later[4000] = 0.5  # speed 2 Hz: the delay is longest after a quarter of a second
    out = apply("phaser:2", later)
    first, second = np.flatnonzero(out)[:2]
    assert (first, second) == (4000, 4047)
    assert out[4047] == pytest.approx(0.5 * out[4000], rel=1e-6)


@pytest.mark.parametrize(("severity", "depth"), [(1, 0.5), (2, 0.66), (3, 0.83), (4, 1.0)])
@pytest.mark.parametrize("rate", [8000, 11025, 48000])
def test_tremolo_is_a_cosine_of_20_hz_on_the_loudness(severity, depth, rate):
    out = apply(f"tremolo:{severity}", np.full(rate, 0.5, np.float32), rate)
    time = np.arange(rate) / rate
    assert np.allclose(out, 0.5 * (1 - depth * (1 - np.cos(2 * np.pi * 20 * time)) / 2), atol=1e-7)


def test_a_tremolo_of_any_speed_keeps_its_phase():
    out = apply("tremolo:depth=100,speed=2.5", np.full(16000, 0.5, np.float32))
    assert out[[0, 1600, 3200, 6400]] == pytest.approx([0.5, 0.25, 0.0, 0.5], abs=1e-6)


def test_words_stay_where_they_are():
    for scenario in EFFECTS:
        assert parse_scenario(scenario).perturbation.map_time(1.25) == 1.25


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("echo:delay=0", "delay must be above 0"),
        ("echo:delay=100,decay=2", "decay must be from 0 to 1"),
        ("echo:delay=100,gain_in=-1", "gain_in must be from 0 to 1"),
        ("chorus:delay=10", "delay must be from 20 to 90"),
        ("phaser:decay=1", "decay must be from 0 to 0.99"),
        ("phaser:decay=0.5,delay=9", "delay must be above 0 and at most 5"),
        ("phaser:decay=0.5,speed=9", "speed must be from 0.1 to 2"),
        ("tremolo:depth=101", "depth must be from 0 to 100"),
        ("tremolo:depth=50,speed=0", "speed must be above 0"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(scenario, message):
    with pytest.raises(VoxauditError, match=message) as refusal:
        parse_scenario(scenario)
    assert "\n" not in str(refusal.value)


def test_feedback_is_what_a_loop_over_samples_gives():
    signal = np.random.default_rng(0).standard_normal(3000)
    delays = np.array([1, 3, 48, 2, 7])
    for decay in (0.0, 0.3, 0.9, 0.99):
        expected = signal.copy()
        for n in range(len(signal)):
            source = n - delays[n % len(delays)]
            expected[n] += decay * (expected[source] if source >= 0 else 0.0)
        np.testing.assert_allclose(feedback(signal, delays, decay), expected, rtol=1e-12, atol=1e-12)
