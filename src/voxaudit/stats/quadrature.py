"""The one-dimensional integral of a Poisson random intercept, with its derivatives.

For one speaker with `y` errors in all and `m = sum_j words_j * exp(x_j' beta)` expected ones, everything that the
random effect contributes to the log-likelihood (Liu et al. 2022, Eq. 5 to 7) is a function of three numbers:

    g(y, eta, tau) = log  integral  N(r; 0, sigma^2) exp(y r - exp(eta + r)) dr,   eta = log m,  tau = log sigma

so the quadrature runs over speakers, never over utterances. Both rules here return `g` and its first and second
derivatives in (eta, tau) for all speakers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from voxaudit.numeric import wrightomega

FloatArray = NDArray[np.float64]

_BLOCK = 1 << 16
"""Speakers are integrated in blocks of about this many nodes: the temporaries stay in the processor's cache."""

_MODERATE = float(np.log(0.6))

_DROP = 36.0
"""The wide rule covers each integrand down to exp(-36) of its peak."""


@dataclass(frozen=True)
class Integral:
    """`g` and its derivatives, one entry per speaker; `mode` and `spread` are the posterior's peak and width there."""

    value: FloatArray
    d_eta: FloatArray
    d_tau: FloatArray
    d_eta_eta: FloatArray
    d_eta_tau: FloatArray
    d_tau_tau: FloatArray
    mode: FloatArray
    spread: FloatArray


Rule = Callable[[FloatArray, FloatArray, float], Integral]
"""(errors, eta, tau) -> Integral."""


