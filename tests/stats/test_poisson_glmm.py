import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import Cells, collapse
from voxaudit.stats.poisson_glm import fit_poisson
from voxaudit.stats.poisson_glmm import MixedFit, evaluate, fit_mixed
from voxaudit.stats.quadrature import gauss_hermite, wide_rule


def simulated(
    seed: int,
    *,
    speakers: int = 30,
    each: int = 8,
    sigma: float = 0.4,
    wer: float = 0.1,
    within: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(speakers), each)
    words = generator.integers(3, 30, len(speaker)).astype(float)
    columns = [np.ones(len(speaker)), speaker % 2]
    if within:
        columns.append(generator.normal(0, 1, len(speaker)))
    design = np.column_stack(columns).astype(float)
    effect = generator.normal(0, sigma, speakers)
    errors = generator.poisson(words * wer * np.exp(0.2 * design[:, 1] + effect[speaker])).astype(float)
    return errors, words, speaker, design


def likelihood(cells: Cells, fit: MixedFit, step: np.ndarray, nodes: int | None) -> float:
    rule = gauss_hermite(nodes) if nodes else wide_rule
    beta, tau = fit.coefficients + step[:-1], np.log(fit.sigma) + step[-1]
    return evaluate(cells, cells.design, np.zeros(len(cells.errors)), beta, tau, rule).loglik


@pytest.mark.parametrize("nodes", [1, 3, 25])
@pytest.mark.parametrize("within", [False, True])
def test_the_fit_is_the_maximum_of_its_own_rule(nodes: int, within: bool) -> None:
    cells = collapse(*simulated(3, within=within))
    fit = fit_mixed(cells, nodes=nodes, grow=False)
    best = likelihood(cells, fit, np.zeros(len(fit.coefficients) + 1), nodes)
    np.testing.assert_allclose(fit.loglik, best, rtol=1e-12)
    for place in range(len(fit.coefficients) + 1):
        step = np.zeros(len(fit.coefficients) + 1)
        step[place] = 1e-3
        assert likelihood(cells, fit, step, nodes) < best
        assert likelihood(cells, fit, -step, nodes) < best
        slope = (likelihood(cells, fit, step, nodes) - likelihood(cells, fit, -step, nodes)) / 2e-3
        curvature = (
            likelihood(cells, fit, step, nodes) - 2 * best + likelihood(cells, fit, -step, nodes)
        ) / 1e-6
        assert abs(slope) < 1e-3 * np.sqrt(-curvature)


def test_standard_errors_are_the_inverse_hessian() -> None:
    cells = collapse(*simulated(5, within=True))
    fit = fit_mixed(cells)
    size, h = len(fit.coefficients) + 1, 1e-3
    hessian = np.empty((size, size))
    unit = np.eye(size) * h
    for i in range(size):
        for j in range(size):
            values = [
                likelihood(cells, fit, a * unit[i] + b * unit[j], 25)
                for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            hessian[i, j] = (values[0] - values[1] - values[2] + values[3]) / (4 * h * h)
    covariance = np.linalg.inv(-hessian)
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(covariance))[:-1], rtol=1e-4)
    np.testing.assert_allclose(fit.se_log_sigma, np.sqrt(covariance[-1, -1]), rtol=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), within=st.booleans())
def test_order_names_and_units_do_not_matter(seed: int, within: bool) -> None:
    errors, words, speaker, design = simulated(seed, within=within)
    fit = fit_mixed(collapse(errors, words, speaker, design))
    generator = np.random.default_rng(seed + 1)
    order, names = generator.permutation(len(errors)), generator.permutation(30)
    moved = design[order] * np.array([1.0, 1.0, 0.001][: design.shape[1]])
    moved = np.column_stack([moved, generator.integers(1940, 2005, 30)[names[speaker[order]]] * 0.0])[:, :-1]
    again = fit_mixed(collapse(errors[order], words[order], names[speaker[order]], moved))
    np.testing.assert_allclose(again.loglik, fit.loglik, rtol=1e-11)
    np.testing.assert_allclose(again.sigma, fit.sigma, atol=1e-6)
    np.testing.assert_allclose(again.coefficients[:2], fit.coefficients[:2], atol=1e-6)
    np.testing.assert_allclose(again.modes[names], fit.modes, atol=1e-6)
    if within:
        np.testing.assert_allclose(again.coefficients[2] * 0.001, fit.coefficients[2], atol=1e-6)


