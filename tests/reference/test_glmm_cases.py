"""Exact maximum-likelihood fits of real and synthetic data, with the tolerances of their README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from voxaudit import disparity
from voxaudit.audits.disparity.result import Disparity
from voxaudit.stats.cells import Cells, collapse
from voxaudit.stats.poisson_glmm import evaluate, fit_mixed
from voxaudit.stats.quadrature import gauss_hermite
from voxaudit.stats.regression import Settings, likelihood_ratio, regress, without_columns

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "glmm"
NAMED = {"errors": "response", "words": "exposure", "speaker": "speaker"}
NAMES = sorted(path.parent.name for path in CASES.glob("*/reference.json"))
pytestmark = pytest.mark.skipif(not NAMES, reason="the optional folder ../shared/reference/glmm is missing")


def load(case: str) -> tuple[dict[str, Any], pl.DataFrame]:
    reference = json.loads((CASES / case / "reference.json").read_text(encoding="utf-8"))
    return reference, pl.read_csv(CASES / case / reference["data"])


def one_of(case: str, *more: str) -> Any:
    """Return a parameter of a test; the case with most rows is among the slow checks."""
    return pytest.param(case, *more, marks=[pytest.mark.slow] if case == "t1_70_30" else [])


def models() -> list[Any]:
    return [one_of(case, model) for case in NAMES for model in load(case)[0]["models"]]


def expected(reference: dict[str, Any], model: str) -> dict[str, Any]:
    found = reference["models"][model]
    return dict(found["reference"] if reference["columns"]["speaker"] else found["glm"])


def factor_of(reference: dict[str, Any], model: str) -> str:
    """Return the column of the model's first term: the sensitive attribute."""
    return str(reference["models"][model]["terms"][0])


def audit(case: str, model: str) -> Disparity:
    reference, table = load(case)
    columns, terms = reference["columns"], reference["models"][model]["terms"]
    levels = reference["factors"].get(terms[0])
    detail = disparity(
        table,
        attribute=terms[0],
        columns={name: columns[key] for name, key in NAMED.items() if columns[key]},
        against=levels[0] if levels else "0",
        controls=terms[1:],
        random=columns["speaker"] is not None,
        interval="profile",
        nodes=25,
        resamples=4000,
    ).detail
    assert isinstance(detail, Disparity)
    return detail


def design(reference: dict[str, Any], table: pl.DataFrame, terms: list[str]) -> tuple[list[str], np.ndarray]:
    names, columns = ["(Intercept)"], [np.ones(table.height)]
    for term in terms:
        if term in reference["factors"]:
            for level in reference["factors"][term][1:]:
                names.append(term + level)
                columns.append((table[term] == level).to_numpy().astype(float))
        else:
            names.append(term)
            columns.append(table[term].to_numpy().astype(float))
    return names, np.column_stack(columns)


def cells_of(case: str, model: str) -> tuple[list[str], Cells, dict[str, Any]]:
    reference, table = load(case)
    columns = reference["columns"]
    table = table.filter(pl.col(columns["exposure"]) > 0)
    names, matrix = design(reference, table, reference["models"][model]["terms"])
    speaker = columns["speaker"]
    codes = (
        table[speaker].rank("dense").to_numpy().astype(int) - 1
        if speaker
        else np.zeros(table.height, dtype=int)
    )
    cells = collapse(
        table[columns["response"]].to_numpy(), table[columns["exposure"]].to_numpy(), codes, matrix
    )
    return names, cells, reference


@pytest.mark.slow
@pytest.mark.parametrize(("case", "model"), models())
def test_the_audit_gives_the_exact_fit(case: str, model: str) -> None:
    reference, _ = load(case)
    answer, fit = expected(reference, model), audit(case, model).fits[0]
    assert fit.utterances == reference["n_rows_used"]
    assert fit.speakers == reference["n_speakers"]
    assert fit.loglik == pytest.approx(answer["logLik"], abs=1e-6)
    if answer.get("boundary"):
        assert fit.sigma == 0.0
        assert "no_speaker_spread" in [note.code for note in fit.cautions]
    elif reference["columns"]["speaker"]:
        assert fit.sigma == pytest.approx(answer["sigma"], abs=1e-5)
        assert fit.se_log_sigma == pytest.approx(answer["se_log_sigma"], rel=1e-4)
        assert fit.sigma_lrt == pytest.approx(answer["lrt_sigma_chi2"], abs=1e-5)
    factor = factor_of(reference, model)
    numeric = factor not in reference["factors"]
    found = {c.term: (c.estimate, c.se) for c in fit.controls}
    found |= {factor if numeric else factor + e.group: (e.estimate, e.se) for e in fit.effects}
    assert set(found) == set(answer["coef"])
    for name, (estimate, se) in found.items():
        exact, error = answer["coef"][name], answer["se"][name]
        assert abs(estimate - exact) < min(1e-5 * (1 + abs(exact)), 1e-4 * error)
        assert se == pytest.approx(error, rel=1e-4)
    for mode in fit.modes if answer.get("conditional_modes") else ():
        assert mode.mode == pytest.approx(answer["conditional_modes"][mode.speaker], abs=1e-5)
        assert mode.sd == pytest.approx(answer["conditional_sd"][mode.speaker], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "model"), models())
