"""Standard errors that hold where the Poisson assumption within a speaker does not: the speaker-cluster sandwich."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.stats.cells import FloatArray
from voxaudit.stats.poisson_glmm import MixedFit, evaluate
from voxaudit.stats.quadrature import gauss_hermite, wide_rule
from voxaudit.stats.regression import Regression


@dataclass(frozen=True)
class RobustTest:
    """A Wald test of several coefficients with the sandwich covariance, as Hotelling's T^2 has it."""

    f: float
    df: int
    df_speakers: int
    p: float


def robust_covariance(model: Regression) -> FloatArray:
    """Return the covariance of `model.finite` from what the speakers' scores really varied by.

    The inverse information assumes that errors within a speaker are Poisson and that a covariate acts alike on all
    speakers. The sandwich assumes only that speakers are independent. It is scaled by n / (n - k) for n speakers and
    k columns that are constant within speakers, because those have been fitted to the speakers.
    """
    fit, cells = model.fit, model.cells
    if not isinstance(fit, MixedFit):
        raise TypeError("the speaker sandwich needs a model with speakers")
    design = cells.design
    nothing = np.zeros(len(cells.errors))
    if fit.boundary:
        mean = cells.words * np.exp(design @ fit.coefficients)
        scores = cells.per_block(design * (cells.errors - mean)[:, None])
    else:
        rule = wide_rule if fit.nodes is None else gauss_hermite(fit.nodes)
        state = evaluate(cells, design, nothing, fit.coefficients, float(np.log(fit.sigma)), rule)
        pull = cells.errors + state.mean * cells.to_cells(state.integral.d_eta / state.block_mean)
        scores = np.column_stack([cells.per_block(design * pull[:, None]), state.integral.d_tau])
    bread = fit.joint_covariance
    meat = scores.T @ (scores * cells.block_weight[:, None])
    size = len(fit.coefficients)
    speakers = float(cells.block_weight.sum())
    return np.asarray((bread @ meat @ bread)[:size, :size] * (speakers / max(speaker_freedom(model), 1)))


def speaker_freedom(model: Regression) -> int:
    """Return the number of speakers less the columns that are constant within speakers."""
    return round(float(model.cells.block_weight.sum())) - int(model.cells.constant_within.sum())


def robust_test(model: Regression, columns: tuple[int, ...], covariance: FloatArray) -> RobustTest | None:
    """Test that the coefficients of `columns` are all 0; None where one is infinite or there are too few speakers."""
    finite, tested = model.finite, len(columns)
    df = speaker_freedom(model) - tested + 1
    if df < 1 or any(column not in finite for column in columns):
        return None
    from scipy.special import fdtrc

    places = [finite.index(column) for column in columns]
    part = covariance[np.ix_(places, places)]
    estimates = model.fit.coefficients[places]
    if np.linalg.matrix_rank(part) < tested:
        return None
    # A covariance estimated from nu speakers: T^2 (nu - q + 1) / (nu q) has an F distribution.
    f = float(estimates @ np.linalg.solve(part, estimates)) * df / (tested * (df + tested - 1))
    return RobustTest(f, tested, df, float(fdtrc(tested, df, f)))
