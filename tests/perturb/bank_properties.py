"""What holds of every effect, filter and tempo, for whatever audio: shared by their tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario

RATES = st.sampled_from([8000, 11025, 16000, 44100, 48000])
LEVELS = st.sampled_from([0.001, 0.1, 1.0])
SEEDS = st.integers(0, 99)


def apply(scenario, samples, rate=16000):
    return parse_scenario(scenario).apply(Audio(samples, rate), seed=1, utterance="u").samples


def check_audio(scenario, count, rate, level, seed):
    """Finite, within full scale, as long as declared, the same every time, and the input left alone."""
    samples = np.random.default_rng(seed).uniform(-level, level, count).astype(np.float32)
    before = samples.copy()
    out = apply(scenario, samples, rate)
    assert out.dtype == np.float32
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 1.0
    assert len(out) == parse_scenario(scenario).perturbation.length(count, rate)
    assert np.array_equal(out, apply(scenario, samples, rate))
    assert np.array_equal(samples, before)
    assert not np.shares_memory(out, samples)
    return out