def test_intervals_and_tests(case: str, model: str) -> None:
    reference, _ = load(case)
    answer, fit = expected(reference, model), audit(case, model).fits[0]
    factor = factor_of(reference, model)
    for effect in fit.effects:
        name = factor if factor not in reference["factors"] else factor + effect.group
        primary = answer.get("primary", {}).get(name)
        if primary is None:
            continue
        assert effect.wald is not None
        assert effect.profile is not None
        for interval, limits in (
            (effect.wald, primary["wald"]["ci95_ratio"]),
            (effect.profile, primary["profile"]["ci95_ratio"]),
        ):
            np.testing.assert_allclose([interval.low, interval.high], limits, rtol=1e-4)  # type: ignore[arg-type]
        assert effect.wald.p == pytest.approx(primary["wald"]["p"], rel=1e-3)
    tests = [test for test in reference["tests"] if test["full"] == model]
    assert tests
    for test in tests:
        chi2 = (test.get("reference") or test["glm"])["chi2"]
        if test["dropped"] == [factor]:
            assert fit.lrt is not None
            assert fit.lrt.df == test["df"]
            assert fit.lrt.chi2 == pytest.approx(chi2, abs=1e-5)
        else:
            names, cells, _ = cells_of(case, model)
            full = regress(cells, Settings(random=reference["columns"]["speaker"] is not None))
            columns = tuple(names.index(name) for name in test["dropped"])
            found = likelihood_ratio(full, without_columns(full, columns))
            assert found.chi2 == pytest.approx(chi2, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("case", [one_of(name) for name in NAMES])
def test_the_baseline_is_the_papers(case: str) -> None:
    reference, _ = load(case)
    model = next(iter(reference["models"]))
    baseline = reference["baseline_bootstrap_utterance_level"]
    if not baseline:
        pytest.skip("this case has more than two levels")
    raw = audit(case, model).fits[0].effects[0].baseline
    assert raw is not None
    assert raw.utterances is not None
    assert raw.ratio == pytest.approx(baseline["ratio"], rel=1e-9)
    low, high = baseline["ci95_percentile"]
    # Both ends of both intervals come from 4,000 draws.
    assert abs(raw.utterances.ci_low - low) < 0.05 * (high - low)
    assert abs(raw.utterances.ci_high - high) < 0.05 * (high - low)


@pytest.mark.parametrize(("case", "model"), models())
def test_every_number_of_nodes_gives_the_textbook_value(case: str, model: str) -> None:
    names, cells, reference = cells_of(case, model)
    answer = expected(reference, model)
    values = answer.get("logLik_of_K_node_AGHQ_at_this_point")
    if not values:
        pytest.skip("no random effect, or sigma on the boundary")
    beta = np.array([answer["coef"][name] for name in names])
    nothing = np.zeros(len(cells.errors))
    for nodes, value in values.items():
        state = evaluate(
            cells, cells.design, nothing, beta, float(np.log(answer["sigma"])), gauss_hermite(int(nodes))
        )
        assert state.loglik == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize(("case", "model"), models())
def test_closer_to_the_exact_fit_than_lme4s_default(case: str, model: str) -> None:
    names, cells, reference = cells_of(case, model)
    answer, others = expected(reference, model), reference["models"][model].get("lme4") or {}
    theirs = others.get("nAGQ10_default") or others.get("nAGQ1_default")
    if not theirs or "fixef" not in theirs or answer.get("boundary"):
        pytest.skip("lme4 has no such fit")
    fit = fit_mixed(cells)
    exact = np.array([answer["coef"][name] for name in names])
    error = np.array([answer["se"][name] for name in names])
    ours = np.abs(fit.coefficients - exact) / error
    other = np.abs(np.array([theirs["fixef"][name] for name in names]) - exact) / error
    assert ours.max() < other.max()
    assert ours.max() < 1e-7


def test_laplace_fits_agree_with_lme4s() -> None:
    """One node is a different likelihood with a different maximum; lme4's tight fit has it too."""
    names, cells, reference = cells_of("many_zeros", "a")
    theirs = reference["models"]["a"]["lme4"]["nAGQ1_tight"]
    fit = fit_mixed(cells, nodes=1)
    assert fit.nodes == 1
    np.testing.assert_allclose(fit.coefficients, [theirs["fixef"][name] for name in names], atol=1e-5)
    assert fit.sigma == pytest.approx(theirs["sigma"], abs=1e-5)
    assert abs(fit.sigma - expected(reference, "a")["sigma"]) > 1e-3
