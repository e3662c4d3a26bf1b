"""DNSMOS without the reference package: cutting a model, windows, features, and what cannot be scored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.recognize.files import package_folder
from voxaudit.score.quality.dnsmos import (
    LENGTH,
    RATE,
    band_levels,
    cut,
    repeat_short,
    window_features,
    window_hops,
)


@pytest.fixture(scope="module")
def models():
    pytest.importorskip("onnxruntime")
    if package_folder("speechmos") is None:
        pytest.skip("speechmos is not installed")
    from voxaudit.score.quality import load_dnsmos

    return load_dnsmos("every")


def noise(seconds: float, rate: int = RATE, seed: int = 0) -> Audio:
    samples = np.random.default_rng(seed).standard_normal(round(seconds * rate)) * 0.05
    return Audio(samples.astype(np.float32), rate)


def by_package(length: int) -> list[int]:
    """The package's loop over slices, as its source does the arithmetic."""
    slices = {
        hop: slice(hop * RATE, int((hop + 9.01) * RATE)) for hop in range(int(length // RATE - 9.01) + 1)
    }
    return [hop for hop, part in slices.items() if len(range(*part.indices(length))) >= int(9.01 * RATE)]


@given(st.integers(LENGTH, 200 * RATE))
def test_the_speechmos_rule_keeps_the_windows_that_the_package_keeps(length):
    assert window_hops(length, "speechmos") == by_package(length)


def test_thirty_seconds_have_21_windows_of_which_the_package_scores_seven():
    assert window_hops(30 * RATE) == list(range(21))
    assert window_hops(30 * RATE, "speechmos") == list(range(7))


@given(st.integers(LENGTH, 200 * RATE))
def test_every_window_lies_inside_the_recording(length):
    hops = window_hops(length)
    assert hops == list(range(len(hops)))
    assert hops[-1] * RATE + LENGTH <= length
    assert window_hops(length, "speechmos") == hops or length >= 17 * RATE


@given(st.integers(1, LENGTH + 10))
def test_short_recordings_are_doubled_until_they_fill_a_window(length):
    samples = np.arange(length, dtype=np.float32)
    filled = repeat_short(samples)
    expected = samples
    while len(expected) < LENGTH:
        expected = np.append(expected, expected)
    assert np.array_equal(filled, expected)


def test_nothing_and_unknown_rules_are_refused():
    with pytest.raises(VoxauditError, match="no samples"):
        repeat_short(np.zeros(0, np.float32))
    with pytest.raises(VoxauditError, match="Did you mean: every"):
        window_hops(LENGTH, "evry")


def test_a_tone_is_loudest_in_the_band_at_its_frequency():
    time = np.arange(16_000) / RATE
    levels = band_levels(np.sin(2 * np.pi * 1000.0 * time).astype(np.float32), 0, 100)
    # 1 kHz is mel 15 of 45.245, so between edges 40 and 41 of 121 steps.
    assert set(levels[10:90].argmax(axis=1)) <= {39, 40}
    assert levels[10:90].max() - np.median(levels[10:90]) > 40.0


def test_frames_do_not_depend_on_where_counting_starts():
    samples = noise(1.0).samples
    assert np.allclose(band_levels(samples, 0, 80)[20:], band_levels(samples, 20, 60), atol=1e-4)


def test_features_run_from_one_down_to_minus_one():
    features = window_features(np.array([[0.0, -30.0], [-79.0, -200.0]], np.float32))
    assert np.allclose(features, [[1.0, 0.25], [-0.975, -1.0]])


def test_a_cut_model_computes_what_the_whole_computes(models):
    import onnxruntime

    whole = onnxruntime.InferenceSession(str(models.folder / "sig_bak_ovr.onnx"))
    audio = noise(9.01)
    expected = whole.run(None, {"input_1": audio.samples[np.newaxis]})[0]
    assert np.allclose(models._score_group(audio.samples, [0]), expected, atol=1e-5)


def test_a_model_without_the_value_asked_for_is_refused(models):
    model = (models.folder / "model_v8.onnx").read_bytes()
    with pytest.raises(VoxauditError, match="nothing in it makes 'nowhere'"):
        cut(model, {"input_1": ("n", 900, 120)}, "nowhere", (1,))
    with pytest.raises(VoxauditError, match="not an ONNX model"):
        cut(model[: len(model) // 2], {"input_1": ("n", 900, 120)}, "Identity:0", (1,))


def test_shared_windows_score_as_windows_on_their_own(models):
    audio = noise(11.2)
    alone = np.concatenate(
        [models._score_group(audio.samples[hop * RATE : hop * RATE + LENGTH], [0]) for hop in (0, 1)]
    )
    assert np.allclose(models._score_group(audio.samples, [0, 1]), alone, atol=1e-5)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_other_rates_are_resampled(models, rate):
    time = np.arange(rate) / rate
    audio = Audio((0.3 * np.sin(2 * np.pi * 300 * time)).astype(np.float32), rate)
    here = Audio((0.3 * np.sin(2 * np.pi * 300 * np.arange(RATE) / RATE)).astype(np.float32), RATE)
    assert models.p808(audio) == pytest.approx(models.p808(here), abs=0.2)


def test_one_sample_is_repeated_and_scored(models):
    assert 0.5 < models.p808(Audio(np.array([0.1], np.float32), RATE)) < 5.5


def test_full_scale_saturates_and_nan_is_refused(models):
    loud = noise(1.0)
    loud = Audio(loud.samples * 40, RATE)
    clipped = Audio(np.clip(loud.samples, -1, 1), RATE)
    assert models.p808(loud) == models.p808(clipped)
    with pytest.raises(VoxauditError, match="NaN"):
        models.p808(Audio(np.array([0.1, np.nan], np.float32), RATE))
