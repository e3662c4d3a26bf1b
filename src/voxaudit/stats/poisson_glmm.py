"""Poisson regression with a random intercept per speaker (Liu et al. 2022, Eq. 5 to 7), by maximum likelihood.

    errors_ij | r_i ~ Poisson(words_ij exp(x_ij' beta + r_i)),   r_i ~ N(0, sigma^2)

Newton's method on (beta, log sigma) with the exact Hessian, from the regression without speakers. The design is
orthonormalized first, so raw birth years or nearly collinear columns cost no digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.poisson_glm import SETTLED, maximize_poisson
from voxaudit.stats.quadrature import Integral, Rule, accurate, gauss_hermite, posterior_modes, wide_rule

DEFAULT_NODES = 25
_QUADRATURE_ERROR = 1e-8
"""Largest error of the log-likelihood that a quadrature rule may have before the wide rule takes over."""
_SMALLEST_SIGMA, _LARGEST_SIGMA = 1e-5, 30.0


class NoFiniteEstimateError(VoxauditError):
    """The likelihood has no maximum that the data determine."""


@dataclass(frozen=True)
class Optimum:
    """A maximum of the likelihood in the coordinates of an orthonormal basis."""

    gamma: FloatArray
    tau: float
    """log sigma; minus infinity on the boundary sigma = 0."""
    loglik: float
    information: FloatArray
    """Minus the Hessian in (gamma, tau), or in gamma alone on the boundary."""
    wide: bool
    """Whether the wide rule was needed."""

    @property
    def boundary(self) -> bool:
        """Whether the speakers differ no more than chance: sigma is estimated as exactly 0."""
        return self.tau == -np.inf


@dataclass(frozen=True)
class MixedFit:
    """A fitted mixed-effects Poisson regression."""

    coefficients: FloatArray
    joint_covariance: FloatArray
    """Of the coefficients and log sigma, from their joint information; of the coefficients alone where sigma is 0."""
    sigma: float
    """Standard deviation of the speakers' log error rates; 0 on the boundary."""
    se_log_sigma: float | None
    loglik: float
    """The full log-likelihood, with all constants."""
    loglik_without_speakers: float
    """The same without the random effect: twice the difference tests sigma = 0."""
    nodes: int | None
    """Quadrature nodes per speaker; None where the wide rule was needed."""
    modes: FloatArray
    """Conditional mode of every speaker's log-rate, by speaker code."""
    mode_sd: FloatArray
    """Conditional standard deviation of the same."""

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the coefficients."""
        size = len(self.coefficients)
        return self.joint_covariance[:size, :size]

    @property
    def standard_errors(self) -> FloatArray:
        """One standard error per coefficient."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def boundary(self) -> bool:
        """Whether sigma was estimated as exactly 0."""
        return self.sigma == 0.0


def fit_mixed(cells: Cells, *, nodes: int = DEFAULT_NODES, grow: bool = True) -> MixedFit:
    """Fit the mixed model with `nodes` adaptive Gauss-Hermite nodes per speaker (1 = Laplace).

    With `grow`, a rule of two nodes or more that turns out to miss the log-likelihood by more than 1e-8 is replaced
    by one that does not (it happens where sigma is above 1). The design must have full rank and no separation.
    """
    basis, triangle = cells.orthonormal
    fixed = np.zeros(len(cells.errors))
    plain = maximize_poisson(cells, basis, fixed)
    best = maximize_mixed(cells, basis, fixed, nodes=nodes, grow=grow, plain=plain)
    back = np.linalg.inv(triangle)
    size = basis.shape[1]
    joint: FloatArray = np.asarray(np.linalg.inv(best.information), dtype=np.float64)
    joint[:size] = back @ joint[:size]
    joint[:, :size] = joint[:, :size] @ back.T
    # A speaker whose cells were all left out (see `Cells.without`) has the mode and the spread of the prior.
    sigma = float(np.exp(best.tau))
    modes, spread = np.zeros(len(cells.starts) + 1), np.full(len(cells.starts) + 1, sigma)
    if not best.boundary:
        expected = cells.per_block(cells.words * np.exp(basis @ best.gamma))
        modes[:-1], at_mode = posterior_modes(cells.block_errors, np.log(expected), best.tau)
        spread[:-1] = 1.0 / np.sqrt(at_mode + 1.0 / sigma**2)
    return MixedFit(
        coefficients=back @ best.gamma,
        joint_covariance=joint,
        sigma=sigma,
        # Next to the boundary the likelihood can be flat in sigma beyond the precision of its curvature.
        se_log_sigma=None if best.boundary or joint[size, size] <= 0.0 else float(np.sqrt(joint[size, size])),
        loglik=best.loglik,
        loglik_without_speakers=plain[1],
        nodes=None if best.wide else nodes,
        modes=modes[cells.block_of_speaker],
        mode_sd=spread[cells.block_of_speaker],
    )


