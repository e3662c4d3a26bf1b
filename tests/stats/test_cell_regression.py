"""Regression from cells equals regression on speakers, with HC3 and cluster-robust errors computed the long way."""

import numpy as np
import pytest

from voxaudit.stats.cell_regression import estimable_columns, fit_cells, prepare_cells, wald


def study(seed=0, people=60):
    """Return a design, rates of speakers, and their cells."""
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 2, people), generator.integers(0, 3, people)
    design = np.column_stack([np.ones(people), a, b == 1, b == 2]).astype(float)
    rate = 0.2 + 0.1 * a + generator.gamma(2, 0.05 * (1 + b), people)
    return design, rate


def fit_speakers(design, rate):
    rows, n, mean, m2 = cells_of(design, rate)
    return fit_cells(prepare_cells(rows, n), mean, m2)


def cells_of(design, rate):
    rows, member = np.unique(design, axis=0, return_inverse=True)
    member = member.reshape(-1)
    n = np.bincount(member).astype(float)
    mean = np.bincount(member, rate) / n
    return rows, n, mean, np.bincount(member, (rate - mean[member]) ** 2)


def long_way(design, rate, cluster):
    """OLS with the CR3 sandwich: residuals of a cluster are divided by I - H of the cluster."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ rate
    residual = rate - design @ coefficients
    meat = np.zeros_like(inverse)
    for name in np.unique(cluster):
        part = design[cluster == name]
        raised = np.linalg.solve(np.eye(len(part)) - part @ inverse @ part.T, residual[cluster == name])
        score = part.T @ raised
        meat += np.outer(score, score)
    return coefficients, inverse @ meat @ inverse


def test_cells_carry_everything():
    design, rate = study()
    fit = fit_speakers(design, rate)
    coefficients, covariance = long_way(design, rate, np.arange(len(rate)))
    np.testing.assert_allclose(fit.coefficients, coefficients, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-9)
    assert fit.df == 56
    assert not fit.single.any()


def test_statsmodels_hc3():
    module = pytest.importorskip("statsmodels.api")
    design, rate = study(3)
    theirs = module.OLS(rate, design).fit(cov_type="HC3", use_t=True)
    fit = fit_speakers(design, rate)
    np.testing.assert_allclose(fit.standard_errors, theirs.bse, rtol=1e-9)
    assert fit.r_squared == pytest.approx(theirs.rsquared)
    joint = theirs.f_test(np.eye(4)[2:])
    test = wald(fit, [2, 3])
    assert (test.f, test.p) == (pytest.approx(float(joint.fvalue)), pytest.approx(float(joint.pvalue)))


def test_the_mean_of_recognizers_is_the_stacked_model_clustered_by_speaker():
    design, rate = study(1)
    generator = np.random.default_rng(9)
    rates = rate[:, None] * np.array([1.0, 0.7, 1.4]) + generator.normal(0, 0.02, (len(rate), 3))
    people = len(rate)
    # Rows speaker by speaker, with an effect of each recognizer instead of the intercept.
    stacked = np.column_stack([np.tile(np.eye(3), (people, 1)), np.repeat(design[:, 1:], 3, axis=0)])
    coefficients, covariance = long_way(stacked, rates.reshape(-1), np.repeat(np.arange(people), 3))
    fit = fit_speakers(design, rates.mean(axis=1))
    np.testing.assert_allclose(fit.coefficients[1:], coefficients[3:], rtol=1e-9)
    np.testing.assert_allclose(fit.covariance[1:, 1:], covariance[3:, 3:], rtol=1e-8)


def test_a_coefficient_that_one_speaker_decides_has_no_error():
    design = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    cells = prepare_cells(design, np.array([5.0, 1.0, 4.0]))
    fit = fit_cells(cells, np.array([0.2, 0.9, 0.3]), np.array([0.01, 0.0, 0.02]))
    np.testing.assert_allclose(fit.coefficients, [0.2, 0.7, 0.1])
    assert fit.single.tolist() == [False, True, False]
    assert np.isnan(fit.standard_errors[1])
    assert wald(fit, [1]) is None
    assert wald(fit, [2]) is not None


def test_columns_that_others_determine():
    design = np.array([[1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 0], [1, 0, 1, 1, 0]], dtype=float)
    assert estimable_columns(design) == [0, 1, 3]
