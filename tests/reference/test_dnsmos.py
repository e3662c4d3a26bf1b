"""DNSMOS and PESQ against their reference packages, on people's recordings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from voxaudit import audio
from voxaudit.audio import Audio
from voxaudit.recognize.files import installed, package_folder
from voxaudit.score.quality import load_dnsmos, pesq_score

pytestmark = pytest.mark.skipif(
    not (installed("onnxruntime") and installed("speechmos")), reason="voxaudit[quality] is not installed"
)

# (P.808, overall, signal, background) by `speechmos.dnsmos.run` 0.0.1.1 with librosa 0.11.0, audio at 16 kHz.
BY_PACKAGE = {
    "ravdess/audio/03-01-01-01-01-01-01.flac": (4.00860, 3.00571, 3.37488, 4.12158),
    "ravdess/audio/03-01-02-01-01-01-07.flac": (3.83285, 2.87314, 3.24924, 4.14568),
    "coraal/audio/DCB_se1_ag1_f_01_1_1015128_1020648.flac": (3.33934, 2.52424, 3.03194, 3.57330),
    "coraal/audio/DCB_se2_ag3_f_01_1_2505520_2510763.flac": (3.08858, 2.33500, 3.26174, 2.63383),
    "coraal/audio/PRV_se0_ag3_f_04_1_1272973_1279153.flac": (3.18084, 3.11310, 3.42614, 4.05126),
}
HALF_A_MINUTE = (3.61726, 2.91316, 3.34475, 3.94658)


def scores(clip: Audio, rule: str = "speechmos") -> tuple[float, ...]:
    models = load_dnsmos(rule)
    p835 = models.p835(clip)
    return models.p808(clip), p835.overall, p835.signal, p835.background


def half_a_minute(shared_data) -> Audio:
    files = sorted((shared_data / "coraal" / "audio").glob("*.flac"))[:8]
    joined = np.concatenate([audio.read(file, rate=16_000).samples for file in files])
    return Audio(joined[: 30 * 16_000], 16_000)


@pytest.mark.parametrize("name", BY_PACKAGE)
def test_dnsmos_equals_the_package(shared_data, name):
    assert scores(audio.read(shared_data / name)) == pytest.approx(BY_PACKAGE[name], abs=1e-4)


def test_dnsmos_of_a_long_recording_equals_the_package_by_its_rule_only(shared_data):
    clip = half_a_minute(shared_data)
    assert scores(clip) == pytest.approx(HALF_A_MINUTE, abs=1e-4)
    # The package hears 7 of 21 windows.
    assert abs(load_dnsmos("every").p808(clip) - HALF_A_MINUTE[0]) > 0.01


@pytest.mark.slow
def test_dnsmos_equals_the_installed_package_on_many_recordings(shared_data):
    pytest.importorskip("librosa")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from speechmos.dnsmos import DNSMOS

        folder = package_folder("speechmos") / "dnsmos_models"
        package = DNSMOS(str(folder / "sig_bak_ovr.onnx"), str(folder / "model_v8.onnx"))
        for corpus in ("ravdess", "coraal"):
            for file in sorted((shared_data / corpus / "audio").glob("*.flac"))[::24]:
                clip = audio.read(file, rate=16_000)
                expected = package(clip.samples, 16_000, False)
                names = ("p808_mos", "ovrl_mos", "sig_mos", "bak_mos")
                assert scores(clip) == pytest.approx([float(expected[name]) for name in names], abs=0.001), (
                    file
                )


def test_pesq_equals_the_package(shared_data):
    package = pytest.importorskip("pesq")
    generator = np.random.default_rng(0)
    for name in list(BY_PACKAGE)[:4]:
        clip = audio.read(shared_data / name, rate=16_000)
        noisy = clip.samples + 0.02 * generator.standard_normal(len(clip.samples)).astype(np.float32)
        slow = np.repeat(clip.samples, 2)  # another length: the package aligns as well as it can
        for heard in (noisy, slow):
            assert pesq_score(clip, Audio(heard, 16_000)) == package.pesq(16_000, clip.samples, heard, "wb")
