import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.acoustics import decay_curve, measure_drr, measure_rt60, reverberate, srmr
from voxaudit.perturb.sources import open_source
from voxaudit.perturb.sources.builtin import talker
from voxaudit.perturb.sources.responses import (
    HALLS,
    Room,
    hall_response,
    image_response,
    pick,
    probe_srmr,
    random_room,
    room_response,
)

RATE = 16000


def generator(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


def exponential(rt60, rate=RATE, seconds=None, seed=1):
    time = np.arange(int((seconds or 1.3 * rt60) * rate)) / rate
    return generator(seed).standard_normal(len(time)) * 10 ** (-3 * time / rt60)


def speech(seconds=2.0, rate=RATE):
    return (0.1 * talker(int(seconds * rate), rate, generator(4))).astype(np.float32)


# Measuring.


@pytest.mark.parametrize("rt60", [0.15, 0.5, 1.5])
def test_the_decay_of_an_exponential_is_its_rt60(rt60):
    time = np.arange(int(1.3 * rt60 * RATE)) / RATE
    smooth = 10 ** (-3 * time / rt60)
    assert measure_rt60(smooth, RATE) == pytest.approx(rt60, rel=0.01)
    assert measure_rt60(exponential(rt60), RATE) == pytest.approx(rt60, rel=0.06)


def test_the_noise_of_a_recording_does_not_lengthen_its_reverberation():
    response = exponential(0.5, seconds=2.0)
    noisy = response + 0.003 * generator(2).standard_normal(len(response))  # 50 dB below the peak
    assert measure_rt60(noisy, RATE) == pytest.approx(0.5, rel=0.1)


def test_what_is_too_short_has_no_rt60():
    assert np.isnan(measure_rt60(np.array([1.0, 0.5]), RATE))
    assert np.isnan(measure_rt60(exponential(3.0, seconds=0.2), RATE))


def test_direct_to_reverberant_ratio_by_hand():
    response = np.zeros(1000)
    response[0], response[500] = 2.0, 1.0
    assert measure_drr(response, RATE) == pytest.approx(10 * np.log10(4))
    assert decay_curve(response)[499] == pytest.approx(10 * np.log10(1 / 5))


# Simulating.


@settings(max_examples=40, deadline=None)
@given(rt60=st.floats(0.15, 2.0), seed=st.integers(0, 10**6), rate=st.sampled_from([8000, 16000, 48000]))
def test_every_room_has_the_rt60_asked_for(rt60, seed, rate):
    room = random_room(rt60, generator(seed))
    response = room_response(room, rate, generator(seed))
    assert measure_rt60(response, rate) == pytest.approx(rt60, rel=0.03)
    # The direct sound comes first, in place, and nothing is louder.
    assert abs(response[0]) == pytest.approx(1.0, abs=0.35)
    assert room.distance >= 0.5


def test_images_by_hand():
    # Talker in the middle of a cube, microphone a meter to the right.
    room = Room((4.0, 4.0, 4.0), (2.0, 2.0, 2.0), (3.0, 2.0, 2.0), 0.5)
    rate = 343000  # a millimeter a sample
    response = image_response(room, rate, 0.012)
    wall = room.reflection
    # By the right wall 3 m; by floor, ceiling, front and back sqrt(17) m; by the left wall, or by the right wall
    # and one of the four, 5 m.
    paths = {3.0: wall, np.sqrt(17.0): 4 * wall, 5.0: wall + 4 * wall**2}
    for path, level_at_one_meter in paths.items():
        place = round((path - 1.0) / 343.0 * rate)
        level = level_at_one_meter / path
        assert response[place - 3 : place + 4].sum() == pytest.approx(level, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_noise_takes_over_at_the_level_of_the_images_it_replaces(seed):
    # A cube, where the field is diffuse enough for images and Eyring to agree on the decay.
    place = generator(seed).uniform(1.0, 4.0, (2, 3))
    room = Room((5.0, 5.1, 4.9), tuple(place[0]), tuple(place[1]), 0.4)
    images = image_response(room, RATE, 0.3)
    hybrid = np.mean([room_response(room, RATE, generator(n))[: len(images)] ** 2 for n in range(20)], axis=0)
    for start, end in ((0.03, 0.06), (0.06, 0.1), (0.1, 0.15)):
        part = slice(int(start * RATE), int(end * RATE))
        assert abs(10 * np.log10(hybrid[part].sum() / (images[part] ** 2).sum())) < 2.5


def test_pyroomacoustics_measures_the_same():
    pyroomacoustics = pytest.importorskip("pyroomacoustics", reason="pyroomacoustics is not installed")
    for rt60 in (0.27, 0.58, 0.99, 1.33):
        response = room_response(random_room(rt60, generator()), RATE, generator())
        theirs = pyroomacoustics.experimental.rt60.measure_rt60(response, fs=RATE, decay_db=30)
        assert theirs == pytest.approx(rt60, rel=0.03)


# Hearing.


def test_reverberation_keeps_length_level_and_timing():
    samples = np.zeros(8000, np.float32)
    samples[3000] = 0.5
    for severity in (1, 2, 3, 4):
        heard = parse_scenario(f"rir:{severity}").apply(Audio(samples, RATE), seed=1, utterance="u").samples
        assert len(heard) == len(samples)
        assert np.sum(heard.astype(np.float64) ** 2) == pytest.approx(0.25, rel=1e-5)
        assert not heard[:2999].any() or np.abs(heard[:2999]).max() < 1e-6
        assert abs(heard[3000]) > 0.05
        assert np.abs(heard[3100:]).max() > 1e-4


def test_convolution_equals_the_sum_it_stands_for():
    samples = generator().standard_normal(50).astype(np.float32)
    response = np.array([1.0, 0.0, -0.5])
    expected = np.convolve(samples, response)[:50]
    expected *= np.sqrt(np.sum(samples.astype(float) ** 2) / np.sum(expected**2))
    assert reverberate(samples, response) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scenario", ["rir:1", "rir:4", "real_rir:1", "real_rir:4"])
@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_any_rate_and_length_works(scenario, rate):
    for samples in (np.array([0.3], np.float32), np.zeros(100, np.float32), speech(0.3, rate)):
        heard = parse_scenario(scenario).apply(Audio(samples, rate), seed=1, utterance="u").samples
        assert len(heard) == len(samples)
        assert np.isfinite(heard).all()
        assert samples.any() == heard.any()


@pytest.mark.slow
def test_achieved_says_what_was_measured():
    audio = Audio(speech(), RATE)
    for severity, asked in ((1, 0.27), (2, 0.58), (3, 0.99), (4, 1.33)):
        achieved = parse_scenario(f"rir:{severity}").achieved(audio, seed=1, utterance="u")
        assert achieved["rt60_s"] == pytest.approx(asked, rel=0.03)
        assert "drr_db" in achieved
    ratios = [
        np.mean(
            [parse_scenario(f"real_rir:{n}").achieved(audio, seed=s, utterance="u")["srmr"] for s in range(5)]
        )
        for n in (1, 2, 3, 4)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 2 * ratios[3]


@pytest.mark.parametrize("text", ["rir:rt60=0.01", "rir:rt60=60", "real_rir:srmr=0"])
def test_impossible_rooms_are_one_line(text):
    with pytest.raises(VoxauditError, match=r"must be from 0\.1"):
        parse_scenario(text)


# SRMR and the rooms chosen by it.


def test_srmr_falls_with_reverberation_and_silence_has_none():
    samples = speech(3.0)
    rooms = [np.r_[1.0, 0.05 * exponential(rt60)] for rt60 in (0.2, 0.5, 1.0, 2.0)]
    values = [srmr(samples, RATE), *(srmr(reverberate(samples, room), RATE) for room in rooms)]
    assert values == sorted(values, reverse=True)
    assert values[0] / values[-1] > 3
    assert np.isnan(srmr(np.zeros(RATE, np.float32), RATE))
    assert np.isfinite(srmr(samples[8000:8100], RATE))
    assert srmr(3.0 * samples, RATE) == pytest.approx(values[0], rel=1e-4)


def test_srmr_of_known_modulations():
    # A tone whose level moves at 8 Hz is all speech, at 80 Hz all reverberation.
    time = np.arange(3 * RATE) / RATE
    carrier = np.sin(2 * np.pi * 1000 * time)
    slow = carrier * (1 + 0.9 * np.sin(2 * np.pi * 8 * time))
    fast = carrier * (1 + 0.9 * np.sin(2 * np.pi * 80 * time))
    assert srmr(slow, RATE) > 10 > 0.3 > srmr(fast, RATE)


@pytest.mark.parametrize("number", [0, 7, 19, 33, 47])
def test_the_table_of_halls_is_what_is_measured(number):
    response = hall_response(number, RATE).astype(np.float64)
    assert probe_srmr(response) == pytest.approx(HALLS[number].srmr, abs=0.02)
    # The direct sound alone: a reflection may fall into the first 2.5 ms that count as direct.
    ratio = 10 * np.log10(response[0] ** 2 / np.sum(response[1:] ** 2))
    assert ratio == pytest.approx(HALLS[number].drr, abs=0.01)


def test_halls_cover_the_severities_and_their_tails_lose_the_highs_first():
    for asked in (9.1, 7.1, 4.1, 1.8):
        assert sum(abs(np.log(hall.srmr / asked)) < np.log(1.15) for hall in HALLS) >= 4
    response = hall_response(10, RATE)
    early, late = (
        np.abs(np.fft.rfft(part)) ** 2 for part in np.split(response[: 2 * (len(response) // 4)], 2)
    )
    tilt = [part[len(part) // 2 :].sum() / part[: len(part) // 8].sum() for part in (early, late)]
    assert tilt[1] < 0.5 * tilt[0]


def test_near_responses_are_drawn_and_where_there_are_few_the_nearest():
    values = (1.0, 1.1, 5.0, 2.0, 0.95, 1.05, 0.9, 1.14)
    assert {pick(values, 1.0, generator(seed)) for seed in range(100)} == {0, 1, 4, 5, 6, 7}
    assert {pick(values, 50.0, generator(seed)) for seed in range(100)} == {2, 3, 7, 1}


@pytest.fixture
def rooms(tmp_path):
    for number, rt60 in enumerate((0.2, 0.2, 0.2, 0.2, 1.0, 1.0, 1.0, 1.0)):
        response = np.concatenate([np.zeros(300), [1.0], 0.1 * exponential(rt60, seed=number)])
        # A second channel, later and upside down: only the first may count.
        other = np.concatenate([np.zeros(40), -response[:-40]])
        folder = tmp_path / "RIRS_NOISES/real_rirs_isotropic_noises"
        folder.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / f"rir_{number}.wav", np.stack([response, other], 1), RATE, subtype="FLOAT")
        soundfile.write(folder / f"noise_{number}.wav", exponential(9.0, seconds=0.2), RATE)
    return tmp_path / "RIRS_NOISES"


@pytest.mark.slow
def test_recorded_rooms_are_chosen_by_their_measured_reverberation(rooms):
    source = open_source("real_rir", rooms)
    assert "RIRS_NOISES in" in source.describe()
    assert "8 responses, SRMR" in source.describe()
    dry, wet = max(source.values), min(source.values)
    audio = Audio(speech(), RATE)
    for asked, rt60 in ((dry, 0.2), (wet, 1.0)):
        scenario = parse_scenario(f"real_rir:srmr={asked:.6g}", {"real_rir": source})
        for seed in range(5):
            achieved = scenario.achieved(audio, seed=seed, utterance="u")
            assert achieved["rt60_s"] == pytest.approx(rt60, rel=0.1)
    by_rt60 = open_source("rir", rooms / "real_rirs_isotropic_noises")
    assert "RT60" in by_rt60.describe()
    click = np.zeros(RATE, np.float32)
    click[100] = 1.0
    heard = parse_scenario("rir:3", {"rir": by_rt60}).apply(Audio(click, RATE), seed=1, utterance="u").samples
    assert int(np.argmax(np.abs(heard))) == 100  # the 300 samples before the direct sound are gone


def test_a_folder_without_responses_is_one_line(tmp_path):
    (tmp_path / "x.wav").write_bytes(b"nothing")
    with pytest.raises(VoxauditError, match=r"none of the 1 audio files can be used \(1 unreadable\)"):
        open_source("rir", tmp_path)