def maximize_mixed(
    cells: Cells,
    basis: FloatArray,
    fixed: FloatArray,
    *,
    nodes: int = DEFAULT_NODES,
    grow: bool = True,
    start: Optimum | None = None,
    plain: tuple[FloatArray, float, FloatArray] | None = None,
) -> Optimum:
    """Maximize over the coefficients of `basis` and sigma; `fixed` is a part of the linear predictor held as it is.

    `start` is an optimum nearby (profiling), `plain` the result of `maximize_poisson` for the same arguments.
    """
    rule = gauss_hermite(nodes)
    if start is not None and not start.boundary:
        found = _climb(cells, basis, fixed, start.gamma, start.tau, wide_rule if start.wide else rule, False)
        if found is not None:
            return _checked(cells, basis, fixed, found, rule, nodes, grow, start.wide)
    if plain is None:
        plain = maximize_poisson(cells, basis, fixed, None if start is None else start.gamma)
    gamma, loglik, information = plain
    boundary = Optimum(gamma, -np.inf, loglik, information, False)
    slope, variance = _heterogeneity(cells, basis, fixed, gamma)
    # Even where the likelihood falls from sigma = 0, a higher maximum may lie further out (one wild speaker among
    # many that are too alike), so that is looked for as well.
    variance = min(max(variance, 1e-4), 2.0) if slope > 0.0 else 0.25
    # An effect with this variance multiplies the mean by exp(variance / 2): the intercept starts lower by as much.
    shifted = gamma - basis.T @ np.full(len(basis), 0.5 * variance) if basis.shape[1] else gamma
    found = _climb(cells, basis, fixed, shifted, 0.5 * np.log(variance), rule, slope <= 0.0)
    if found is None or (slope <= 0.0 and found.loglik <= loglik):
        return boundary
    return _checked(cells, basis, fixed, found, rule, nodes, grow, False)


@dataclass(frozen=True)
class State:
    """The likelihood at one point."""

    loglik: float
    integral: Integral
    mean: FloatArray
    """Expected errors of each cell at r = 0."""
    block_mean: FloatArray


def evaluate(
    cells: Cells, basis: FloatArray, fixed: FloatArray, gamma: FloatArray, tau: float, rule: Rule
) -> State:
    """Return the likelihood at one point."""
    linear = basis @ gamma + fixed
    # exp(600) is finite: a wild step gives a poor likelihood and is shortened, where an overflow would give nan.
    mean = cells.words * np.exp(np.minimum(linear, 600.0))
    block_mean = cells.per_block(mean)
    with np.errstate(over="ignore", invalid="ignore"):  # a wild trial step gives nan, which no climb accepts
        integral = rule(cells.block_errors, np.log(block_mean), tau)
    loglik = cells.constant + float(
        (cells.errors * cells.weight) @ linear + cells.block_weight @ integral.value
    )
    return State(loglik, integral, mean, block_mean)


