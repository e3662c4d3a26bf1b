"""Speed, resample and pitch against torchaudio's own transforms, which SRB used, on real speech.

torchaudio runs in a Python of its own, named by VOXAUDIT_TORCH_PYTHON (else the one that runs the tests), which needs:
`pip install torch==2.13.0 numpy` and `pip install --no-deps torchaudio==2.11.0`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from voxaudit import audio
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.time_pitch import stretch

pytestmark = pytest.mark.slow

FILES = ["ravdess/audio/03-01-01-01-01-01-01.flac", "coraal/audio/DCB_se1_ag1_f_01_1_1015128_1020648.flac"]
REFERENCE = Path(__file__).with_name("torchaudio_reference.py")


@pytest.fixture(scope="module")
def python() -> str:
    python = os.environ.get("VOXAUDIT_TORCH_PYTHON", sys.executable)
    find = (
        "import importlib.util as u, sys; sys.exit(not (u.find_spec('torch') and u.find_spec('torchaudio')))"
    )
    if subprocess.run([python, "-c", find], check=False).returncode:
        pytest.skip(
            "torch and torchaudio are not installed; VOXAUDIT_TORCH_PYTHON can name a Python that has them"
        )
    return python


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.split("/")[0])
def speech_and_reference(request, python, shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("torchaudio")
    speech = audio.read(shared_data / request.param)
    # Where a recording is silent to the last bit, phases are what a processor's rounding makes of nothing, and the
    # vocoder adds them up: a noise nobody hears gives every bin a phase of its own.
    noise = np.random.default_rng(0).normal(0.0, 1e-4, len(speech.samples)).astype(np.float32)
    speech = replace(speech, samples=speech.samples + noise)
    np.savez(folder / "jobs.npz", samples=speech.samples, rate=speech.rate)
    subprocess.run([python, REFERENCE, folder / "jobs.npz", folder / "out.npz"], check=True)
    with np.load(folder / "out.npz") as arrays:
        return speech, dict(arrays)


def snr(reference: np.ndarray, ours: np.ndarray) -> float:
    """Return the ratio in dB: infinite where both are the same to the last bit, as on some processors they are."""
    reference = reference.astype(np.float64)
    noise = np.sum((ours - reference) ** 2)
    return float(10 * np.log10(np.sum(reference**2) / noise)) if noise else np.inf


def ours_and_seconds(scenario: str, speech: audio.Audio) -> tuple[np.ndarray, float]:
    perturbation = parse_scenario(scenario).perturbation
    generator = np.random.default_rng(0)
    perturbation(speech.samples, speech.rate, generator)
    start = time.process_time()
    out = perturbation(speech.samples, speech.rate, generator)
    return out, time.process_time() - start


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["speed_up", "speed_down"])
def test_speed(name, severity, speech_and_reference):
    speech, reference = speech_and_reference
    factor = parse_scenario(f"{name}:{severity}").perturbation.factor
    ours, _ = ours_and_seconds(f"{name}:{severity}", speech)
    assert len(ours) == len(reference[f"speed:{factor:g}"])
    assert snr(reference[f"speed:{factor:g}"], ours) > 125


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_resample(severity, speech_and_reference):
    speech, reference = speech_and_reference
    factor = parse_scenario(f"resample:{severity}").perturbation.factor
    ours, _ = ours_and_seconds(f"resample:{severity}", speech)
    # Down and up again, torchaudio's clip is longer by the rounding: a few samples at most.
    whole = reference[f"resample:{factor:g}"]
    assert 0 <= len(whole) - len(ours) < 1 / factor
    assert snr(whole[: len(ours)], ours) > 125


@pytest.mark.parametrize("steps", [3, 6, 9, 12, -3, -6, -9, -12])
def test_the_vocoder(steps, speech_and_reference):
    speech, reference = speech_and_reference
    ours = stretch(speech.samples, 2.0 ** (-steps / 12))
    assert len(ours) == len(reference[f"stretch:{steps}"])
    assert snr(reference[f"stretch:{steps}"], ours) > 125


@pytest.mark.parametrize("steps", [9, 12, -12])
def test_pitch(steps, speech_and_reference, record_property):
    speech, reference = speech_and_reference
    name = "pitch_up" if steps > 0 else "pitch_down"
    ours, seconds = ours_and_seconds(f"{name}:semitones={abs(steps)}", speech)
    assert len(ours) == len(reference[f"pitch:{steps}"])
    # As near as single precision comes: torchaudio adds up phases of 100,000 radians in it.
    assert snr(reference[f"pitch:{steps}"], ours) > 50
    record_property("times_torchaudio", float(reference[f"seconds:pitch:{steps}"]) / seconds)
