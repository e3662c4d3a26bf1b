import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import PERTURBATIONS, SUITES, parse_scenario, parse_scenarios
from voxaudit.perturb.suites import SLOTS
from voxaudit.process import python_command

SEVERITIES = [
    f"{name}:{n + 1}"
    for name in PERTURBATIONS.names()
    for n in range(len(PERTURBATIONS.load(name).severities))
]
PLAIN = ["telephone", "mulaw", "alaw", "silence"]
EVERY = [scenario.id for scenario in parse_scenarios([*SEVERITIES, *PLAIN, *SUITES]) if scenario.perturbation]


def speech(count: int = 4000, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (0.2 * np.convolve(generator.standard_normal(count), np.ones(8) / 8, "same")).astype(np.float32)


def apply(
    scenario: str, samples: np.ndarray, *, seed: int = 7, utterance: str = "u", rate: int = 16000
) -> np.ndarray:
    return parse_scenario(scenario).apply(Audio(samples, rate), seed=seed, utterance=utterance).samples


@given(snr=st.floats(-20, 60), count=st.integers(1, 3000))
def test_the_snr_asked_for_is_the_snr_measured(snr, count):
    samples = speech(count)
    noisy = apply(f"gaussian_noise:snr={snr}", samples)
    noise = noisy.astype(np.float64) - samples
    measured = 10 * np.log10(np.mean(samples.astype(np.float64) ** 2) / np.mean(noise**2))
    # Above 60 dB the rounding of float32 samples is itself audible in the measurement.
    assert abs(measured - snr) < 0.01


def test_gain_and_clipping_by_hand():
    samples = np.array([0.01, -0.05, 0.2], np.float32)
    assert np.allclose(apply("gain:1", samples), [0.1, -0.5, 1.0])
    assert np.allclose(apply("clipping:theta=0.03", samples), [0.01, -0.03, 0.03])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", EVERY)
def test_the_same_seed_gives_the_same_bits_and_the_input_is_left_alone(scenario):
    samples = speech()
    before = samples.copy()
    first = apply(scenario, samples)
    apply(scenario, speech(seed=9), utterance="another in between")
    assert first.dtype == np.float32
    assert np.array_equal(first, apply(scenario, samples))
    assert np.array_equal(samples, before)
    assert not np.shares_memory(first, samples)


@pytest.mark.parametrize("change", [{"seed": 8}, {"utterance": "v"}])
def test_another_seed_or_utterance_gives_other_noise(change):
    samples = speech()
    assert not np.array_equal(
        apply("gaussian_noise:3", samples), apply("gaussian_noise:3", samples, **change)
    )


def test_the_stream_is_pinned():
    # Transcripts are cached by scenario: a change of these values must come with a new `version`.
    noisy = apply("gaussian_noise:3", np.array([0.5, -0.5, 0.25, 0.0], np.float32))
    assert noisy == pytest.approx([0.42626745, -0.4573737, 0.3054695, 0.2142887], abs=1e-6)


@pytest.mark.parametrize("scenario", EVERY)
@pytest.mark.parametrize(
    "samples", [np.zeros(50, np.float32), np.array([0.3], np.float32)], ids=["silence", "one"]
)
def test_silence_stays_silence_and_one_sample_works(scenario, samples):
    out = apply(scenario, samples)
    perturbation = parse_scenario(scenario).perturbation
    assert len(out) == perturbation.length(len(samples), 16000)
    assert np.isfinite(out).all()
    # Noise alone is heard wherever nobody speaks.
    assert samples.any() or not perturbation.speech or not out.any()


@pytest.mark.slow
@pytest.mark.parametrize("scenario", EVERY)
@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_any_rate_works(scenario, rate):
    out = apply(scenario, speech(), rate=rate)
    assert len(out) == parse_scenario(scenario).perturbation.length(4000, rate)
    assert np.isfinite(out).all()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("clean", "clean"),
        ("gaussian_noise:3", "gaussian_noise:3"),
        (" gaussian_noise:snr=12.50 ", "gaussian_noise:snr=12.5"),
        ("clipping:theta=.03", "clipping:theta=0.03"),
    ],
)
def test_ids_are_canonical(text, canonical):
    assert parse_scenario(text).id == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gausian_noise:3", "Did you mean: gaussian_noise"),
        ("gaussian_noise", "write gaussian_noise:1 to gaussian_noise:4"),
        ("gaussian_noise:5", "write gaussian_noise:1 to gaussian_noise:4"),
        ("gaussian_noise:0", "write gaussian_noise:1"),
        ("gaussian_noise:loud", "write gaussian_noise:1"),
        ("gaussian_noise:srn=3", "no parameter 'srn'. Did you mean: snr"),
        ("gaussian_noise:snr=nan", "finite number"),
        ("gaussian_noise:snr=x", "finite number"),
        ("clipping:1", "write clipping:theta=VALUE"),
        ("clipping:theta=0", "theta must be above 0"),
        ("gaussian_noise:snr=-10000", "snr must be from -200 to 200 (dB)"),
        ("noise:theta=9999", "theta must be from -200 to 200 (dB)"),
        ("music:snr=-10000", "snr must be from -200 to 200 (dB)"),
        ("gain:factor=1e39", "factor must be from 0 to 1,000,000"),
        ("amp:theta=-1", "theta must be from 0 to 1,000,000"),
        ("gain:" + "1" * 5000, "write gain:1 to gain:4"),
        ("pgd:1", "scenario 'pgd:1' needs an attack"),
        ("accented", 'needs a corpus in that role: [[corpora]] with role = "accented"'),
        ("clean:1", "Unknown perturbation 'clean'"),
        ("", "Unknown perturbation ''"),
    ],
)
def test_bad_ids_are_one_clear_line(text, message):
    with pytest.raises(VoxauditError) as caught:
        parse_scenario(text)
    assert message in str(caught.value)


