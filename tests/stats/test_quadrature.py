from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from voxaudit.stats.quadrature import gauss_hermite, posterior_modes, wide_rule

ERRORS = np.array([0.0, 0.0, 1.0, 3.0, 30.0, 400.0])
ETA = np.log(np.array([0.05, 4.0, 2.0, 0.7, 20.0, 380.0]))


def exact(errors: float, eta: float, sigma: float) -> float:
    mode = float(posterior_modes(np.array([errors]), np.array([eta]), np.log(sigma))[0][0])

    def log_integrand(r: float) -> float:
        return errors * r - np.exp(eta + r) - 0.5 * (r / sigma) ** 2

    peak = log_integrand(mode)
    width = 1.0 / np.sqrt(np.exp(eta + mode) + sigma**-2)
    points = [mode - 30 * width, mode - 5 * width, mode, mode + 5 * width, mode + 15 * width]
    area = sum(
        quad(lambda r: np.exp(log_integrand(r) - peak), a, b, epsabs=0, epsrel=1e-12)[0]
        for a, b in pairwise(points)
    )
    return float(peak + np.log(area) - 0.5 * np.log(2 * np.pi) - np.log(sigma))


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0, 2.5])
def test_wide_rule_is_exact(sigma: float) -> None:
    found = wide_rule(ERRORS, ETA, np.log(sigma)).value
    expected = [exact(y, e, sigma) for y, e in zip(ERRORS, ETA, strict=True)]
    np.testing.assert_allclose(found, expected, atol=2e-11)


def test_25_gauss_hermite_nodes_are_exact_for_moderate_sigma() -> None:
    found = gauss_hermite(25)(ERRORS, ETA, np.log(0.6)).value
    np.testing.assert_allclose(found, wide_rule(ERRORS, ETA, np.log(0.6)).value, atol=5e-12)


def test_one_node_is_the_laplace_approximation() -> None:
    sigma = 0.7
    mode, expected = posterior_modes(ERRORS, ETA, np.log(sigma))
    by_hand = ERRORS * mode - expected - 0.5 * (mode / sigma) ** 2 - 0.5 * np.log(1.0 + sigma**2 * expected)
    np.testing.assert_allclose(gauss_hermite(1)(ERRORS, ETA, np.log(sigma)).value, by_hand, rtol=1e-13)


@pytest.mark.parametrize("sigma", [1e-4, 0.3, 4.0])
def test_modes_solve_their_equation(sigma: float) -> None:
    errors, eta = np.append(ERRORS, 1e6), np.append(ETA, np.log(2e5))
    mode, expected = posterior_modes(errors, eta, np.log(sigma))
    np.testing.assert_allclose(errors - expected - mode / sigma**2, 0.0, atol=1e-9 * (1 + errors.max()))
    np.testing.assert_allclose(expected, np.exp(eta + mode))


@pytest.mark.parametrize("nodes", [1, 4, 25, 0])
@pytest.mark.parametrize("tau", [-3.0, -0.7, 0.5])
def test_derivatives_are_those_of_the_rule(nodes: int, tau: float) -> None:
    rule = gauss_hermite(nodes) if nodes else wide_rule
    h = 1e-5
    here = rule(ERRORS, ETA, tau)
    up, down = rule(ERRORS, ETA + h, tau), rule(ERRORS, ETA - h, tau)
    more, less = rule(ERRORS, ETA, tau + h), rule(ERRORS, ETA, tau - h)
    for analytic, plus, minus in (
        (here.d_eta, up.value, down.value),
        (here.d_tau, more.value, less.value),
        (here.d_eta_eta, up.d_eta, down.d_eta),
        (here.d_eta_tau, more.d_eta, less.d_eta),
        (here.d_eta_tau, up.d_tau, down.d_tau),
        (here.d_tau_tau, more.d_tau, less.d_tau),
    ):
        np.testing.assert_allclose(analytic, (plus - minus) / (2 * h), rtol=1e-6, atol=2e-6)


def test_blocks_do_not_show() -> None:
    errors, eta = np.resize(ERRORS, 7001), np.resize(ETA, 7001)
    whole, part = gauss_hermite(25)(errors, eta, -1.0), gauss_hermite(25)(errors[:6], eta[:6], -1.0)
    for name in part.__annotations__:
        np.testing.assert_allclose(getattr(whole, name)[-6 - 5 : -5], getattr(part, name), rtol=1e-12)


def test_no_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        gauss_hermite(0)
