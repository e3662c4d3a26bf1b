"""Three intervals of a ratio of error rates: by the profile likelihood, Wald's, and with speakers as the sample.

The profile's holds all values of one coefficient that a likelihood-ratio test would not reject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.poisson_glm import maximize_poisson
from voxaudit.stats.poisson_glmm import MixedFit, NoFiniteEstimateError, Optimum, evaluate, maximize_mixed
from voxaudit.stats.quadrature import gauss_hermite, wide_rule
from voxaudit.stats.regression import Regression, Settings, chi2_tail, normal_tails, set_aside
from voxaudit.stats.robust import Sandwich

_Z = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of a ratio and the p-value of the ratio 1 by the same method."""

    low: float | None
    high: float | None
    p: float | None
    se: float | None = None
    """Standard error of the log-ratio, where the method has one."""


def intervals(
    regression: Regression, column: int, sandwich: Sandwich | None
) -> tuple[Interval, Interval | None, Interval | None]:
    """Return the profile, the Wald and the speaker-robust interval of one coefficient's ratio."""
    estimate, se = regression.estimate(column)
    found = profile_interval(regression, column)
    profile = Interval(float(np.exp(found.low)), float(np.exp(found.high)), found.p)
    if not np.isfinite(estimate):
        return profile, None, None
    wald = _around(estimate, se, _Z, float(normal_tails(estimate / se)))
    if np.isnan(found.p):
        profile = Interval(profile.low, profile.high, wald.p)
    return profile, wald, None if sandwich is None else robust_interval(regression, column, sandwich)


def robust_interval(regression: Regression, column: int, sandwich: Sandwich) -> Interval | None:
    """Return the speaker-robust interval of a coefficient's ratio: t distribution, speakers as the sample."""
    from voxaudit.numeric import stdtr, stdtrit

    if column not in regression.finite:
        return None
    estimate, _ = regression.estimate(column)
    at = regression.finite.index(column)
    se, freedom = sandwich.standard_error(at), float(sandwich.freedom[at])
    if not (se > 0.0 and freedom > 0.0):
        return None
    p = 2.0 * float(stdtr(freedom, -abs(estimate / se)))
    return _around(estimate, se, float(stdtrit(freedom, 0.975)), p)


def _around(estimate: float, se: float, reach: float, p: float) -> Interval:
    low, high = np.exp(estimate - reach * se), np.exp(estimate + reach * se)
    return Interval(float(low), float(high), p, se)


_FURTHEST = 50.0
"""No limit is looked for beyond a log-ratio of 50 from the start."""


@dataclass(frozen=True)
class ProfileInterval:
    """Limits of a coefficient (infinite where the data set none) and the test of the value 0 (nan: none)."""

    low: float
    high: float
    chi2: float
    p: float


@dataclass(frozen=True)
class _Profile:
    """The model with one coefficient held fixed."""

    cells: Cells
    basis: FloatArray
    column: FloatArray
    settings: Settings

    def at(self, value: float, start: Optimum | None) -> tuple[Optimum, float]:
        """Return the best fit with the coefficient at `value`, and the slope of the profile there."""
        cells, fixed = self.cells, value * self.column
        if not self.settings.random:
            gamma, loglik, information = maximize_poisson(
                cells, self.basis, fixed, None if start is None else start.gamma
            )
            best = Optimum(gamma, -np.inf, loglik, information, False)
        else:
            settings = self.settings
            best = maximize_mixed(
                cells, self.basis, fixed, nodes=settings.nodes, grow=settings.grow, start=start
            )
        linear = self.basis @ best.gamma + fixed
        expected = cells.words * np.exp(linear)
        if not best.boundary:
            rule = wide_rule if best.wide else gauss_hermite(self.settings.nodes)
            state = evaluate(cells, self.basis, fixed, best.gamma, best.tau, rule)
            # The posterior mean of the expected errors, not that of a speaker with r = 0.
            expected = -state.mean * cells.to_cells(state.integral.d_eta / state.block_mean)
        # Envelope theorem: at the optimum the other parameters' movement adds nothing to the slope.
        return best, float((cells.weight * self.column) @ (cells.errors - expected))


def profile_interval(model: Regression, column: int, confidence: float = 0.95) -> ProfileInterval:
    """Return the profile-likelihood interval of one coefficient and the likelihood-ratio test that it is 0.

    A coefficient at minus infinity (a group without errors) has no lower limit, but a finite upper one.
    """
    source = model.source
    rest = [other for other in model.columns if other != column]
    # With this coefficient held, its own separation is gone; that of other columns is not.
    left_out, infinite = set_aside(source, rest)
    free = [other for other in rest if other not in infinite]
    cells = source.without(left_out, [*free, column])
    profile = _Profile(
        cells,
        np.linalg.qr(cells.design[:, :-1])[0],
        np.ascontiguousarray(cells.design[:, -1]),
        model.settings,
    )
    # How far the log-likelihood may fall (Venzon and Moolgavkar 1988).
    limit = 0.5 * _chi2_quantile(confidence)
    estimate, se = model.estimate(column)
    guess = _tangent(model, free, column, profile)
    best = model.loglik

    def drop(value: float, start: Optimum | None) -> tuple[float, float, Optimum]:
        optimum, slope = profile.at(value, start or guess(value))
        return best - optimum.loglik, -slope, optimum

    try:
        chi2 = max(0.0, 2.0 * drop(0.0, None)[0])
    except NoFiniteEstimateError:
        chi2 = np.nan
    if np.isfinite(estimate):
        width = max(se, 1e-8) * np.sqrt(2.0 * limit)
        low = _crossing(drop, limit, estimate, -width)
        high = _crossing(drop, limit, estimate, width)
    else:
        side = -np.sign(estimate)
        # Without an error the likelihood falls by the errors expected: the first guess is where these reach `limit`.
        exposed = cells.words * cells.weight * (cells.design[:, -1] != 0.0)
        rate = float((cells.errors * cells.weight).sum() / (cells.words * cells.weight).sum())
        first = -estimate if not rate else side * np.log(max(limit / max(rate * exposed.sum(), 1e-12), 1e-12))
        away = _escape(drop, limit, float(first), float(side))
        low, high = (-np.inf, away) if side > 0 else (away, np.inf)
    return ProfileInterval(low, high, chi2, chi2_tail(chi2, 1))


