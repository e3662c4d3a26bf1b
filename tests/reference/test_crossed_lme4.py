"""Crossed effects of speakers and prompts against R's lme4 on 20 random sets; what it said is kept beside this."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import crossed_sets
from crossed_sets import KEPT, SETS, make_set

from voxaudit.stats.crossed_glmm import _Problem, fit_crossed

FITS = json.loads(KEPT.read_text(encoding="utf-8"))


def fit(seed):
    columns = make_set(seed)
    design = np.column_stack([np.ones(len(columns["x"])), columns["case"], columns["x"]])
    return fit_crossed(columns["errors"], columns["words"], design, columns["speaker"], columns["prompt"])


@pytest.mark.parametrize("seed", range(SETS))
def test_as_lme4_fits_it(seed):
    theirs, ours = FITS[seed], fit(seed)
    error = np.array(theirs["se"])
    # lme4's optimizer stops somewhere near; a better maximum is no mistake of ours.
    assert ours.loglik > theirs["loglik"][0] - 1e-5
    assert ours.loglik == pytest.approx(theirs["loglik"][0], abs=1e-3)
    assert (np.abs(ours.coefficients - theirs["coef"]) / error).max() < 2e-3
    assert ours.sigma == pytest.approx(theirs["sigma"][0], abs=2e-3)
    assert ours.prompt_sigma == pytest.approx(theirs["prompt_sigma"][0], abs=2e-3)
    assert ours.standard_errors == pytest.approx(error, rel=5e-3)


@pytest.mark.slow
def test_what_is_kept_is_what_lme4_says(tmp_path, monkeypatch):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    monkeypatch.setattr(crossed_sets, "KEPT", tmp_path / "kept.json")
    try:
        crossed_sets.main()
    except crossed_sets.subprocess.CalledProcessError:
        pytest.skip("R's lme4 is not installed")
    for kept, now in zip(FITS, json.loads((tmp_path / "kept.json").read_text()), strict=True):
        assert now["loglik"] == pytest.approx(kept["loglik"], abs=1e-4)


@pytest.mark.parametrize("dense", [True, False])
def test_the_gradient_is_that_of_the_likelihood(dense, monkeypatch):
    columns = make_set(3)
    monkeypatch.setattr("voxaudit.stats.crossed_glmm._CHUNK", 200)
    design = np.column_stack([np.ones(len(columns["x"])), columns["case"], columns["x"]])
    problem = _Problem(columns["errors"], columns["words"], design, columns["speaker"], columns["prompt"])
    problem.dense = dense
    at = problem.start() + 0.1
    gradient = problem.negative(at)[1]
    for place in range(len(at)):
        step = np.eye(len(at))[place] * 1e-4
        slope = (problem.negative(at + step)[0] - problem.negative(at - step)[0]) / 2e-4
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_speakers_and_prompts_are_alike_to_it():
    """Exchanging the two exchanges their spreads: whichever is more numerous is eliminated."""
    columns = make_set(1)
    design = np.column_stack([np.ones(len(columns["x"])), columns["x"]])
    one = fit_crossed(columns["errors"], columns["words"], design, columns["speaker"], columns["prompt"])
    other = fit_crossed(columns["errors"], columns["words"], design, columns["prompt"], columns["speaker"])
    assert (one.sigma, one.prompt_sigma) == pytest.approx((other.prompt_sigma, other.sigma), abs=1e-5)
    assert one.loglik == pytest.approx(other.loglik, abs=1e-6)
    assert len(one.speaker_modes) == len(other.prompt_modes)
