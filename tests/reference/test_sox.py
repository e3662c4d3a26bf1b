"""The effects of SoX, against the sox program on real speech."""

import shutil
import subprocess

import numpy as np
import pytest
import soundfile

from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("sox") is None, reason="the sox program is not installed"),
]

FULL_SCALE = 2.0**31

# Appendix A of Speech Robust Bench, as SoX takes it. Gain is torchaudio's `Vol` there, which is SoX's `vol`.
ARGUMENTS = {
    "gain": lambda p: ["vol", p.factor],
    "echo": lambda p: ["echo", 0.8, 0.9, p.delay, 0.3],
    "bass": lambda p: ["bass", p.gain],
    "treble": lambda p: ["treble", p.gain],
    "phaser": lambda p: ["phaser", 0.6, 0.8, 3, p.decay, 2, "-t"],
    "tempo_up": lambda p: ["tempo", p.factor, 30],
    "tempo_down": lambda p: ["tempo", p.factor, 30],
    "chorus": lambda p: (["chorus", 0.9, 0.9, p.delay, 0.4, 0.25, 2, "-t", p.delay + 10, 0.3, 0.4, 2, "-s"]),
    "tremolo": lambda p: ["tremolo", 20, p.depth],
    "lowpass": lambda p: ["sinc", f"0-{p.frequency}"],
    "highpass": lambda p: ["sinc", p.frequency],
}
SCENARIOS = [f"{name}:{severity}" for name in ARGUMENTS for severity in (1, 2, 3, 4)]


def sox(samples: np.ndarray, rate: int, arguments: list[object]) -> np.ndarray:
    """What the program makes of the samples, without dither and in 32 bits both ways."""
    raw = ["-t", "raw", "-e", "signed", "-b", "32"]
    scaled = np.rint(samples.astype(np.float64) * FULL_SCALE)
    done = subprocess.run(
        ["sox", "-V1", "-D", *raw, "-r", str(rate), "-c", "1", "-", *raw, "-", *map(str, arguments)],
        input=np.clip(scaled, -FULL_SCALE, FULL_SCALE - 1).astype("<i4").tobytes(),
        capture_output=True,
        check=True,
    )
    return np.frombuffer(done.stdout, "<i4") / FULL_SCALE


def snr_db(reference: np.ndarray, samples: np.ndarray) -> float:
    noise = np.sum((reference - samples) ** 2)
    return float(10 * np.log10(np.sum(reference**2) / noise)) if noise else np.inf


def assert_equals_sox(scenario: str, samples: np.ndarray, rate: int, least: float = 120.0) -> None:
    chosen = parse_scenario(scenario)
    ours = chosen.apply(Audio(samples, rate), seed=1, utterance="u").samples
    theirs = sox(samples, rate, ARGUMENTS[chosen.perturbation.name](chosen.perturbation))
    assert len(ours) == len(theirs)
    assert snr_db(theirs, ours) >= least


@pytest.fixture(scope="module")
def speech(shared_data):
    files = sorted((shared_data / "ravdess" / "audio").iterdir())[::16]
    files += sorted((shared_data / "coraal" / "audio").iterdir())[::14]
    return [soundfile.read(file, dtype="float32") for file in files]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_severity_equals_sox_on_real_speech(scenario, speech):
    for samples, rate in speech:
        assert_equals_sox(scenario, samples, rate)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_loud_speech_saturates_as_in_sox(scenario, speech):
    samples, rate = speech[-1]
    assert_equals_sox(scenario, np.clip(samples * (2.0 / np.abs(samples).max()), -1, 1), rate)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000])
@pytest.mark.parametrize("scenario", [scenario for scenario in SCENARIOS if scenario[-1] in "24"])
def test_other_rates_equal_sox(scenario, rate, speech):
    # The same samples played at another rate: every delay, period and filter differs. Louder, because a high-pass
    # leaves so little of them that the rounding of SoX's own samples would be heard.
    assert_equals_sox(scenario, 8 * speech[0][0], rate)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name != "gain"])
@pytest.mark.parametrize("count", [1, 2, 50, 407, 408, 480, 481, 1000])
def test_short_recordings_equal_sox(name, count):
    samples = np.random.default_rng(count).integers(-3000, 3000, count).astype(np.float32) / 32768
    assert_equals_sox(f"{name}:4", samples, 16000, least=110.0)
