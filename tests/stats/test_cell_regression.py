"""Regression from cells equals regression on speakers, with HC2 and cluster-robust errors computed the long way."""

import numpy as np
import pytest
from scipy.special import stdtr

from voxaudit.stats import cell_regression
from voxaudit.stats.cell_regression import (
    estimable_columns,
    fit_cells,
    guarded,
    joint_df,
    prepare_cells,
    wald,
)
from voxaudit.stats.group_ratios import Adjusted
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.ttests import welch


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
    """OLS with the CR2 sandwich: residuals of a cluster times the inverse root of I - H of the cluster."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ rate
    residual = rate - design @ coefficients
    meat = np.zeros_like(inverse)
    for name in np.unique(cluster):
        part = design[cluster == name]
        values, vectors = np.linalg.eigh(np.eye(len(part)) - part @ inverse @ part.T)
        score = part.T @ (vectors / np.sqrt(values)) @ vectors.T @ residual[cluster == name]
        meat += np.outer(score, score)
    return coefficients, inverse @ meat @ inverse


def test_cells_carry_everything():
    design, rate = study()
    fit = fit_speakers(design, rate)
    coefficients, covariance = long_way(design, rate, np.arange(len(rate)))
    np.testing.assert_allclose(fit.coefficients, coefficients, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-9)
    assert not fit.single.any()


def test_statsmodels_hc2():
    module = pytest.importorskip("statsmodels.api")
    design, rate = study(3)
    theirs = module.OLS(rate, design).fit(cov_type="HC2", use_t=True)
    fit = fit_speakers(design, rate)
    np.testing.assert_allclose(fit.standard_errors, theirs.bse, rtol=1e-9)
    assert fit.r_squared == pytest.approx(theirs.rsquared)
    joint = theirs.f_test(np.eye(4)[2:])
    test, degrees = wald(fit, [2, 3]), joint_df(fit.cells, [2, 3])
    # Hotelling's T^2 against F: two coefficients cost one degree of freedom.
    assert test.f == pytest.approx(float(joint.fvalue) * (degrees - 1) / degrees)
    assert test.df_speakers == pytest.approx(degrees - 1)


def degrees_the_long_way(design, columns):
    """Moments of the covariance's estimate with a row for every speaker, normal errors of one variance."""
    inverse = np.linalg.inv(design.T @ design)
    maker = np.eye(len(design)) - design @ inverse @ design.T
    pull = (inverse @ design.T)[columns]
    root = np.linalg.inv(np.linalg.cholesky(inverse[np.ix_(columns, columns)]))
    moved = root @ pull / np.sqrt(np.diag(maker))
    size, total = len(columns), 0.0
    for s in range(size):
        for t in range(size):
            form = maker @ np.diag(moved[s] * moved[t]) @ maker
            total += 2.0 * np.trace(form @ form)
    return size * (size + 1) / total


@pytest.mark.parametrize("columns", [[0], [1], [3], [2, 3], [1, 2, 3]])
def test_degrees_of_freedom_are_those_of_speakers(columns):
    design, rate = study(5, 23)
    cells = fit_speakers(design, rate).cells
    wanted = degrees_the_long_way(design, columns)
    assert joint_df(cells, columns) == pytest.approx(wanted)
    if len(columns) == 1:
        assert cells.df[columns[0]] == pytest.approx(wanted)


def test_two_groups_by_hand():
    # Two and four speakers: variances 0.02 and 0.01 about means of 0.3 and 0.1.
    cells = prepare_cells(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([4.0, 2.0]))
    fit = fit_cells(cells, np.array([0.1, 0.3]), np.array([0.03, 0.02]))
    assert fit.coefficients.tolist() == pytest.approx([0.1, 0.2])
    assert fit.standard_errors[1] ** 2 == pytest.approx(0.01 / 4 + 0.02 / 2)
    assert fit.standard_errors[1] == pytest.approx(
        0.2 / float(welch(2.0, 0.3, 0.02, 4.0, 0.1, 0.01).t)
    )  # Welch's error ...
    # ... and his degrees of freedom for equal variances: (1/4 + 1/2)^2 / (1/4^2/3 + 1/2^2/1)
    assert fit.df[1] == pytest.approx(0.75**2 / (1 / 48 + 1 / 4))
    assert fit.df[0] == pytest.approx(3.0)  # the reference group's own mean: four speakers
    test = wald(fit, [1])
    assert test.f == pytest.approx(0.04 / 0.0125)
    assert test.p == pytest.approx(2 * stdtr(fit.df[1], -np.sqrt(test.f)))