def posterior_modes(errors: FloatArray, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Return the conditional mode of every speaker's effect and the expected errors at it, exp(eta + mode).

    The mode solves `y - exp(eta + r) - r / sigma^2 = 0`, which is Wright's omega function.
    """
    variance = np.exp(2.0 * tau)
    shrunk = variance * errors
    # omega(z) solves w + log w = z, here with w = sigma^2 exp(eta + r): closed form, no iteration to guard.
    expected = np.asarray(wrightomega(shrunk + (2.0 * tau) + eta), dtype=np.float64) / variance
    mode = variance * (errors - expected)
    # One Newton step repairs what the subtraction above lost where there are very many errors.
    expected = np.exp(eta + mode)
    mode += (errors - expected - mode / variance) / (expected + 1.0 / variance)
    return mode, np.exp(eta + mode)


def gauss_hermite(nodes: int) -> Rule:
    """Return the adaptive Gauss-Hermite rule: `nodes` points around each speaker's mode, scaled by its curvature.

    One node is the Laplace approximation. The derivatives are those of the rule itself (the points move with the
    parameters), so an optimizer sees one consistent function however few nodes there are. Where the rule is exact to
    1e-12 (see `accurate`), the cheaper derivatives of the integral are the same.
    """
    if nodes < 1:
        raise ValueError(f"a quadrature rule needs at least one node, not {nodes}")
    points, log_weights = _hermite(nodes)

    def rule(errors: FloatArray, eta: FloatArray, tau: float) -> Integral:
        block = _accurate_block if accurate(nodes, tau) else _gauss_hermite_block
        return _blocks(errors, eta, lambda y, e: block(y, e, tau, points, log_weights), nodes)

    return rule


def accurate(nodes: int, tau: float) -> bool:
    """Say whether so many Gauss-Hermite nodes are exact to about 1e-12 per speaker whatever the data."""
    return nodes >= 20 and tau < _MODERATE


def wide_rule(errors: FloatArray, eta: FloatArray, tau: float) -> Integral:
    """Integrate over the whole support of each speaker's posterior with a trapezoid rule.

    The error is about 1e-12 whatever sigma is: the rule that the Gauss-Hermite result is checked against, and that
    takes over where sigma is so large (above 1, few errors per speaker) that the posteriors are far from normal.
    """
    return _blocks(errors, eta, lambda y, e: _wide_block(y, e, tau), 64)


@cache
def _hermite(nodes: int) -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    with np.errstate(
        divide="ignore"
    ):  # the outermost weights of a very long rule are below the smallest float
        return np.asarray(points), np.log(weights) - 0.5 * np.log(2.0 * np.pi)


def _blocks(
    errors: FloatArray, eta: FloatArray, integrate: Callable[[FloatArray, FloatArray], Integral], nodes: int
) -> Integral:
    size = max(1, _BLOCK // nodes)
    if len(errors) <= size:
        return integrate(errors, eta)
    parts = [integrate(errors[i : i + size], eta[i : i + size]) for i in range(0, len(errors), size)]
    return Integral(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Integral.__annotations__)
    )


def _gauss_hermite_block(
    y: FloatArray, eta: FloatArray, tau: float, points: FloatArray, log_weights: FloatArray
) -> Integral:
    v = float(np.exp(-2.0 * tau))
    mode, w = posterior_modes(y, eta, tau)
    s2 = 1.0 / (w + v)
    spread = np.sqrt(s2)
    # With x = spread * z, the integrand relative to the normal density that is matched to it at the mode is
    # exp(-w (e^x - 1 - x - x^2/2)): a third-order remainder, which is all that the nodes have to resolve.
    x = np.multiply.outer(spread, points)
    # expm1, as e^x - 1 loses its digits at the small x of speakers with many errors.
    first = np.expm1(x)
    second = first - x
    third = second - 0.5 * x * x
    weights = np.exp(log_weights - w[:, None] * third)
    total = weights.sum(axis=1)
    weights /= total[:, None]
    second *= x
    b1 = np.einsum("ik,ik->i", weights, third)
    b2 = np.einsum("ik,ik->i", weights, second)
    first *= x
    b3 = np.einsum("ik,ik,ik->i", weights, first, x)
    weighted = weights * third
    b11 = np.einsum("ik,ik->i", weighted, third) - b1 * b1
    b12 = np.einsum("ik,ik->i", weighted, second) - b1 * b2
    weights *= second
    b22 = np.einsum("ik,ik->i", weights, second) - b2 * b2

    # How the peak moves with (eta, tau): `grow` is d log w, `thin` is d log(w + v), `bend` and `bow` their second
    # derivatives over w and (w + v). Rows are eta, tau or eta-eta, eta-tau, tau-tau.
    prior = v * s2  # the prior's share of the precision
    data = w * s2
    shift = 2.0 * prior * mode
    turn = prior * shift - 2.0 * data
    grow = np.array([prior, shift])
    thin = np.array([prior * data, data * shift - 2.0 * prior])
    bend = np.array([prior**3, prior * turn, shift * (turn + 2.0 * prior)])
    bow = data * bend
    bow[2] += 4.0 * prior
    one, two = grow[_ROWS], grow[_COLUMNS]
    thin_one, thin_two = thin[_ROWS], thin[_COLUMNS]
    cross, thins = one * thin_two + two * thin_one, thin_one * thin_two

    gradient = -w * (grow * b1 - 0.5 * thin * b2)
    gradient[0] -= w + 0.5 * thin[0]
    # log(spread) - tau is differentiated as -log(1 + w sigma^2)/2, which stays exact as sigma goes to zero.
    gradient[1] += v * mode * mode - data * (1.0 + 0.5 * shift)
    hessian = w * (
        w * (one * two * b11 - 0.5 * cross * b12 + 0.25 * thins * b22)
        - (bend * b1 + (0.75 * thins - 0.5 * (cross + bow)) * b2 + 0.25 * thins * b3)
    )
    hessian[:2] -= w * grow + 0.5 * (bow[:2] - thins[:2])
    hessian[2] += 2.0 * v * mode * (shift - mode)
    hessian[2] -= 0.5 * (data * bend[2] - (data * shift) ** 2) + 2.0 * prior * data * (shift + 1.0)
    return Integral(
        value=y * mode - w - 0.5 * v * mode * mode + 0.5 * np.log(prior) + np.log(total),
        d_eta=gradient[0],
        d_tau=gradient[1],
        d_eta_eta=hessian[0],
        d_eta_tau=hessian[1],
        d_tau_tau=hessian[2],
        mode=mode,
        spread=spread,
    )


_ROWS, _COLUMNS = np.array([0, 0, 1]), np.array([0, 1, 1])


def _accurate_block(
    y: FloatArray, eta: FloatArray, tau: float, points: FloatArray, log_weights: FloatArray
) -> Integral:
    v = float(np.exp(-2.0 * tau))
    mode, w = posterior_modes(y, eta, tau)
    spread = 1.0 / np.sqrt(w + v)
    x = np.multiply.outer(spread, points)
    # The integral itself is right here, so its derivatives are posterior moments: the nodes need not move along.
    growth = np.exp(x)
    weights = np.exp(log_weights - w[:, None] * (growth - 1.0 - x - 0.5 * x * x))
    total = weights.sum(axis=1)
    weights /= total[:, None]
    value = y * mode - w - 0.5 * v * mode * mode + np.log(total * spread) - tau
    return _from_moments(value, mode, spread, w, v, x, growth, weights)


def _wide_block(y: FloatArray, eta: FloatArray, tau: float) -> Integral:
    v = float(np.exp(-2.0 * tau))
    mode, w = posterior_modes(y, eta, tau)
    spread = 1.0 / np.sqrt(w + v)
    left, right = _support(w, v)
    # The trapezoid error falls like the integrand's Fourier transform at 2 pi / step: Gaussian where there are
    # many errors, exp(-pi^2 / step) where there are few.
    most = float(np.max((left + right) / np.minimum(0.65 * spread, 0.25)))
    nodes = int(np.ceil(most)) + 1 if np.isfinite(most) else 2
    step = (left + right) / (nodes - 1)
    x = np.multiply.outer(step, np.arange(nodes)) - left[:, None]
    weights = np.exp(w[:, None] * (x - np.expm1(x)) - (0.5 * v) * x * x)
    # Both ends count whole: at exp(-36) of the peak half of them is nothing.
    total = weights.sum(axis=1)
    weights /= total[:, None]
    value = y * mode - w - 0.5 * v * mode * mode - tau + np.log(total * step) - 0.5 * np.log(2.0 * np.pi)
    return _from_moments(value, mode, spread, w, v, x, np.exp(x), weights)


def _from_moments(
    value: FloatArray,
    mode: FloatArray,
    spread: FloatArray,
    w: FloatArray,
    v: float,
    x: FloatArray,
    growth: FloatArray,
    weights: FloatArray,
) -> Integral:
    """Take the derivatives of an exact integral: posterior moments of exp(eta + r) and of q = r^2 / sigma^2.

    `x` are the points as distances from the mode, `growth` is exp(x), `weights` their posterior probabilities.
    """
    # Derivatives of the log of an integral are cumulants: a mean, then a covariance plus a mean.
    q = x + mode[:, None]
    q *= q
    weighted = weights * growth
    lam = w * weighted.sum(axis=1)
    q1 = v * np.einsum("ik,ik->i", weights, q)
    lam_lam = w * w * np.einsum("ik,ik->i", weighted, growth) - lam * lam
    lam_q = v * w * np.einsum("ik,ik->i", weighted, q) - lam * q1
    weights *= q
    q_q = v * v * np.einsum("ik,ik->i", weights, q) - q1 * q1
    return Integral(
        value=value,
        d_eta=-lam,
        d_tau=q1 - 1.0,
        d_eta_eta=lam_lam - lam,
        d_eta_tau=-lam_q,
        d_tau_tau=q_q - 2.0 * q1,
        mode=mode,
        spread=spread,
    )


def _support(w: FloatArray, v: float) -> tuple[FloatArray, FloatArray]:
    """Return how far left and right of its mode each log-integrand falls by `_DROP` (Newton from outside)."""
    # Both start outside: e^-x >= 0 leaves a quadratic on the left (in the form that survives v = 0), and on the right
    # e^x - 1 - x >= x^2 / 2. The functions are convex, so Newton comes down to the root and never passes it.
    left = 2.0 * (_DROP + w) / (w + np.sqrt(w * w + 2.0 * v * (_DROP + w)))
    right = np.sqrt(2.0 * _DROP / (w + v))
    for _ in range(5):
        drop = w * (np.expm1(-left) + left) + 0.5 * v * left * left - _DROP
        left = left - drop / (-w * np.expm1(-left) + v * left)
        drop = w * (np.expm1(right) - right) + 0.5 * v * right * right - _DROP
        right = right - drop / (w * np.expm1(right) + v * right)
    return left, right
