import numpy as np
import pytest
from bank_properties import LEVELS, RATES, SEEDS, apply, check_audio
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import freqz, lfilter

from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.filter import shelf_coefficients, sinc_taps

FILTERS = [f"{name}:{n}" for name in ("bass", "treble", "lowpass", "highpass") for n in (1, 2, 3, 4)]


def tone(frequency, rate, level=0.001, seconds=1.0):
    return (level * np.sin(2 * np.pi * frequency * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def gain_db(scenario, frequency, rate=16000):
    """Gain in the middle of a tone, away from both ends."""
    samples = tone(frequency, rate)
    middle = slice(rate // 4, 3 * rate // 4)
    after = apply(scenario, samples, rate)[middle].astype(np.float64)
    return 10 * np.log10(np.sum(after**2) / np.sum(samples[middle].astype(np.float64) ** 2))


@settings(deadline=None, max_examples=12)
@given(count=st.integers(1, 10_000), rate=RATES, level=LEVELS, seed=SEEDS)
@pytest.mark.parametrize("scenario", FILTERS)
def test_audio_stays_finite_within_full_scale_and_as_long_as_it_was(scenario, count, rate, level, seed):
    assert len(check_audio(scenario, count, rate, level, seed)) == count


@pytest.mark.parametrize("scenario", FILTERS)
def test_silence_stays_silence(scenario):
    assert not apply(scenario, np.zeros(9000, np.float32)).any()


@pytest.mark.parametrize(("severity", "gain"), [(1, 20), (2, 30), (3, 40), (4, 50)])
def test_bass_boosts_what_lies_far_below_100_hz_and_leaves_what_lies_far_above(severity, gain):
    numerator, denominator = shelf_coefficients(16000, gain, 100.0, 0.5, low=True)
    _, response = freqz(numerator, denominator, worN=[0.001, 100.0, 7999.0], fs=16000)
    # At the middle of the shelf the gain is half of it, in dB.
    assert 20 * np.log10(np.abs(response)) == pytest.approx([gain, gain / 2, 0.0], abs=0.01)
    assert gain_db(f"bass:{severity}", 4000) == pytest.approx(0.0, abs=0.5 + gain / 25)


@pytest.mark.parametrize(("severity", "gain"), [(1, 10), (2, 23), (3, 36), (4, 50)])
def test_treble_is_the_mirror_image_of_bass(severity, gain):
    numerator, denominator = shelf_coefficients(16000, gain, 3000.0, 0.5, low=False)
    _, response = freqz(numerator, denominator, worN=[0.001, 3000.0, 7999.99], fs=16000)
    assert 20 * np.log10(np.abs(response)) == pytest.approx([0.0, gain / 2, gain], abs=0.01)
    assert gain_db(f"treble:{severity}", 3000) == pytest.approx(gain / 2, abs=0.05)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 101, 5003])
@pytest.mark.parametrize("low", [True, False])
def test_four_parts_side_by_side_equal_one_filter(count, low):
    samples = np.random.default_rng(count).uniform(-0.01, 0.01, count).astype(np.float32)
    numerator, denominator = shelf_coefficients(16000, 30.0, 100.0 if low else 3000.0, 0.5, low=low)
    whole = np.clip(lfilter(numerator, denominator, samples.astype(np.float64)), -1.0, 1.0)
    assert np.allclose(apply("bass:2" if low else "treble:gain=30", samples), whole, rtol=1e-6, atol=1e-7)


def test_a_shelf_beyond_half_the_rate():
    samples = tone(100, 4000)
    assert np.array_equal(apply("treble:1", samples, 4000), samples)
    assert np.allclose(apply("bass:gain=20,frequency=3000", samples, 4000), 10 * samples)


@pytest.mark.parametrize(("severity", "edge"), [(1, 4000), (2, 2833), (3, 1666), (4, 500)])
def test_lowpass_has_a_steep_edge(severity, edge):
    assert gain_db(f"lowpass:{severity}", edge - 250) == pytest.approx(0.0, abs=0.001)
    assert gain_db(f"lowpass:{severity}", edge) == pytest.approx(-6.02, abs=0.05)
    assert gain_db(f"lowpass:{severity}", edge + 250) < -110


@pytest.mark.parametrize(("severity", "edge"), [(1, 500), (2, 1333), (3, 2166), (4, 3000)])
def test_highpass_has_a_steep_edge(severity, edge):
    assert gain_db(f"highpass:{severity}", edge - 250) < -110
    assert gain_db(f"highpass:{severity}", edge) == pytest.approx(-6.02, abs=0.05)
    assert gain_db(f"highpass:{severity}", edge + 250) == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("count", [1, 300, 3782, 3783, 20_000, 100_000])
def test_convolution_in_blocks_equals_convolution(rate, count):
    samples = np.random.default_rng(count).uniform(-0.1, 0.1, count).astype(np.float32)
    taps = sinc_taps(2 * 1666 / rate)
    whole = np.convolve(samples.astype(np.float64), taps)[len(taps) // 2 :][:count]
    assert np.allclose(apply("lowpass:3", samples, rate), whole, atol=1e-7)


@pytest.mark.parametrize(
    ("cutoff", "taps"), [(0.01, 323), (0.0625, 321), (0.1, 319), (0.3, 317), (0.5, 315), (0.99, 315)]
)
def test_the_lower_the_cutoff_the_more_taps(cutoff, taps):
    lowpass = sinc_taps(cutoff)
    assert len(lowpass) == taps
    assert np.array_equal(lowpass, lowpass[::-1])
    assert lowpass[taps // 2] == pytest.approx(cutoff)


def test_edges_beyond_half_the_rate():
    samples = tone(440, 8000)
    assert np.array_equal(apply("lowpass:1", samples, 8000), samples)
    assert not apply("highpass:frequency=4000", samples, 8000).any()


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("bass:gain=200", "gain must be from -100 to 100"),
        ("bass:gain=20,slope=0", "slope must be above 0"),
        ("treble:gain=20,frequency=0", "frequency must be above 0"),
        ("lowpass:frequency=-1", "frequency must be above 0"),
        ("highpass:frequency=0", "frequency must be above 0"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(scenario, message):
    with pytest.raises(VoxauditError, match=message) as refusal:
        parse_scenario(scenario)
    assert "\n" not in str(refusal.value)