def test_birth_years_cost_no_digits() -> None:
    errors, words, speaker, design = simulated(8)
    year = np.random.default_rng(0).integers(1935, 2005, 30)[speaker]
    raw = fit_mixed(collapse(errors, words, speaker, np.column_stack([design, year])))
    centered = fit_mixed(collapse(errors, words, speaker, np.column_stack([design, (year - 1970) / 10])))
    np.testing.assert_allclose(raw.loglik, centered.loglik, rtol=1e-12)
    np.testing.assert_allclose(raw.coefficients[2] * 10, centered.coefficients[2], rtol=1e-8)
    np.testing.assert_allclose(raw.standard_errors[2] * 10, centered.standard_errors[2], rtol=1e-8)


def test_speakers_who_do_not_differ_give_the_regression_without_them() -> None:
    # Every speaker has 4 errors in 40 words: less spread than chance.
    speaker = np.repeat(np.arange(10), 4)
    errors, words = np.ones(40), np.full(40, 10.0)
    cells = collapse(errors, words, speaker, np.column_stack([np.ones(40), speaker % 2]).astype(float))
    fit, plain = fit_mixed(cells), fit_poisson(cells)
    assert fit.boundary
    assert fit.sigma == 0.0
    assert fit.se_log_sigma is None
    np.testing.assert_allclose(fit.loglik, plain.loglik, rtol=1e-14)
    np.testing.assert_allclose(fit.covariance, plain.covariance, rtol=1e-9)
    assert not fit.modes.any()
    assert not fit.mode_sd.any()


def test_one_wild_speaker_is_found_although_sigma_zero_is_a_local_maximum() -> None:
    # 200 speakers exactly alike outvote the wild one at sigma = 0, where the likelihood falls.
    errors = np.append(np.full(200, 10.0), 35.0)
    words = np.full(201, 100.0)
    cells = collapse(errors, words, np.arange(201), np.ones((201, 1)))
    expected = errors.sum() / 201
    assert ((errors - expected) ** 2 - expected).sum() < 0
    fit = fit_mixed(cells)
    assert fit.loglik >= fit.loglik_without_speakers
    ridge = [
        evaluate(cells, cells.design, np.zeros(2), np.array([np.log(0.1)]), tau, wide_rule).loglik
        for tau in np.linspace(-3, 0, 40)
    ]
    assert fit.loglik >= max(ridge) - 1e-9


def test_too_few_nodes_for_a_large_sigma_are_replaced() -> None:
    cells = collapse(*simulated(2, speakers=80, each=4, sigma=2.0, wer=0.02))
    fixed, grown = fit_mixed(cells, nodes=10, grow=False), fit_mixed(cells, nodes=10)
    assert fixed.nodes == 10
    assert grown.nodes is None
    assert grown.sigma > 1.0
    assert abs(fixed.loglik - grown.loglik) > 1e-5
    np.testing.assert_allclose(likelihood(cells, grown, np.zeros(3), None), grown.loglik, rtol=1e-13)
    np.testing.assert_allclose(fit_mixed(cells, nodes=150, grow=False).loglik, grown.loglik, atol=1e-7)


def test_modes_shrink_towards_zero() -> None:
    errors, words, speaker, design = simulated(4, each=3)
    fit = fit_mixed(collapse(errors, words, speaker, design))
    expected = np.bincount(speaker, words * np.exp(design @ fit.coefficients))
    raw = np.log((np.bincount(speaker, errors) + 1e-9) / expected)
    assert (np.abs(fit.modes) <= np.abs(raw) + 1e-9).all()
    assert (np.sign(fit.modes) == np.sign(raw)).all()
    assert (fit.mode_sd < fit.sigma).all()


def test_a_spread_without_a_finite_estimate_is_said() -> None:
    errors, words = np.zeros(40), np.full(40, 1e9)
    errors[0], words[0] = 500, 1
    with pytest.raises(VoxauditError, match="500 errors of 40 speakers are too few"):
        fit_mixed(collapse(errors, words, np.arange(40), np.ones((40, 1))))
