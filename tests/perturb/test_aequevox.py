"""AequeVox's eight perturbations: by hand and by their properties."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.dropout import Drop
from voxaudit.perturb.suites import SUITES

AEQUEVOX = SUITES["aequevox"].scenarios
RATES = [8000, 16000, 44100, 48000]


def perturb(scenario, samples, rate=16000, seed=0):
    return parse_scenario(scenario).perturbation(samples, rate, np.random.default_rng(seed))


def tone(frequency, rate=16000, level=0.3):
    return (level * np.sin(2 * np.pi * frequency * np.arange(rate) / rate)).astype(np.float32)


def gain(scenario, frequency, rate=16000):
    """Amplitude of a tone after the scenario against before, in dB, once the filter has settled."""
    before = tone(frequency, rate)
    after = perturb(scenario, before, rate)
    return 20 * np.log10(np.linalg.norm(after[rate // 2 :]) / np.linalg.norm(before[rate // 2 :]))


def silenced(scenario, count, size, rate=16000, seed=0):
    """Which chunks of a constant are silent; a chunk that is partly silent fails."""
    out = perturb(scenario, np.full(count, 0.5, np.float32), rate, seed)
    edges = [round(k * size) for k in range(int(np.ceil(count / size)) + 1)]
    chunks = [out[a:b] for a, b in pairwise(edges)]
    assert all(np.all(chunk == 0.0) or np.all(chunk == 0.5) for chunk in chunks)
    return np.array([not chunk.any() for chunk in chunks])


def test_there_are_41_settings():
    assert len(AEQUEVOX) == len(set(AEQUEVOX)) == 41


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("amp:theta=0.5", [0.05, -0.4, 0.5, -0.5]),
        ("amp:theta=2", [0.2, -1.0, 1.0, -1.0]),
        ("amp:theta=0", [0.0, 0.0, 0.0, 0.0]),
        ("clipping:theta=0.05", [0.05, -0.05, 0.05, -0.05]),
        ("clipping:theta=0.8", [0.1, -0.8, 0.8, -0.8]),
    ],
)
def test_amp_and_clipping_by_hand(scenario, expected):
    # Full scale saturates: 2 x -0.8 is -1, not 0.4.
    samples = np.array([0.1, -0.8, 1.0, -1.0], np.float32)
    assert perturb(scenario, samples) == pytest.approx(expected)


@given(
    theta=st.integers(0, 50), chunks=st.integers(1, 120), rate=st.sampled_from(RATES), seed=st.integers(0, 99)
)
def test_drop_silences_exactly_its_share_of_20_ms_chunks_and_never_two_neighbors(theta, chunks, rate, seed):
    size = rate // 50
    silent = silenced(f"drop:theta={theta}", chunks * size, size, rate, seed)
    assert len(silent) == chunks
    # Half upwards, in whole numbers so that no rounding of floats decides; every second chunk may go.
    assert np.count_nonzero(silent) == min((theta * chunks + 50) // 100, chunks // 2)
    assert not np.any(silent[1:] & silent[:-1])


@pytest.mark.parametrize("theta", [10, 20, 30, 40, 50])
@pytest.mark.parametrize("rate", RATES)
def test_frame_silences_a_tenth_of_its_chunks_and_never_two_neighbors(theta, rate):
    size = theta * rate / 1000
    silent = silenced(f"frame:theta={theta}", round(70 * size), size, rate)
    assert len(silent) == 70
    assert np.count_nonzero(silent) == 7
    assert not np.any(silent[1:] & silent[:-1])


def test_another_seed_drops_other_chunks():
    assert not np.array_equal(
        silenced("drop:theta=25", 32000, 320, seed=1), silenced("drop:theta=25", 32000, 320, seed=2)
    )


def test_a_half_is_rounded_upwards_whatever_floats_make_of_it():
    # 29 % of 50 chunks are 14.5, which is 14.499999999999998 as 0.29 * 50.
    assert np.count_nonzero(silenced("drop:theta=29", 50 * 320, 320)) == 15


def test_a_last_chunk_cut_short_counts_as_one():
    # 3.5 chunks are four; a quarter of four is one, the second or the fourth.
    assert np.count_nonzero(silenced("drop:theta=25", 1120, 320)) == 1


@pytest.mark.parametrize("theta", [500, 600, 700, 800, 900])
@pytest.mark.parametrize("rate", RATES)
def test_filters_lose_3_db_at_theta_and_12_an_octave_beyond(theta, rate):
    assert gain(f"hp:theta={theta}", theta, rate) == pytest.approx(-3.01, abs=0.02)
    assert gain(f"lp:theta={theta}", theta, rate) == pytest.approx(-3.01, abs=0.02)
    assert gain(f"hp:theta={theta}", theta * 3, rate) == pytest.approx(0.0, abs=0.1)
    assert gain(f"lp:theta={theta}", theta / 4, rate) == pytest.approx(0.0, abs=0.1)
    low = [gain(f"hp:theta={theta}", frequency, rate) for frequency in (theta / 10, theta / 5)]
    assert low[1] - low[0] == pytest.approx(12.04, abs=0.1)


@pytest.mark.parametrize("theta", [500, 900])
def test_the_low_pass_falls_by_12_db_an_octave(theta):
    # At a rate so high that the bilinear transform has not bent the slope yet.
    high = [gain(f"lp:theta={theta}", frequency, 192000) for frequency in (theta * 5, theta * 10)]
    assert high[0] - high[1] == pytest.approx(12.04, abs=0.1)


def test_a_filter_beyond_half_the_rate_takes_all_or_nothing():
    samples = tone(440)
    assert not perturb("hp:theta=8000", samples).any()
    assert np.array_equal(perturb("lp:theta=8000", samples), samples)


@given(theta=st.floats(-10, 40), count=st.integers(2, 3000))
def test_noise_has_the_snr_asked_for(theta, count):
    # Quiet enough that nothing saturates.
    samples = (0.01 * np.sin(np.arange(count) + 1.0)).astype(np.float32)
    perturbation = parse_scenario(f"noise:theta={theta}").perturbation
    out = perturbation(samples, 16000, np.random.default_rng(count))
    added = out.astype(np.float64) - samples
    measured = 10 * np.log10(np.sum(samples.astype(np.float64) ** 2) / np.sum(added**2))
    assert measured == pytest.approx(theta, abs=0.01)
    assert perturbation.achieved(samples, out, 16000) == {"snr_db": pytest.approx(measured)}


def test_noise_saturates():
    out = perturb("noise:theta=-10", np.full(4000, 0.9, np.float32))
    assert out.max() == 1.0
    assert out.min() == -1.0


@pytest.mark.parametrize("theta", [0.9, 0.8, 0.7, 0.6, 0.5])
@pytest.mark.parametrize("rate", RATES)
def test_scale_is_longer_and_lower_by_theta(theta, rate):
    perturbation = parse_scenario(f"scale:theta={theta}").perturbation
    out = perturb(f"scale:theta={theta}", tone(400, rate), rate)
    assert len(out) == perturbation.length(rate, rate) == round(rate / theta)
    # Crossings of zero: two a period, over 1 / theta seconds of theta x 400 Hz.
    crossings = np.count_nonzero(np.signbit(out[1:]) != np.signbit(out[:-1]))
    assert crossings == pytest.approx(2 * 400, abs=3)
    click = np.zeros(rate, np.float32)
    click[rate // 4] = 0.5
    at = int(np.argmax(perturb(f"scale:theta={theta}", click, rate)))
    assert at / rate == pytest.approx(perturbation.map_time(0.25), abs=1 / rate)


@given(
    scenario=st.sampled_from(AEQUEVOX),
    count=st.integers(1, 1500),
    rate=st.sampled_from(RATES),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_clip_gives_finite_samples_of_the_declared_length_within_full_scale(scenario, count, rate, seed):
    samples = np.random.default_rng(seed).choice(np.array([-1, 1], np.float32), count)
    before = samples.copy()
    out = perturb(scenario, samples, rate)
    assert out.dtype == np.float32
    assert len(out) == parse_scenario(scenario).perturbation.length(count, rate)
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 1.0
    assert np.array_equal(samples, before)
    assert not np.shares_memory(out, samples)
    assert np.array_equal(out, perturb(scenario, samples, rate))
    assert not perturb(scenario, np.zeros(count, np.float32), rate).any()


@pytest.mark.parametrize("scenario", [s for s in AEQUEVOX if not s.startswith("scale")])
def test_nothing_else_moves_in_time(scenario):
    perturbation = parse_scenario(scenario).perturbation
    assert perturbation.map_time(1.25) == 1.25
    assert perturbation.length(12345, 16000) == 12345


def test_clipping_at_a_share_of_the_peak_does_not_depend_on_the_level():
    speech = np.sin(np.linspace(0.0, 60.0, 800)).astype(np.float32)
    plain, own = parse_scenario("clipping:theta=0.05"), parse_scenario("clipping_peak:theta=0.05")
    for level in (0.02, 0.5):
        clip = Audio(np.float32(level) * speech, 8000)
        peak = np.abs(clip.samples).max()
        heard = own.apply(clip, seed=0, utterance="u").samples
        assert np.abs(heard).max() == pytest.approx(0.05 * peak, rel=1e-5)
        assert plain.perturbation.leaves(clip.samples, 8000) == (level < 0.05)
    with pytest.raises(VoxauditError, match="theta must be above 0 and at most 1"):
        parse_scenario("clipping_peak:theta=1.5")


@pytest.mark.parametrize("kind", [float, np.float32, np.int64])
def test_numbers_of_numpy_are_held_to_the_same_ranges(kind):
    with pytest.raises(ValueError, match="theta must be from 0 to 50"):
        Drop(theta=kind(60))


@pytest.mark.parametrize(("scenario", "passes"), [("lp:theta=900", 100.0), ("hp:theta=500", 2000.0)])
def test_filters_without_a_delay_attenuate_twice_as_much_at_the_edge(scenario, passes):
    """A Butterworth filter has -3 dB at its frequency; forward and backward -6 dB, and no delay."""
    rate, time = 16000, np.arange(16000) / 16000
    edge = float(scenario.partition("=")[2])
    for frequency, once, twice in ((edge, -3.01, -6.02), (passes, 0.0, 0.0)):
        clip = Audio((0.5 * np.sin(2 * np.pi * frequency * time)).astype(np.float32), rate)
        for id_, expected in ((scenario, once), (f"{scenario},zero_phase=1", twice)):
            heard = parse_scenario(id_).apply(clip, seed=0, utterance="u").samples
            middle = slice(4000, 12000)
            power = np.mean(heard[middle] ** 2) / np.mean(clip.samples[middle] ** 2)
            assert 10 * np.log10(power) == pytest.approx(expected, abs=0.15), (id_, frequency)
    delayed, straight = (
        parse_scenario(id_).apply(clip, seed=0, utterance="u").samples[middle]
        for id_ in (scenario, f"{scenario},zero_phase=1")
    )
    exact = clip.samples[middle]
    assert np.abs(straight - exact).max() < np.abs(delayed - exact).max()
    with pytest.raises(VoxauditError, match="zero_phase is 0"):
        parse_scenario(f"{scenario},zero_phase=2")


def test_drop_takes_share_and_length_of_chunks():
    """Eq. 8: which share of the frames is lost, and how long a frame is, are free."""
    clip = Audio(np.ones(8000, np.float32), 8000)
    heard = parse_scenario("drop:theta=20,chunk=100").apply(clip, seed=1, utterance="u").samples
    lost = heard.reshape(10, 800) == 0.0
    assert lost.all(axis=1).sum() == lost.any(axis=1).sum() == 2
    default = parse_scenario("drop:theta=5").apply(clip, seed=1, utterance="u").samples
    same = parse_scenario("drop:theta=5,chunk=20").perturbation
    assert same == parse_scenario("drop:theta=5").perturbation
    assert (default == 0.0).sum() % 160 == 0
