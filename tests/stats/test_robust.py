import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import f as f_distribution

from voxaudit.stats.cells import collapse
from voxaudit.stats.dispersion import dispersion
from voxaudit.stats.poisson_glmm import MixedFit
from voxaudit.stats.quadrature import wide_rule
from voxaudit.stats.regression import Regression, Settings, regress
from voxaudit.stats.robust import robust_covariance, robust_test, speaker_freedom


def model_of(seed: int = 0, *, spread: float = 0.0) -> tuple[Regression, tuple[np.ndarray, ...]]:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(16), 6)
    case, x = (speaker % 2).astype(float), generator.integers(0, 3, 96).astype(float)
    words = generator.integers(5, 25, 96).astype(float)
    rate = 0.15 * np.exp(generator.normal(0, 0.5, 16)[speaker])
    if spread:
        rate *= generator.gamma(1 / spread, spread, 96)
    errors = generator.poisson(words * rate).astype(float)
    design = np.column_stack([np.ones(96), case, x])
    return regress(collapse(errors, words, speaker, design)), (errors, words, speaker, design)


def test_the_sandwich_is_made_of_the_speakers_scores() -> None:
    model, (errors, words, speaker, design) = model_of()
    fit = model.fit
    assert isinstance(fit, MixedFit)
    point = np.append(fit.coefficients, np.log(fit.sigma))

    def of_speaker(theta: np.ndarray, one: int) -> float:
        here = speaker == one
        linear = design[here] @ theta[:-1]
        eta = np.log((words[here] * np.exp(linear)).sum())
        integral = wide_rule(np.array([errors[here].sum()]), np.array([eta]), float(theta[-1]))
        return float(errors[here] @ linear + integral.value[0])

    scores = np.array([approx_fprime(point, of_speaker, 1e-6, one) for one in range(16)])
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-3)
    sandwich = fit.joint_covariance @ (scores.T @ scores) @ fit.joint_covariance
    assert speaker_freedom(model) == 14  # the intercept and the group are constant within speakers
    np.testing.assert_allclose(robust_covariance(model), sandwich[:3, :3] * 16 / 14, rtol=1e-3)


def test_the_joint_test_is_hotellings() -> None:
    model, _ = model_of(1)
    covariance = robust_covariance(model)
    beta = model.fit.coefficients[1:]
    squared = float(beta @ np.linalg.solve(covariance[1:, 1:], beta))
    found = robust_test(model, (1, 2), covariance)
    assert found is not None
    assert (found.df, found.df_speakers) == (2, 13)
    np.testing.assert_allclose(found.p, f_distribution.sf(squared * 13 / (14 * 2), 2, 13), rtol=1e-9)


def test_one_coefficient_is_a_t_test() -> None:
    model, _ = model_of(1)
    covariance = robust_covariance(model)
    found = robust_test(model, (2,), covariance)
    assert found is not None
    np.testing.assert_allclose(found.f, model.fit.coefficients[2] ** 2 / covariance[2, 2])
    assert found.df_speakers == 14


def test_without_speakers_there_is_no_sandwich() -> None:
    model, _ = model_of()
    with pytest.raises(TypeError, match="needs a model with speakers"):
        robust_covariance(regress(model.source, Settings(random=False)))


def test_dispersion_from_totals_is_that_of_the_utterances() -> None:
    model, (errors, words, speaker, design) = model_of(2, spread=1.0)
    fit = model.fit
    assert isinstance(fit, MixedFit)
    mean = words * np.exp(design @ fit.coefficients + fit.modes[speaker])
    at_mode = np.bincount(speaker, mean)
    spent = 3 + (at_mode / (at_mode + fit.sigma**-2)).sum()
    found = dispersion(model)
    np.testing.assert_allclose(found.mixed, ((errors - mean) ** 2 / mean).sum() / (96 - spent), rtol=1e-10)
    plain = dispersion(regress(model.source, Settings(random=False)))
    assert plain.mixed is None
    np.testing.assert_allclose(plain.poisson, found.poisson, rtol=1e-9)
    assert found.poisson > found.mixed > 1.3


def test_poisson_errors_are_not_overdispersed() -> None:
    ratios = [dispersion(model_of(seed)[0]).mixed for seed in range(12)]
    assert 0.9 < float(np.mean(np.array(ratios, dtype=float))) < 1.1
