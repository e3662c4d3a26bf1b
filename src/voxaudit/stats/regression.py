"""Poisson regression that says what it could not estimate: the GLM or the mixed model on a design as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.design import Dependence, dependent_columns, separation
from voxaudit.stats.poisson_glm import GlmFit, fit_poisson
from voxaudit.stats.poisson_glmm import DEFAULT_NODES, MixedFit, fit_mixed


@dataclass(frozen=True)
class Settings:
    """How to fit: with or without a random effect per speaker, and with how many quadrature nodes."""

    random: bool = True
    nodes: int = DEFAULT_NODES
    grow: bool = True


@dataclass(frozen=True)
class Regression:
    """A fitted model. `columns` are the estimable columns of the design; `estimates` covers all of them."""

    source: Cells
    """The data as they came."""
    cells: Cells
    """The data that the finite coefficients were estimated from."""
    settings: Settings
    columns: tuple[int, ...]
    dependent: tuple[Dependence, ...]
    """Columns that were left out because others determine them."""
    infinite: dict[int, float]
    """Columns whose coefficient runs to minus or plus infinity, with the sign."""
    fit: GlmFit | MixedFit

    @property
    def loglik(self) -> float:
        """The full log-likelihood; cells that are predicted perfectly add nothing to it."""
        return self.fit.loglik

    @property
    def finite(self) -> tuple[int, ...]:
        """The columns with a finite coefficient, in the order of `fit.coefficients`."""
        return tuple(column for column in self.columns if column not in self.infinite)

    @property
    def sigma(self) -> float | None:
        """Standard deviation of the speakers' log-rates; None without a random effect."""
        return self.fit.sigma if isinstance(self.fit, MixedFit) else None

    def estimate(self, column: int) -> tuple[float, float]:
        """Return a column's coefficient and standard error (infinite and nan under separation)."""
        if column in self.infinite:
            return self.infinite[column] * np.inf, np.nan
        place = self.finite.index(column)
        return float(self.fit.coefficients[place]), float(self.fit.standard_errors[place])


def regress(cells: Cells, settings: Settings = Settings()) -> Regression:  # noqa: B008 (frozen)
    """Fit errors ~ Poisson(words exp(design @ beta [+ speaker])); column 0 of the design is the intercept.

    Columns that earlier ones determine are left out; cells without errors that the model predicts perfectly at an
    infinite coefficient are set aside. Both are recorded.
    """
    dependent = () if _full_rank(cells) else dependent_columns(cells.design)
    columns = tuple(sorted(set(range(cells.design.shape[1])) - {one.column for one in dependent}))
    left_out, infinite = set_aside(cells, columns)
    finite = [column for column in columns if column not in infinite]
    used = cells
    if left_out.any() or len(finite) < cells.design.shape[1]:
        used = cells.without(left_out, finite)
    fit = fit_mixed(used, nodes=settings.nodes, grow=settings.grow) if settings.random else fit_poisson(used)
    return Regression(cells, used, settings, columns, dependent, infinite, fit)


def _full_rank(cells: Cells) -> bool:
    """Say quickly that no column is determined by others; a no has to be looked into."""
    triangle = cells.orthonormal[1]
    size = np.sqrt((triangle * triangle).sum(axis=0))
    return len(triangle) == triangle.shape[1] and bool((np.abs(triangle.diagonal()) > 1e-6 * size).all())


def _errors_everywhere(cells: Cells) -> bool:
    """Say quickly that the cells with errors alone determine every coefficient; a no has to be looked into."""
    hit = cells.errors > 0.0
    if hit.all():
        return True
    basis = cells.orthonormal[0]
    return float(np.linalg.eigvalsh((basis * hit[:, None]).T @ basis)[0]) > 1e-8


def set_aside(cells: Cells, columns: Sequence[int]) -> tuple[NDArray[np.bool_], dict[int, float]]:
    """Return the cells that a model with these columns predicts perfectly, and the columns that do it (with sign)."""
    infinite: dict[int, float] = {}
    left_out = np.zeros(len(cells.errors), dtype=bool)
    if len(columns) == cells.design.shape[1] and _errors_everywhere(cells):
        return left_out, infinite
    while finite := [column for column in columns if column not in infinite]:
        found = separation(cells.design[~left_out][:, finite], cells.errors[~left_out])
        if not found.cells.any():
            break
        left_out[np.flatnonzero(~left_out)[found.cells]] = True
        infinite |= {c: float(s) for c, s in zip(finite, found.direction, strict=True) if s}
    return left_out, infinite


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test."""

    chi2: float
    df: int
    p: float


def likelihood_ratio(full: Regression, null: Regression) -> LikelihoodRatio:
    """Test the columns that `full` has and `null` lacks."""
    df = len(full.columns) - len(null.columns)
    chi2 = max(0.0, 2.0 * (full.loglik - null.loglik))
    return LikelihoodRatio(chi2, df, chi2_tail(chi2, df))


def without_columns(full: Regression, columns: tuple[int, ...]) -> Regression:
    """Fit the model again without some of its columns (the null model of a test)."""
    keep = [column for column in full.columns if column not in columns]
    return regress(full.source.without(np.zeros(len(full.source.errors), dtype=bool), keep), full.settings)


def chi2_tail(chi2: float, df: int) -> float:
    """Return the upper tail of the chi-squared distribution."""
    from scipy.special import gammaincc

    return float(gammaincc(0.5 * df, 0.5 * chi2)) if df > 0 else 1.0


def normal_tails(z: float | FloatArray) -> FloatArray:
    """Return the two-sided tail of the normal distribution."""
    from scipy.special import erfc

    return np.asarray(erfc(np.abs(z) / np.sqrt(2.0)))