def _tangent(
    model: Regression, free: list[int], column: int, profile: _Profile
) -> Callable[[float], Optimum | None]:
    """Return a first guess of the other coefficients along the profile: the tangent at the full estimate."""
    fit, finite = model.fit, model.finite
    if column not in finite or [c for c in finite if c != column] != free:
        return lambda value: None
    mixed = isinstance(fit, MixedFit) and not fit.boundary
    joint = fit.joint_covariance if isinstance(fit, MixedFit) else fit.covariance
    place = finite.index(column)
    rest = [i for i in range(len(finite)) if i != place]
    # Along the profile the others move as a regression on this coefficient: d beta / d b = covariance / variance.
    tilt = joint[:, place] / joint[place, place]
    center, reach = fit.coefficients[place], 4.0 * np.sqrt(joint[place, place])
    triangle = profile.basis.T @ profile.cells.design[:, :-1]

    def guess(value: float) -> Optimum:
        ahead = float(np.clip(value - center, -reach, reach))
        gamma = triangle @ (fit.coefficients[rest] + tilt[rest] * ahead)
        if not isinstance(fit, MixedFit) or not mixed:
            return Optimum(gamma, -np.inf, np.nan, joint, False)
        tau = np.log(fit.sigma) + np.clip(tilt[-1] * ahead, -0.5, 0.5)
        return Optimum(gamma, float(tau), np.nan, joint, fit.nodes is None)

    return guess


Drop = Callable[[float, Optimum | None], tuple[float, float, Optimum]]


def _crossing(drop: Drop, limit: float, center: float, width: float) -> float:
    """Solve drop(b) = limit on one side of the estimate; Newton on the signed root, kept inside a bracket."""
    inner, outer = center, np.nan
    value, side = center + width, np.sign(width)
    target = np.sqrt(2.0 * limit)
    start: Optimum | None = None
    for _ in range(60):
        try:
            height, slope, start = drop(value, start)
        except NoFiniteEstimateError:
            return float(side * np.inf)
        # The signed root is nearly a straight line in b, which the drop is not: Newton needs few steps.
        root = np.sqrt(2.0 * max(height, 0.0))
        if abs(root - target) < 1e-9:
            return float(value)
        if root < target:
            inner = value
        else:
            outer = value
        tilt = side * slope / root if root > 0.0 else 0.0
        new = value + side * (target - root) / tilt if tilt > 0.0 else value + width
        if np.isfinite(outer):
            if not min(inner, outer) < new < max(inner, outer):
                new = 0.5 * (inner + outer)
        else:
            # No limit crossed so far: go on, but not by leaps in which the fit may diverge.
            new = value + side * min(max(abs(new - value), 1e-12), 4.0 * abs(width) + abs(value - center))
        if abs(new - center) > _FURTHEST:
            return float(side * np.inf)
        if abs(new - value) < 1e-12 * (1.0 + abs(value)):
            return float(new)
        value = new
    return float(value)


def _escape(drop: Drop, limit: float, value: float, side: float) -> float:
    """Solve drop(b) = limit for a coefficient whose estimate is infinite; the drop falls to 0 towards it."""
    below, above = np.nan, np.nan
    origin = value
    start: Optimum | None = None
    for _ in range(80):
        try:
            height, slope, start = drop(value, start)
        except NoFiniteEstimateError:
            return float(side * np.inf)
        if abs(height - limit) < 1e-10:
            return float(value)
        if height < limit:
            below = value
        else:
            above = value
        # Far out the drop is proportional to exp(b): Newton on its logarithm.
        rise = side * slope / height if height > 0.0 else 0.0
        new = (
            value + side * np.clip(np.log(limit / height) / rise, -2.0, 2.0)
            if rise > 0.0
            else value + 2.0 * side
        )
        if np.isfinite(below) and np.isfinite(above) and not min(below, above) < new < max(below, above):
            new = 0.5 * (below + above)
        if abs(new - origin) > _FURTHEST:
            return float(side * np.inf)
        if abs(new - value) < 1e-12 * (1.0 + abs(value)):
            return float(new)
        value = float(new)
    return float(value)


def _chi2_quantile(confidence: float) -> float:
    from voxaudit.numeric import chdtri

    return float(chdtri(1.0, 1.0 - confidence))
