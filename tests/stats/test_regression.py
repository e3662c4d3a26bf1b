from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from voxaudit.stats.cells import Cells, collapse
from voxaudit.stats.poisson_glmm import MixedFit, evaluate
from voxaudit.stats.quadrature import wide_rule
from voxaudit.stats.ratio_intervals import profile_interval
from voxaudit.stats.regression import Settings, likelihood_ratio, regress, without_columns

HALF_CHI2 = 1.920729410347062
PLAIN = Settings(random=False)


def table(seed: int = 0, *, quiet: bool = False, speakers: int = 24, each: int = 6) -> Cells:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(speakers), each)
    case = (speaker % 2).astype(float)
    words = generator.integers(5, 25, len(speaker)).astype(float)
    errors = generator.poisson(words * 0.1 * np.exp(generator.normal(0, 0.5, speakers)[speaker])).astype(
        float
    )
    if quiet:
        errors[case == 1] = 0
    return collapse(errors, words, speaker, np.column_stack([np.ones(len(speaker)), case]))


def plain(errors: list[float], words: list[float], case: list[float]) -> Cells:
    design = np.column_stack([np.ones(len(case)), case])
    return collapse(np.array(errors), np.array(words), np.zeros(len(case), dtype=int), design)


def test_profile_of_two_poisson_groups_has_a_closed_form() -> None:
    y0, n0, y1, n1 = 8.0, 100.0, 16.0, 120.0
    found = profile_interval(regress(plain([y0, y1], [n0, n1], [0, 1]), PLAIN), 1)

    def drop(b: float) -> float:
        share = n1 * np.exp(b) / (n0 + n1 * np.exp(b))
        best = y0 * np.log(y0 / (y0 + y1)) + y1 * np.log(y1 / (y0 + y1))
        return float(best - y0 * np.log(1 - share) - y1 * np.log(share) - HALF_CHI2)

    center = np.log((y1 / n1) / (y0 / n0))
    np.testing.assert_allclose(
        [found.low, found.high],
        [brentq(drop, center - 4, center), brentq(drop, center, center + 4)],
        rtol=1e-7,
    )
    np.testing.assert_allclose(found.chi2, 2 * (drop(0.0) + HALF_CHI2), rtol=1e-8)


def test_a_group_without_errors_has_ratio_zero_and_a_finite_upper_limit() -> None:
    y0, n0, n1 = 12.0, 300.0, 80.0
    model = regress(plain([y0, 0], [n0, n1], [0, 1]), PLAIN)
    assert model.estimate(1)[0] == -np.inf
    found = profile_interval(model, 1)
    assert found.low == -np.inf
    np.testing.assert_allclose(np.exp(found.high), n0 / n1 * np.expm1(HALF_CHI2 / y0), rtol=1e-8)
    test = likelihood_ratio(model, without_columns(model, (1,)))
    np.testing.assert_allclose(test.chi2, 2 * y0 * np.log((n0 + n1) / n0), rtol=1e-9)
    np.testing.assert_allclose(found.chi2, test.chi2, rtol=1e-9)


@pytest.mark.parametrize("quiet", [False, True])
def test_profile_of_the_mixed_model_against_a_general_optimizer(quiet: bool) -> None:
    cells = table(3, quiet=quiet)
    model = regress(cells)
    found = profile_interval(model, 1)

    def best_at(value: float) -> float:
        def loss(point: np.ndarray) -> float:
            beta = np.array([point[0], value])
            return -evaluate(
                cells, cells.design, np.zeros(len(cells.errors)), beta, point[1], wide_rule
            ).loglik

        return -float(
            minimize(loss, [-2.3, -0.7], method="Nelder-Mead", options={"fatol": 1e-11, "xatol": 1e-7}).fun
        )

    limits = [found.high] if quiet else [found.low, found.high]
    for limit in limits:
        np.testing.assert_allclose(model.loglik - best_at(limit), HALF_CHI2, atol=1e-6)
    np.testing.assert_allclose(2 * (model.loglik - best_at(0.0)), found.chi2, atol=1e-6)
    assert np.isneginf(found.low) == quiet


def test_profile_of_the_null_is_the_likelihood_ratio_test() -> None:
    model = regress(table(5))
    test = likelihood_ratio(model, without_columns(model, (1,)))
    found = profile_interval(model, 1)
    assert test.df == 1
    np.testing.assert_allclose([found.chi2, found.p], [test.chi2, test.p], rtol=1e-7)
    assert (test.p < 0.05) == (not found.low < 0.0 < found.high)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    model = regress(table(5))
    wide, narrow = profile_interval(model, 1, 0.99), profile_interval(model, 1, 0.9)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_determined_columns_are_left_out_and_the_rest_is_as_without_them() -> None:
    cells = table(1)
    design = np.column_stack([cells.design[:, 0], np.full(len(cells.errors), 3.0), cells.design[:, 1]])
    wide = replace(cells, design=design)
    model, plain_model = regress(wide), regress(cells)
    assert model.columns == (0, 2)
    assert [one.column for one in model.dependent] == [1]
    np.testing.assert_allclose(model.estimate(2), plain_model.estimate(1), rtol=1e-12)


def test_separation_by_a_covariate_leaves_the_others_estimable() -> None:
    generator = np.random.default_rng(2)
    speaker = np.repeat(np.arange(20), 5)
    case, phone = (speaker % 2).astype(float), (np.arange(100) % 5 == 0).astype(float)
    errors = np.where(phone == 1, 0.0, generator.poisson(2.0, 100))
    words = np.full(100, 20.0)
    design = np.column_stack([np.ones(100), phone, case])
    model = regress(collapse(errors, words, speaker, design))
    assert model.infinite == {1: -1.0}
    kept = phone == 0
    without = regress(collapse(errors[kept], words[kept], speaker[kept], design[kept][:, [0, 2]]))
    np.testing.assert_allclose(model.estimate(2), without.estimate(1), rtol=1e-9)
    np.testing.assert_allclose(model.loglik, without.loglik, rtol=1e-12)


def test_speakers_of_a_silent_group_have_the_prior_as_posterior() -> None:
    model = regress(table(3, quiet=True))
    assert isinstance(model.fit, MixedFit)
    silent = np.arange(24) % 2 == 1
    assert (model.fit.modes[silent] == 0).all()
    assert (model.fit.mode_sd[silent] == model.fit.sigma).all()
    assert (model.fit.modes[~silent] != 0).all()
