"""Speed, pitch and resampling: lengths, timings, frequencies. torchaudio itself is in tests/reference."""

import os
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.perturb import PERTURBATIONS, parse_scenario
from voxaudit.perturb.time_pitch import resampled_length, sinc_resample, stretch
from voxaudit.process import THREADS, python_command

NAMES = ["speed_up", "speed_down", "pitch_up", "pitch_down", "resample"]
SEVERITIES = [f"{name}:{n}" for name in NAMES for n in (1, 2, 3, 4)]
RATES = [8000, 16000, 44100, 48000]
GENERATOR = np.random.default_rng(0)


def perturb(scenario, samples, rate=16000):
    return parse_scenario(scenario).perturbation(samples, rate, GENERATOR)


def tone(frequency, seconds=1.0, rate=16000, level=0.5):
    return (level * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)).astype(
        np.float32
    )


def frequency_of(samples, rate=16000):
    """The strongest frequency in Hz, by a parabola through the peak of the spectrum."""
    window = np.hanning(len(samples))
    padded = 1 << (8 * len(samples) - 1).bit_length()
    spectrum = np.log(np.abs(np.fft.rfft(samples * window, padded)) + 1e-12)
    peak = int(np.argmax(spectrum))
    left, center, right = spectrum[peak - 1 : peak + 2]
    return (peak + 0.5 * (left - right) / (left - 2 * center + right)) * rate / padded


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("speed_up", "factor", [1.25, 1.5, 1.75, 2.0]),
        ("speed_down", "factor", [0.875, 0.75, 0.625, 0.5]),
        ("pitch_up", "semitones", [3, 6, 9, 12]),
        ("pitch_down", "semitones", [3, 6, 9, 12]),
        ("resample", "factor", [0.75, 0.5, 0.25, 0.125]),
    ],
)
def test_severities_are_those_of_table_2(name, field, values):
    assert [severity[field] for severity in PERTURBATIONS.load(name).severities] == values