def derivatives(cells: Cells, basis: FloatArray, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the Hessian in (gamma, tau)."""
    size = basis.shape[1]
    it, weight = state.integral, cells.block_weight
    gradient, hessian = np.empty(size + 1), np.empty((size + 1, size + 1))
    if cells.one_cell_each:
        direction = basis
        gradient[:size] = basis.T @ (weight * (cells.errors + it.d_eta))
        hessian[:size, :size] = basis.T @ (basis * (weight * it.d_eta_eta)[:, None])
    else:  # cells of one speaker are never merged with another's, so all weights are 1 here
        share = state.mean * cells.to_cells(it.d_eta / state.block_mean)
        columns = np.ascontiguousarray(basis.T)
        # d eta / d gamma of a speaker: the mean of their rows, weighted by expected errors.
        direction = (cells.per_block_of_rows(columns * state.mean) / state.block_mean).T
        gradient[:size] = columns @ (cells.errors + share)
        hessian[:size, :size] = (columns * share) @ basis + direction.T @ (
            direction * (it.d_eta_eta - it.d_eta)[:, None]
        )
    gradient[size] = weight @ it.d_tau
    hessian[:size, size] = hessian[size, :size] = direction.T @ (weight * it.d_eta_tau)
    hessian[size, size] = weight @ it.d_tau_tau
    return gradient, hessian


def _climb(
    cells: Cells,
    basis: FloatArray,
    fixed: FloatArray,
    gamma: FloatArray,
    tau: float,
    rule: Rule,
    may_vanish: bool = True,
) -> Optimum | None:
    """Newton's method from (gamma, tau). None where sigma runs into 0.

    With `may_vanish`, a Newton step to a negative variance settles that; without, sigma shrinks and the climb goes on.
    """
    state = evaluate(cells, basis, fixed, gamma, tau, rule)
    for _ in range(100):
        gradient, hessian = derivatives(cells, basis, state)
        step = _newton_step(gradient, hessian, tau, may_vanish)
        if step is None:
            return None
        gain = float(gradient @ step)
        # A small gain alone does not settle it: far below its estimate, log sigma has no influence at all.
        if abs(gain) < SETTLED and abs(step[-1]) < 1e-3:
            # The last step is taken without looking: its gain is known to second order.
            return Optimum(
                gamma + step[:-1], tau + step[-1], state.loglik + 0.5 * gain, -hessian, rule is wide_rule
            )
        for direction in (step, None):
            if direction is None:  # Newton failed: the safe direction
                direction = _uphill(hessian, gradient)
            # No cell's log-rate moves by more than 3 at a time, nor log sigma by more than 1.5.
            reach = max(
                float(np.abs(basis @ direction[:-1]).max(initial=0.0)) / 3.0, abs(direction[-1]) / 1.5
            )
            size = 1.0 if reach <= 1.0 else 1.0 / reach
            gain = float(gradient @ direction)
            while gain > 0.0 and size > 1e-6:
                moved = evaluate(
                    cells, basis, fixed, gamma + size * direction[:-1], tau + size * direction[-1], rule
                )
                # Armijo's condition, less what rounding takes from a sum of this size.
                if moved.loglik >= state.loglik + 1e-4 * size * gain - 1e-11 * (1.0 + abs(state.loglik)):
                    break
                size *= 0.4
            else:
                continue
            break
        else:
            raise NoFiniteEstimateError(
                "The mixed model did not converge: the likelihood is flat. Use fewer control attributes"
            )
        gamma, tau, state = gamma + size * direction[:-1], tau + size * direction[-1], moved
        if tau < np.log(_SMALLEST_SIGMA):
            return None
        if tau > np.log(_LARGEST_SIGMA):
            break
    raise NoFiniteEstimateError(
        f"The mixed model has no finite estimate: {int(cells.block_weight @ cells.block_errors)} errors of"
        f" {cells.speakers} speakers are too few for it. Use more data or fewer control attributes"
    )


def _newton_step(
    gradient: FloatArray, hessian: FloatArray, tau: float, may_vanish: bool
) -> FloatArray | None:
    """Return the step in (gamma, tau), or None where it leads to sigma <= 0 and that may be."""
    step = _solve(hessian, gradient)
    if step is not None:
        return step
    # Near sigma = 0 the likelihood is flat in log sigma but well shaped in sigma^2.
    variance = np.exp(2.0 * tau)
    scale = np.ones(len(gradient))
    # Chain rule with u = sigma^2: d tau / du = 1 / (2 u), and d2 tau / du2 = -1 / (2 u^2).
    scale[-1] = 0.5 / variance
    curved = hessian * np.outer(scale, scale)
    curved[-1, -1] -= gradient[-1] * scale[-1] / variance
    step = _solve(curved, gradient * scale)
    if step is None:
        return _uphill(hessian, gradient)
    if variance + step[-1] <= 0.0 and may_vanish:
        return None
    # Back to log sigma; the variance falls to a tenth at most.
    step[-1] = 0.5 * np.log(max(1.0 + step[-1] / variance, 0.1))
    return step


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Return the Newton step uphill, or None where the function is not concave."""
    try:
        np.linalg.cholesky(-hessian)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(-hessian, gradient))


def _uphill(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(-hessian)
    # Curvatures made positive, none negligible: then the direction goes uphill whatever the Hessian.
    values = np.maximum(np.abs(values), 1e-4 * np.abs(values).max())
    return np.asarray(vectors @ ((vectors.T @ gradient) / values))


def _heterogeneity(
    cells: Cells, basis: FloatArray, fixed: FloatArray, gamma: FloatArray
) -> tuple[float, float]:
    """Return the slope of the log-likelihood in sigma^2 at 0 and a moment estimate of sigma^2."""
    expected = cells.per_block(cells.words * np.exp(basis @ gamma + fixed))
    # The score of sigma^2 at 0: squared residuals beyond what Poisson counts have.
    excess = float(cells.block_weight @ ((cells.block_errors - expected) ** 2 - expected))
    return 0.5 * excess, excess / float(cells.block_weight @ (expected * expected))


def _checked(
    cells: Cells,
    basis: FloatArray,
    fixed: FloatArray,
    found: Optimum,
    rule: Rule,
    nodes: int,
    grow: bool,
    wide: bool,
) -> Optimum:
    """Return `found`, or the optimum under the wide rule where the quadrature error is too large."""
    if wide or not grow or nodes == 1 or accurate(nodes, found.tau):
        return found
    linear = basis @ found.gamma + fixed
    eta = np.log(cells.per_block(cells.words * np.exp(linear)))
    errors = cells.block_errors
    miss = wide_rule(errors, eta, found.tau).value - rule(errors, eta, found.tau).value
    # Absolute values: errors of single speakers must not cancel.
    if float(cells.block_weight @ np.abs(miss)) <= _QUADRATURE_ERROR:
        return found
    better = _climb(cells, basis, fixed, found.gamma, found.tau, wide_rule)
    return found if better is None else better
