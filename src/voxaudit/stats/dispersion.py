"""Do the errors vary as the model says? Pearson's statistic against the Poisson and against the mixed model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.poisson_glm import fit_poisson
from voxaudit.stats.poisson_glmm import MixedFit
from voxaudit.stats.quadrature import posterior_modes
from voxaudit.stats.regression import Regression


@dataclass(frozen=True)
class Dispersion:
    """Pearson's chi-squared over its degrees of freedom; 1 is what the model predicts, more is overdispersion."""

    poisson: float
    """Against the regression without speakers."""
    mixed: float | None
    """Within speakers, against the mixed model at the speakers' modes; None without a random effect."""


def dispersion(model: Regression) -> Dispersion:
    """Return how much more the utterances' errors vary than the model says, from sufficient statistics alone."""
    cells, fit = model.cells, model.fit
    size = cells.design.shape[1]
    if not isinstance(fit, MixedFit):
        plain = np.exp(cells.design @ fit.coefficients)
        return Dispersion(_ratio(cells, plain, size), None)
    poisson = _ratio(cells, np.exp(cells.design @ fit_poisson(cells).coefficients), size)
    if fit.boundary:
        return Dispersion(poisson, poisson)
    rate = np.exp(cells.design @ fit.coefficients)
    tau = float(np.log(fit.sigma))
    modes, at_mode = posterior_modes(cells.block_errors, np.log(cells.per_block(cells.words * rate)), tau)
    # A shrunken mode spends only part of a degree of freedom.
    spent = float(cells.block_weight @ (at_mode / (at_mode + fit.sigma**-2)))
    return Dispersion(poisson, _ratio(cells, rate * np.exp(cells.to_cells(modes)), size + spent))


def speaker_spread(errors: FloatArray, words: FloatArray) -> float:
    """Return the standard deviation of speakers' log error rates beyond what counting explains; 0 where there is none.

    By moments, from each speaker's errors and words: `cv^2 = sum((e - r w)^2 - r w) / sum((r w)^2)` with r the rate of
    all, and `sigma^2 = log(1 + cv^2)`, as for log-normal rates.

    >>> round(speaker_spread(np.array([10.0, 20.0, 60.0]), np.full(3, 100.0)), 2)
    0.63
    """
    if not errors.sum():
        return 0.0
    expected = words * (errors.sum() / words.sum())
    squared = float(np.sum((errors - expected) ** 2 - expected) / np.sum(expected**2))
    return float(np.sqrt(np.log1p(max(squared, 0.0))))


def _ratio(cells: Cells, rate: FloatArray, spent: float) -> float:
    # Sum over a cell's utterances of (errors - words rate)^2 / (words rate).
    pearson = cells.squares / rate - 2.0 * cells.errors + cells.words * rate
    freedom = cells.utterances - spent
    return float(cells.weight @ pearson) / freedom if freedom > 0.0 else float("nan")
