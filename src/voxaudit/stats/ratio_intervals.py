"""Three intervals of a ratio of error rates: by the profile likelihood, Wald's, and with speakers as the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.stats.profile import profile_interval
from voxaudit.stats.regression import Regression, normal_tails
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
    from scipy.special import stdtr, stdtrit

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
