"""Poisson regression of word errors with the words as exposure (Liu et al. 2022, Eq. 2 to 4), by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import Cells, FloatArray

SETTLED = 1e-8
"""A Newton step that promises less than this in log-likelihood is the last: it is 1e-4 standard errors long, and what
remains after it is of the order of its square. Nothing has to be evaluated again: half of the gain is what it adds."""


@dataclass(frozen=True)
class GlmFit:
    """A fitted Poisson regression: log-rates per word, without speakers."""

    coefficients: FloatArray
    covariance: FloatArray
    loglik: float
    """The full log-likelihood, with all constants."""

    @property
    def standard_errors(self) -> FloatArray:
        """One standard error a coefficient."""
        return np.sqrt(np.diag(self.covariance))


def fit_poisson(cells: Cells) -> GlmFit:
    """Fit errors ~ Poisson(words * exp(design @ beta)). The design must have full rank and no separation."""
    basis, triangle = cells.orthonormal
    gamma, loglik, information = maximize_poisson(cells, basis, np.zeros(len(cells.errors)))
    back = np.linalg.inv(triangle)
    return GlmFit(back @ gamma, back @ np.linalg.inv(information) @ back.T, loglik)


def maximize_poisson(
    cells: Cells, basis: FloatArray, fixed: FloatArray, start: FloatArray | None = None
) -> tuple[FloatArray, float, FloatArray]:
    """Return the best coefficients of `basis`, the log-likelihood and the information matrix.

    `fixed` is a part of the linear predictor that is not estimated, one entry per cell.
    """
    errors, weight = cells.errors * cells.weight, cells.weight
    offset = np.log(cells.words) + fixed
    if not basis.shape[1]:
        mean = weight * np.exp(offset)
        return np.zeros(0), cells.constant + float(errors @ fixed - mean.sum()), np.zeros((0, 0))
    if start is None:
        start = _start(cells, basis, fixed)
    gamma: FloatArray = start
    linear = basis @ gamma
    with np.errstate(over="ignore"):
        mean = weight * np.exp(offset + linear)
    loglik = float(errors @ (linear + fixed) - mean.sum())
    for _ in range(100):
        gradient = basis.T @ (errors - mean)
        information = basis.T @ (basis * mean[:, None])
        step = np.linalg.solve(information, gradient)
        gain = float(gradient @ step)
        if gain < SETTLED:
            return gamma + step, cells.constant + loglik + 0.5 * gain, information
        move = basis @ step
        size = min(1.0, 8.0 / max(float(np.abs(move).max()), 1e-300))
        while True:
            linear_new = linear + size * move
            with np.errstate(over="ignore"):
                mean_new = weight * np.exp(offset + linear_new)
            loglik_new = float(errors @ (linear_new + fixed) - mean_new.sum())
            if loglik_new >= loglik - 1e-9 * (1.0 + abs(loglik)) or size < 1e-8:
                break
            size *= 0.5
        gamma, linear, mean, loglik = gamma + size * step, linear_new, mean_new, loglik_new
    raise VoxauditError(
        "The Poisson regression did not converge: a combination of control attributes separates utterances with errors"
        " from those without. Leave out controls with few distinct utterances"
    )


def _start(cells: Cells, basis: FloatArray, fixed: FloatArray) -> FloatArray:
    if float(cells.errors.mean()) < 50.0:  # few errors per cell: the same rate everywhere
        rate = (cells.weight @ cells.errors) / (cells.weight @ (cells.words * np.exp(fixed)))
        return np.asarray(basis.T @ np.full(len(basis), np.log(rate)))
    # Many: one least-squares step from the cells' own rates, the usual start of a Poisson regression.
    mean = cells.weight * (cells.errors + 0.5)
    target = np.log((cells.errors + 0.5) / cells.words) - fixed
    return np.asarray(np.linalg.solve(basis.T @ (basis * mean[:, None]), basis.T @ (mean * target)))
