"""Bounds on the noise: Eq. 1 and 2 by hand, and exactly, whatever the audio."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voxaudit
from voxaudit.recognize.attack.gradient import fit, measured, norm_of, radius


def test_the_equations_by_hand():
    x = np.array([0.3, -0.4], np.float32)
    assert norm_of(x, "l2") == pytest.approx(0.5)
    assert radius(x, 20.0) == pytest.approx(0.05)
    assert radius(x, 20.0, "linf") == pytest.approx(0.04)
    assert radius(x, 0.0) == pytest.approx(0.5)
    assert measured(x, np.array([0.3, -0.35], np.float32)) == pytest.approx(20.0, abs=1e-4)
    assert measured(x, x) is None
    assert measured(np.zeros(2, np.float32), x) is None


@given(
    snr=st.floats(-10, 120),
    size=st.integers(1, 300),
    level=st.floats(1e-6, 3.0),
    loud=st.floats(0.0, 100.0),
    norm=st.sampled_from(["l2", "linf"]),
    seed=st.integers(0, 1000),
)
def test_the_bound_holds_exactly_on_the_audio_that_comes_out(snr, size, level, loud, norm, seed):
    generator = np.random.default_rng(seed)
    x = (level * generator.standard_normal(size)).astype(np.float32)
    y = fit(x, loud * generator.standard_normal(size), snr, norm)
    noise = y.astype(np.float64) - x.astype(np.float64)
    assert y.dtype == np.float32
    assert norm_of(noise, norm) <= radius(x, snr, norm)
    at = measured(x, y, norm)
    assert at is None or at >= snr
    assert np.abs(y).max() <= max(1.0, np.abs(x).max())


def test_the_bound_is_used_up_where_the_noise_is_loud():
    generator = np.random.default_rng(0)
    x = (0.1 * generator.standard_normal(4000)).astype(np.float32)
    for norm in ("l2", "linf"):
        assert measured(x, fit(x, generator.standard_normal(4000), 20.0, norm), norm) == pytest.approx(
            20.0, abs=1e-3
        )


def test_silence_has_no_room_for_noise():
    x = np.zeros(10, np.float32)
    assert not fit(x, np.ones(10), 10.0).any()


def test_only_attacks_and_engines_know_torch_and_only_when_used():
    home = Path(voxaudit.__file__).parent
    named = {
        path
        for path in home.rglob("*.py")
        if re.search(r"import torch|import_module\(\"t", path.read_text("utf-8"))
    }
    assert {path.parent.relative_to(home).as_posix() for path in named} == {"recognize", "recognize/attack"}
    engines = [path.read_text("utf-8") for path in named if path.parent.name == "recognize"]
    assert not any(re.search(r"^(import torch|from torch)", text, re.MULTILINE) for text in engines)


def test_torch_is_imported_only_when_an_attack_runs():
    code = (
        "import sys, voxaudit.audits.attack.audit, voxaudit.recognize.attack.models;"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
