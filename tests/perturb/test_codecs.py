"""Telephone band, codecs and lost packets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit import audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.dropout import lost_packets

CODECS = ["telephone", "mulaw", "alaw", "gsm:1", "gsm:4", "opus:1", "opus:4", "mp3:1", "mp3:4"]
RATES = [8000, 16000, 44100, 48000]


def perturb(scenario, samples, rate=16000, seed=0):
    return parse_scenario(scenario).perturbation(samples, rate, np.random.default_rng(seed))


def tone(frequency, rate=16000, seconds=1.0):
    return (0.3 * np.sin(2 * np.pi * frequency * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def buzz(rate, seconds=1.5, seed=5):
    """Bursts of a buzzing voice with pauses, different each time, so that only one lag fits."""
    generator = np.random.default_rng(seed)
    time = np.arange(round(rate * seconds)) / rate
    sound = np.zeros(len(time))
    for start in np.arange(0.05, seconds - 0.1, 0.15):
        pitch, length = generator.uniform(90, 220), generator.uniform(0.03, 0.09)
        envelope = np.exp(-(((time - start - length) / length) ** 2) * 4)
        sound += envelope * sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 14))
    return (0.3 * sound / np.abs(sound).max()).astype(np.float32)


def lag(before, after):
    """By how many samples `after` comes later than `before`: the peak of their cross-correlation."""
    size = 1 << (2 * len(before) - 1).bit_length()
    product = np.fft.rfft(after, size) * np.conj(np.fft.rfft(before, size))
    peak = int(np.argmax(np.fft.irfft(product)))
    return peak if peak < size // 2 else peak - size


def gain(scenario, frequency, rate=16000):
    """Amplitude of a tone after the scenario against before, in dB, away from the edges."""
    before = tone(frequency, rate)
    middle = slice(len(before) // 4, -len(before) // 4)
    after = perturb(scenario, before, rate)
    return 20 * np.log10(np.linalg.norm(after[middle]) / np.linalg.norm(before[middle]))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", CODECS)
@pytest.mark.parametrize("rate", RATES)
def test_the_delay_is_taken_out(scenario, rate):
    before = buzz(rate)
    after = perturb(scenario, before, rate)
    assert len(after) == len(before)
    # Within 0.2 ms; the coders of speech at low rates reshape it, so that the best lag wavers by a sample or two.
    assert abs(lag(before, after)) <= 0.0002 * rate


@pytest.mark.parametrize("kbps", [16, 24, 32, 40, 64, 128, 160])
def test_mp3_is_in_time_with_and_without_the_tag_of_its_delay(kbps):
    before = buzz(16000)
    assert lag(before, perturb(f"mp3:kbps={kbps}", before)) == 0


def test_the_telephone_band():
    for frequency in (400, 1000, 2000, 3300):
        assert gain("telephone", frequency) == pytest.approx(0.0, abs=0.1)
    for frequency in (300, 3400):
        assert gain("telephone", frequency) == pytest.approx(-6.0, abs=0.2)
    for frequency in (100, 200, 3500, 5000, 7000):
        assert gain("telephone", frequency) < -40.0
    assert gain("telephone:low=50,high=3900", 100) == pytest.approx(0.0, abs=0.1)


def test_mulaw_by_hand():
    # G.711: a 14-bit magnitude plus 33 falls into 8 segments of 16 steps, each twice as wide as the one before.
    samples = np.array([0.5, -0.5, 0.1, -0.01, 0.001], np.float32)
    expected = []
    for value in samples.astype(np.float64):
        magnitude = min(abs(value) * 8192 + 33, 8191.0)
        step = 2.0 ** (np.floor(np.log2(magnitude)) - 4)
        expected.append(np.sign(value) * ((np.floor(magnitude / step) + 0.5) * step - 33) / 8192)
    assert perturb("mulaw", samples, 8000) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("scenario", ["mulaw", "alaw"])
def test_g711_has_8_bits_and_coding_again_changes_nothing(scenario):
    once = perturb(scenario, np.linspace(-1, 1, 8000, dtype=np.float32), 8000)
    assert 200 < len(np.unique(once)) <= 256
    assert np.array_equal(perturb(scenario, once, 8000), once)
    # Two codings of a tone at half of full scale: the noise of 8 logarithmic bits lies 35 to 40 dB below.
    before = 5 / 3 * tone(700, 8000)
    noise = perturb(scenario, before, 8000) - before
    assert 34 < 20 * np.log10(np.linalg.norm(before) / np.linalg.norm(noise)) < 42


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gsm", "opus", "mp3"])
def test_each_severity_leaves_less_of_the_speech(name, shared_data):
    files = sorted((shared_data / "ravdess" / "audio").glob("*.flac"))[::32]
    clips = [audio.read(file).samples for file in files]
    distortion = []
    for severity in (1, 2, 3, 4):
        errors = [np.sum((perturb(f"{name}:{severity}", clip) - clip) ** 2) for clip in clips]
        distortion.append(sum(errors) / sum(np.sum(clip**2) for clip in clips))
    assert distortion == sorted(distortion)
    assert 0.0 < distortion[0] < distortion[3]


@settings(max_examples=60, deadline=None)
@given(
    scenario=st.sampled_from([*CODECS, "packet_loss:4", "far_field:1", "far_field:4"]),
    count=st.integers(1, 1200),
    rate=st.sampled_from([*RATES, 11025, 22050]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_clip_gives_finite_samples_of_its_length_within_full_scale(scenario, count, rate, seed):
    samples = np.random.default_rng(seed).choice(np.array([-1, 0, 1], np.float32), count)
    before = samples.copy()
    out = perturb(scenario, samples, rate)
    assert out.dtype == np.float32
    assert len(out) == count == parse_scenario(scenario).perturbation.length(count, rate)
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 1.0
    assert np.array_equal(samples, before)
    assert not np.shares_memory(out, samples)
    assert np.array_equal(out, perturb(scenario, samples, rate))
    assert not perturb(scenario, np.zeros(count, np.float32), rate).any()


@pytest.mark.parametrize(("loss", "burst"), [(1, 3), (3, 1), (10, 3), (20, 8), (60, 2)])
def test_packets_are_lost_as_often_and_as_long_as_asked(loss, burst):
    lost = lost_packets(400_000, loss / 100, burst, np.random.default_rng(11))
    starts = np.count_nonzero(lost[1:] & ~lost[:-1])
    assert np.mean(lost) == pytest.approx(loss / 100, rel=0.05)
    assert np.count_nonzero(lost) / starts == pytest.approx(burst, rel=0.05)


def test_the_first_packet_is_lost_as_often_as_any():
    generator = np.random.default_rng(12)
    first = [lost_packets(1, 0.2, 3.0, generator)[0] for _ in range(5000)]
    assert np.mean(first) == pytest.approx(0.2, abs=0.02)


@given(loss=st.floats(0, 60), rate=st.sampled_from([8000, 11025, 16000]), count=st.integers(1, 9000))
def test_lost_packets_are_silent_whole_and_counted(loss, rate, count):
    perturbation = parse_scenario(f"packet_loss:loss={loss},burst=2").perturbation
    before = np.full(count, 0.25, np.float32)
    after = perturbation(before, rate, np.random.default_rng(count))
    edges = [round(k * (0.02 * rate)) for k in range(int(np.ceil(count / (0.02 * rate))) + 1)]
    packets = [after[a:b] for a, b in pairwise(edges) if len(after[a:b])]
    assert all(np.all(packet == 0) or np.all(packet == 0.25) for packet in packets)
    lost = 100 * np.mean([not packet.any() for packet in packets])
    assert perturbation.achieved(before, after, rate) == {"loss_percent": pytest.approx(lost)}


def test_the_loss_of_silence_cannot_be_measured():
    silence = np.zeros(1000, np.float32)
    assert parse_scenario("packet_loss:4").perturbation.achieved(silence, silence, 16000) == {}


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
@pytest.mark.parametrize("level", [0.001, 0.3])
def test_far_field_loses_6_db_a_doubling_over_the_same_noise(severity, level):
    before = (level * buzz(16000) / 0.3).astype(np.float32)
    perturbation = parse_scenario(f"far_field:{severity}").perturbation
    after = perturbation(before, 16000, np.random.default_rng(1))
    asked = 24 - 20 * np.log10(2.0 ** (severity - 1))
    assert perturbation.achieved(before, after, 16000) == {
        "snr_db": pytest.approx(asked, abs=0.01),
        "speech_dbfs": pytest.approx(asked - 50, abs=0.01),
    }
    # Measured without knowing the settings: the part that goes with the speech, and the rest.
    share = np.dot(after, before) / np.dot(before, before)
    rest = after - share * before
    assert 20 * np.log10(np.sqrt(np.mean(rest**2))) == pytest.approx(-50, abs=0.1)
    assert 20 * np.log10(share * np.sqrt(np.mean(before**2))) == pytest.approx(asked - 50, abs=0.5)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("telephone:low=3000,high=400", "0 < low < high"),
        ("telephone:high=4000", "< 4000"),
        ("gsm:passes=1.5", "whole number"),
        ("opus:kbps=5", "from 6 to 256"),
        ("mp3:kbps=320", "from 16 to 160"),
        ("packet_loss:loss=100", "below 100"),
        ("packet_loss:loss=10,burst=0.5", "at least 1"),
        ("packet_loss:loss=90,burst=2", "loss / \\(100 - loss\\)"),
        ("far_field:distance=0", "from 0.1 to 1,000"),
    ],
)
def test_impossible_settings_are_one_clear_line(scenario, message):
    with pytest.raises(VoxauditError, match=message):
        parse_scenario(scenario)