def test_more_coefficients_than_speakers_can_carry_are_not_tested():
    # Three groups of two: by hand 3^2 (2 - 1) / (2 (3 - 1)) = 2.25 degrees of freedom, 1.25 left for two coefficients.
    design = np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1]])
    cells = prepare_cells(design, np.full(3, 2.0))
    assert joint_df(cells, [1, 2]) == pytest.approx(2.25)
    fit = fit_cells(cells, np.array([0.1, 0.2, 0.4]), np.full(3, 0.01))
    assert wald(fit, [1, 2]).df_speakers == pytest.approx(1.25)
    # Six groups of two: 36 / 10 = 3.6, fewer than the five coefficients less one.
    design = np.column_stack([np.ones(6), np.eye(6)[:, 1:]])
    fit = fit_cells(prepare_cells(design, np.full(6, 2.0)), np.arange(6) / 10, np.full(6, 0.01))
    assert joint_df(fit.cells, range(1, 6)) == pytest.approx(3.6)
    assert wald(fit, range(1, 6)) is None


def test_the_bound_for_many_cells_is_below_and_exact_where_cells_have_their_own_means(monkeypatch):
    design, rate = study(2, 40)
    rows, n, *_ = cells_of(design, rate)
    own = np.column_stack([np.ones(len(rows)), np.eye(len(rows))[:, 1:]])
    exact, exact_own = prepare_cells(rows, n), prepare_cells(own, n)
    joint, joint_own = joint_df(exact, [2, 3]), joint_df(exact_own, [1, 2])
    monkeypatch.setattr(cell_regression, "MOST_CELLS", 1)
    bound, bound_own = prepare_cells(rows, n), prepare_cells(own, n)
    assert (bound.df <= exact.df * (1 + 1e-12)).all()
    assert (bound.df > 0.7 * exact.df).all()
    np.testing.assert_allclose(bound_own.df, exact_own.df)
    assert 0.5 * joint < joint_df(bound, [2, 3]) <= joint
    assert joint_df(bound_own, [1, 2]) == pytest.approx(joint_own)


def test_the_unit_and_the_reference_level_do_not_matter():
    design, rate = study(4)
    fit, percent = fit_speakers(design, rate), fit_speakers(design, 100 * rate)
    np.testing.assert_allclose(percent.standard_errors, 100 * fit.standard_errors, rtol=1e-10)
    assert wald(percent, [2, 3]).p == pytest.approx(wald(fit, [2, 3]).p)
    # The second level as the reference instead of the first: other coefficients, the same joint test.
    other = design.copy()
    other[:, 2] = 1.0 - design[:, 2] - design[:, 3]
    assert wald(fit_speakers(other, rate), [2, 3]).p == pytest.approx(wald(fit, [2, 3]).p)


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


def test_crossed_groups_of_two_and_three_speakers_do_not_alarm_too_often():
    """Rates are log-normal; 8 and 40 speakers, each from three regions."""
    generator = np.random.default_rng(11)
    group = np.repeat([0.0, 1.0], [8, 40])
    region = np.concatenate([np.arange(8), np.arange(40)]) % 3
    alarms, audits = 0, 400
    for _ in range(audits):
        columns = [np.ones(48), group, region == 1, region == 2]
        design = np.column_stack([*columns, group * (region == 1), group * (region == 2)]).astype(float)
        fit = fit_speakers(design, 0.15 * np.exp(0.6 * generator.standard_normal(48)))
        p = 2.0 * stdtr(fit.df, -np.abs(fit.coefficients / fit.standard_errors))[1:]
        alarms += min(one for one in holm([None if np.isnan(q) else float(q) for q in p]) if one) < 0.05
    assert alarms <= audits * 0.05 + 2.5 * np.sqrt(audits * 0.05 * 0.95)


def test_the_guard_is_that_of_two_groups_with_all_else_held_fixed():
    generator = np.random.default_rng(5)
    group, region = np.repeat([0, 1], [8, 40]), generator.integers(0, 3, 48)
    rate = 0.15 * np.exp(np.where(group == 0, 0.9, 0.25) * generator.standard_normal(48))
    design = np.column_stack([np.ones(48), group == 0, region == 1, region == 2]).astype(float)
    rows, n, mean, m2 = cells_of(design, rate)
    cells = prepare_cells(rows, n)
    one = Adjusted(rate, np.ones(48), design[:, [0, 2, 3]], 1 - group, np.arange(48), Shuffles(48))
    assert guarded(cells, mean, m2, [1]) == pytest.approx(float(one.guard(np.ones(1))[0]), rel=1e-9)
    # Of three groups it is that of the one that differs most; where each has one speaker there is none.
    assert 0.0 < guarded(cells, mean, m2, [2, 3]) <= 1.0
    alone = prepare_cells(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2))
    assert guarded(alone, np.array([0.1, 0.2]), np.zeros(2), [1]) is None