def test_a_misspelled_suite_is_told_from_a_perturbation():
    with pytest.raises(VoxauditError) as caught:
        parse_scenarios(["gain:1", "quik"])
    said = str(caught.value)
    assert said.startswith(
        "Unknown perturbation or suite 'quik'. Did you mean: quick? Suites: quick, srb, aequevox."
    )
    # One scenario is asked for: a suite would be none.
    with pytest.raises(VoxauditError, match="Unknown perturbation 'quick'"):
        parse_scenario("quick")


def test_suites_unfold_and_clean_comes_first_once():
    ids = [scenario.id for scenario in parse_scenarios(["quick", "clean", "gain:1", "gain:3"])]
    assert ids == ["clean", *SUITES["quick"].scenarios, "gain:3"]


def test_the_list_names_every_scenario_as_it_is_written(asked):
    tables = asked("list", "scenarios").tables
    listed = [row["scenario"] for rows in tables.values() for row in rows]
    assert len(set(listed)) == len(listed)
    assert {"clean", "silence", "mulaw", "telephone", "gsm:1", "clipping:theta=VALUE", *SLOTS} <= set(listed)
    for id_ in listed:
        if id_ not in SLOTS and "VALUE" not in id_:
            assert parse_scenario(id_).id == id_
    assert set(SUITES["srb"].scenarios) <= set(listed)


def test_only_random_perturbations_depend_on_seed_and_utterance():
    noise, gain = parse_scenario("gaussian_noise:1"), parse_scenario("gain:1")
    assert noise.fingerprint(seed=1, utterance="a") != noise.fingerprint(seed=2, utterance="a")
    assert noise.fingerprint(seed=1, utterance="a") != noise.fingerprint(seed=1, utterance="b")
    assert gain.fingerprint(seed=1, utterance="a") == gain.fingerprint(seed=2, utterance="b")


WITHOUT_FILTERS = """
import sys, numpy as np
from voxaudit.audio import Audio
from voxaudit.perturb import SUITES, parse_scenarios
for scenario in parse_scenarios(SUITES["quick"].scenarios):
    scenario.apply(Audio(np.ones(8000, np.float32), 16000), seed=0, utterance="u")
print(*(name for name in ("scipy.signal", "scipy.stats", "polars") if name in sys.modules))
"""


@pytest.mark.slow
def test_the_usual_suite_needs_none_of_the_slow_imports():
    said = subprocess.check_output(python_command(program=WITHOUT_FILTERS), text=True)
    assert said.split() == []