@pytest.mark.parametrize("name", ["pitch_up", "pitch_down"])
@pytest.mark.parametrize("semitones", [3, 6, 9, 12])
@pytest.mark.parametrize("rate", RATES)
def test_pitch_moves_by_the_semitones_within_a_tenth_of_a_percent(name, semitones, rate):
    shifted = perturb(f"{name}:semitones={semitones}", tone(440, rate=rate), rate)
    middle = shifted[len(shifted) // 4 : -len(shifted) // 4]
    ratio = 2 ** ((semitones if name == "pitch_up" else -semitones) / 12)
    assert frequency_of(middle, rate) == pytest.approx(440 * ratio, rel=1e-3)


@pytest.mark.parametrize("scenario", SEVERITIES[:8])
def test_speed_moves_pitch_and_length_together(scenario):
    factor = parse_scenario(scenario).perturbation.factor
    faster = perturb(scenario, tone(440))
    assert len(faster) == np.ceil(16000 / factor)
    assert frequency_of(faster) == pytest.approx(440 * factor, rel=1e-3)


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_resample_keeps_what_the_lower_rate_holds_and_no_more(severity):
    nyquist = 8000 * [0.75, 0.5, 0.25, 0.125][severity - 1]
    middle = slice(4000, 12000)
    low, high = tone(0.5 * nyquist), tone(min(1.5 * nyquist, 7900))
    kept, lost = perturb(f"resample:{severity}", low)[middle], perturb(f"resample:{severity}", high)[middle]
    assert np.abs(kept - low[middle]).max() < 0.01 * 0.5
    # Gone, alias and all, but for what six zero crossings let through.
    assert np.sqrt(np.mean(lost**2)) < 0.02 * 0.5


def test_the_kernel_by_hand():
    # Twice the rate: every second output lies on an input sample, where the other samples' sincs nearly vanish.
    impulse = np.zeros(41)
    impulse[20] = 1.0
    doubled = sinc_resample(impulse, 1, 2)
    expected = [
        0.99 * np.sinc(0.99 * t) * np.cos(np.pi * 0.99 * t / 12) ** 2 * (abs(0.99 * t) < 6)
        for t in (np.arange(82) - 40) / 2
    ]
    assert doubled == pytest.approx(expected, abs=1e-15)


@given(length=st.integers(1, 5000), source=st.integers(1, 400), target=st.integers(1, 400))
def test_resampled_lengths_are_exact_and_constants_stay(length, source, target):
    resampled = sinc_resample(np.ones(length), source, target)
    assert len(resampled) == resampled_length(length, source, target)
    assert resampled_length(length, source, target) - 1 < length * target / source
    assert resampled_length(length, source, target) >= length * target / source
    edge = 8 * max(1, -(-target // source))
    assert np.all(np.abs(resampled[edge:-edge] - 1.0) < 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SEVERITIES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("at", [0.2, 0.75])
def test_a_burst_is_found_where_map_time_says(scenario, rate, at):
    time = np.arange(rate) / rate
    burst = (0.5 * np.exp(-(((time - at) / 0.02) ** 2)) * np.sin(2 * np.pi * 300 * time)).astype(np.float32)
    perturbation = parse_scenario(scenario).perturbation
    out = perturbation(burst, rate, GENERATOR).astype(np.float64)
    center = np.sum(np.arange(len(out)) * out**2) / np.sum(out**2) / rate
    # A vocoder smears a burst over its frames of 512 samples; the others are exact to a sample.
    tolerance = max(256 / rate, 0.012) if "pitch" in scenario else 1.5 / rate
    assert center == pytest.approx(perturbation.map_time(at), abs=tolerance)


@settings(max_examples=60, deadline=None)
@given(
    scenario=st.sampled_from(SEVERITIES),
    count=st.integers(1, 1500),
    rate=st.sampled_from(RATES),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_clip_gives_finite_samples_of_the_declared_length_within_full_scale(scenario, count, rate, seed):
    samples = np.random.default_rng(seed).choice(np.array([-1, 1], np.float32), count)
    before = samples.copy()
    perturbation = parse_scenario(scenario).perturbation
    out = perturbation(samples, rate, GENERATOR)
    assert out.dtype == np.float32
    assert len(out) == perturbation.length(count, rate)
    assert np.isfinite(out).all()
    assert np.abs(out).max(initial=0.0) <= 1.0
    assert np.array_equal(samples, before)
    assert not np.shares_memory(out, samples)
    assert np.array_equal(out, perturbation(samples, rate, GENERATOR))
    assert not perturbation(np.zeros(count, np.float32), rate, GENERATOR).any()


@given(count=st.integers(1, 3000), tempo=st.floats(0.25, 4.0))
@settings(max_examples=30, deadline=None)
def test_stretched_lengths(count, tempo):
    assert len(stretch(np.ones(count, np.float32), tempo)) == round(count / tempo)


def test_the_blocks_of_the_vocoder_do_not_show(monkeypatch):
    samples = np.random.default_rng(3).standard_normal(9000)
    in_blocks = stretch(samples, 0.7)
    monkeypatch.setattr("voxaudit.perturb.time_pitch.BLOCK", 10**6)
    assert in_blocks == pytest.approx(stretch(samples, 0.7), abs=1e-12)


DIGESTS = """
import hashlib, numpy as np
from voxaudit.perturb.time_pitch import sinc_resample
samples = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
for source, target in ((5, 4), (16000, 2000), (1, 2), (19027, 16000)):
    print(hashlib.sha256(sinc_resample(samples, source, target)).hexdigest())
"""


@pytest.mark.slow
def test_the_samples_do_not_depend_on_the_number_of_threads():
    def digests(threads):
        environment = {**os.environ, **dict.fromkeys(THREADS, threads)}
        return subprocess.check_output(python_command(program=DIGESTS), env=environment).split()

    assert digests("1") == digests("4")
    assert len(set(digests("1"))) == 4


@pytest.mark.parametrize("scenario", ["speed_up:factor=1", "pitch_up:semitones=0", "resample:factor=1"])
def test_no_change_is_no_change(scenario):
    samples = tone(440)
    out = perturb(scenario, samples)
    assert np.array_equal(out, samples)
    assert not np.shares_memory(out, samples)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("speed_up:factor=0.5", "take speed_down"),
        ("speed_down:factor=1.5", "take speed_up"),
        ("pitch_up:semitones=-3", "from 0 to 24"),
        ("resample:factor=2", "from 0.01 to 1"),
    ],
)
def test_impossible_settings_are_one_clear_line(scenario, message):
    with pytest.raises(VoxauditError, match=message):
        parse_scenario(scenario)
