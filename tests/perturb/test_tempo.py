import numpy as np
import pytest
from bank_properties import LEVELS, RATES, SEEDS, apply, check_audio
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.tempo import most_similar

TEMPI = [f"{name}:{n}" for name in ("tempo_up", "tempo_down") for n in (1, 2, 3, 4)]


@settings(deadline=None, max_examples=25)
@given(count=st.integers(1, 20_000), rate=RATES, level=LEVELS, seed=SEEDS)
@pytest.mark.parametrize("scenario", TEMPI)
def test_audio_stays_finite_within_full_scale_and_as_long_as_declared(scenario, count, rate, level, seed):
    check_audio(scenario, count, rate, level, seed)


@pytest.mark.parametrize("scenario", TEMPI)
@pytest.mark.parametrize("count", [1, 2, 479, 480, 5000])
def test_silence_stays_silence(scenario, count):
    assert not apply(scenario, np.zeros(count, np.float32)).any()


@pytest.mark.parametrize(
    ("count", "factor", "expected"), [(16000, 1.25, 12800), (3, 2, 2), (16000, 0.875, 18286)]
)
def test_length_is_rounded_half_upwards(count, factor, expected):
    name = "tempo_up" if factor > 1 else "tempo_down"
    assert len(apply(f"{name}:factor={factor}", np.full(count, 0.1, np.float32))) == expected


@pytest.mark.parametrize("scenario", TEMPI)
@pytest.mark.parametrize("rate", [8000, 44100])
def test_pitch_stays(scenario, rate):
    samples = (0.3 * np.sin(2 * np.pi * 400 * np.arange(2 * rate) / rate)).astype(np.float32)
    out = apply(scenario, samples, rate)
    spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out)), 4 * rate))
    assert np.argmax(spectrum) / 4 == pytest.approx(400, abs=1.0)


@pytest.mark.parametrize("scenario", TEMPI)
def test_a_click_lies_where_the_mapping_of_time_says(scenario):
    generator = np.random.default_rng(3)
    samples = (0.001 * generator.standard_normal(32_000)).astype(np.float32)
    samples[16_000:16_400] += 0.5 * np.hanning(400).astype(np.float32)
    expected = parse_scenario(scenario).perturbation.map_time(16_200 / 16_000)
    loudest = np.argmax(np.convolve(apply(scenario, samples), np.ones(400), "same")) / 16_000
    assert loudest == pytest.approx(expected, abs=0.03)  # a segment


def test_the_first_segment_is_left_as_it_is():
    samples = np.round(np.random.default_rng(0).uniform(-1, 1, 4000) * 1000).astype(np.float32) / 1024
    assert np.array_equal(apply("tempo_up:2", samples)[:408], samples[:408])


def test_the_most_similar_place_is_found_and_the_first_of_equals_taken():
    sound = np.zeros(12, np.float32)
    tail = np.array([1, 2, 3, 4], np.float32)
    assert most_similar(sliding_window_view(sound, 8)[:4], tail) == 0
    sound[3:7] = tail
    assert most_similar(sliding_window_view(sound, 8)[:4], tail) == 3


def test_similarity_is_summed_from_first_to_last_in_single_precision():
    """In another order, or in double precision, another processor might choose another place."""
    generator = np.random.default_rng(1)
    windows = sliding_window_view(generator.standard_normal(160, np.float32), 86)[:72]
    tail = generator.standard_normal(72, np.float32)
    errors = np.zeros(86, np.float32)
    for row, one in zip(windows, tail, strict=True):
        errors += (row - one) ** 2
    squares = (windows - tail[:, None]) ** 2
    assert np.array_equal(np.add.reduce(squares, axis=0), errors)
    assert most_similar(windows, tail) == errors.argmin()


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("tempo_up:factor=1", "factor must be above 1"),
        ("tempo_up:factor=0.5", "factor must be above 1"),
        ("tempo_down:factor=1", "below 1"),
        ("tempo_down:factor=0.01", "at least 0.1"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(scenario, message):
    with pytest.raises(VoxauditError, match=message) as refusal:
        parse_scenario(scenario)
    assert "\n" not in str(refusal.value)


def test_a_rate_too_low_is_refused():
    with pytest.raises(VoxauditError, match="too low a sampling rate"):
        apply("tempo_up:1", np.full(100, 0.1, np.float32), 200)
