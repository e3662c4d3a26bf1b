import pickle
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.sources import open_source
from voxaudit.perturb.sources.builtin import KINDS, TAKES, BuiltIn, make

NAMES = [
    *("environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
    *("music", "crosstalk"),
]


def speech(count=8000, rate=16000):
    time = np.arange(count) / rate
    return (0.2 * np.sin(2 * np.pi * 180 * time) * (1 + np.sin(2 * np.pi * 3 * time))).astype(np.float32)


def snr(before, after):
    noise = after.astype(np.float64) - before
    return 10 * np.log10(np.mean(before.astype(np.float64) ** 2) / np.mean(noise**2))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    asked=st.floats(-20, 50),
    count=st.integers(50, 6000),
    rate=st.sampled_from([8000, 16000]),
    utterance=st.text(max_size=4),
)
def test_the_snr_asked_for_is_the_snr_measured(name, asked, count, rate, utterance):
    audio = Audio(speech(count, rate), rate)
    scenario = parse_scenario(f"{name}:snr={asked}")
    heard = scenario.apply(audio, seed=1, utterance=utterance)
    assert len(heard.samples) == count
    assert np.isfinite(heard.samples).all()
    assert abs(snr(audio.samples, heard.samples) - asked) < 0.01
    achieved = scenario.achieved(audio, seed=1, utterance=utterance)
    assert achieved["snr_db"] == pytest.approx(snr(audio.samples, heard.samples), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_other_rates_and_one_sample_work(name, rate):
    scenario = parse_scenario(f"{name}:4")
    for count in (1, 2, 3000):
        heard = scenario.apply(Audio(speech(count + 1, rate)[1:], rate), seed=3, utterance="u")
        assert len(heard.samples) == count
        assert abs(snr(speech(count + 1, rate)[1:], heard.samples)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_built_in_clip_is_sound_and_differs_from_its_other_takes(kind):
    clips = [make(kind, take, 8000) for take in range(TAKES)]
    for clip in clips:
        assert np.isfinite(clip).all()
        assert np.sqrt(np.mean(clip.astype(np.float64) ** 2)) == pytest.approx(1.0, abs=1e-3)
        # No second of it is silent: any stretch of a few seconds carries noise.
        assert min(np.abs(second).max() for second in clip.reshape(10, -1)) > 0.01
    assert np.array_equal(clips[0], make(kind, 0, 8000))
    assert len({clip.tobytes() for clip in clips}) == TAKES


@pytest.mark.slow
def test_the_built_in_sets_differ_by_perturbation():
    sources = {name: parse_scenario(f"{name}:1").perturbation.source for name in NAMES}
    assert all(isinstance(source, BuiltIn) for source in sources.values())
    assert len({source.fingerprint() for source in sources.values()}) == len(NAMES)
    samples = speech()
    heard = {
        parse_scenario(f"{name}:snr=5").apply(Audio(samples, 16000), seed=1, utterance="u").samples.tobytes()
        for name in NAMES
    }
    assert len(heard) == len(NAMES)


@pytest.mark.slow
def test_another_utterance_or_seed_hears_another_noise_and_order_does_not_matter():
    audio = Audio(speech(), 16000)
    scenario = parse_scenario("environment_wham:4")
    first = [scenario.apply(audio, seed=5, utterance=f"u{n}").samples for n in range(20)]
    again = [scenario.apply(audio, seed=5, utterance=f"u{n}").samples for n in reversed(range(20))]
    for one, other in zip(first, reversed(again), strict=True):
        assert np.array_equal(one, other)
    assert len({one.tobytes() for one in first}) == 20
    assert not np.array_equal(first[0], scenario.apply(audio, seed=6, utterance="u0").samples)


SCRIPT = """
import hashlib, pickle, sys
import numpy as np
from voxaudit.audio import Audio
scenarios = pickle.load(sys.stdin.buffer)
audio = Audio(np.linspace(-0.5, 0.5, 4000, dtype=np.float32), 16000)
print(*[hashlib.sha256(s.apply(audio, seed=2, utterance="u").samples.tobytes()).hexdigest() for s in scenarios])
print("polars" in sys.modules)
"""


@pytest.mark.slow
def test_another_process_hears_the_same_bits_and_needs_no_tables(noise_folder):
    import hashlib

    sources = {"environment_esc50": open_source("environment_esc50", noise_folder)}
    scenarios = [
        parse_scenario(f"{name}:3", sources) for name in (*NAMES, "rir", "real_rir") if name != "crosstalk"
    ]
    audio = Audio(np.linspace(-0.5, 0.5, 4000, dtype=np.float32), 16000)
    here = [
        hashlib.sha256(scenario.apply(audio, seed=2, utterance="u").samples.tobytes()).hexdigest()
        for scenario in reversed(scenarios)
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=pickle.dumps(scenarios), capture_output=True, check=True
    )
    there, polars = done.stdout.decode().strip().split("\n")
    assert there.split() == here[::-1]
    assert polars == "False"


@pytest.fixture
def noise_folder(tmp_path):
    folder = tmp_path / "noise"
    folder.mkdir()
    generator = np.random.default_rng(3)
    for number in range(4):
        samples = 0.1 * generator.standard_normal(3000 + 1000 * number)
        soundfile.write(folder / f"{number}.wav", samples, 8000, subtype="FLOAT")
    return folder


def test_sources_are_part_of_a_trials_identity_but_no_parameter(noise_folder):
    sources = {"environment_esc50": open_source("environment_esc50", noise_folder)}
    own, built_in = parse_scenario("environment_esc50:2", sources), parse_scenario("environment_esc50:2")
    assert own.id == built_in.id == "environment_esc50:2"
    assert own.fingerprint(seed=1, utterance="u") != built_in.fingerprint(seed=1, utterance="u")
    assert str(noise_folder) not in own.fingerprint(seed=1, utterance="u")
    with pytest.raises(Exception, match="has no parameter 'source'"):
        parse_scenario("environment_esc50:source=1")
    with pytest.raises(Exception, match=r"environment_esc50:snr=VALUE$"):
        parse_scenario("environment_esc50")


def test_real_noise_at_the_snr_asked_for(shared_data):
    folder = shared_data / "esc50"
    if not folder.is_dir():
        pytest.skip("no real noise here: the optional folder ../shared/data/esc50 is missing")
    source = open_source("environment_esc50", folder)
    assert source.describe().startswith("ESC-50 in ")
    audio = Audio(speech(100000), 16000)
    for severity, asked in ((1, 30.0), (4, 0.0)):
        scenario = parse_scenario(f"environment_esc50:{severity}", {"environment_esc50": source})
        for number in range(40):
            # Many of these clips are a short sound and padding: none may come out as silence or mere hiss.
            heard = scenario.apply(audio, seed=number, utterance="u")
            assert abs(snr(audio.samples, heard.samples) - asked) < 0.01
