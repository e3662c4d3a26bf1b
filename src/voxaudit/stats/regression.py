"""Poisson regression that says what it could not estimate: the GLM or the mixed model on a design as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.poisson_glm import GlmFit, fit_poisson
from voxaudit.stats.poisson_glmm import DEFAULT_NODES, MixedFit, fit_mixed


@dataclass(frozen=True)
class Settings:
    """How to fit: with or without a random effect per speaker, and with how many quadrature nodes."""

    random: bool = True
    nodes: int = DEFAULT_NODES
    grow: bool = True


DEFAULTS = Settings()


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


def regress(cells: Cells, settings: Settings = DEFAULTS) -> Regression:
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
    from voxaudit.numeric import gammaincc

    return float(gammaincc(0.5 * df, 0.5 * chi2)) if df > 0 else 1.0


def normal_tails(z: float | FloatArray) -> FloatArray:
    """Return the two-sided tail of the normal distribution."""
    from voxaudit.numeric import erfc

    return np.asarray(erfc(np.abs(z) / np.sqrt(2.0)))


# Which columns of a design can be estimated: constants, exact combinations of others, and separation.

_DEPENDENT = 1e-7
"""A column whose part outside the span of the others is shorter than this (of unit length) adds nothing."""


@dataclass(frozen=True)
class Dependence:
    """A column that the kept columns before it determine."""

    column: int
    on: tuple[int, ...]
    """The columns it is a combination of; empty for a constant (that is, of the intercept alone)."""


def dependent_columns(design: FloatArray) -> tuple[Dependence, ...]:
    """Return the columns of `design` that earlier ones determine; column 0 has to be the intercept.

    Columns are centered and scaled first, so a raw birth year is judged by its spread and not by its size.
    """
    centered = design[:, 1:] - design[:, 1:].mean(axis=0)
    size = np.linalg.norm(centered, axis=0)
    constant = size <= _DEPENDENT * np.linalg.norm(design[:, 1:], axis=0)
    scaled = centered / np.where(constant, 1.0, size)
    if not constant.any() and len(scaled) > scaled.shape[1]:
        triangle = np.linalg.qr(scaled, mode="r")
        if np.abs(np.diag(triangle)).min(initial=1.0) > _DEPENDENT:
            return ()
    found: list[Dependence] = []
    kept: list[int] = []
    basis = np.empty((len(scaled), 0))
    for column in range(scaled.shape[1]):
        rest = scaled[:, column]
        for _ in range(2):  # twice is enough for orthogonality to rounding
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if constant[column]:
            found.append(Dependence(column + 1, ()))
        elif length <= _DEPENDENT:
            shares = np.linalg.lstsq(scaled[:, kept], scaled[:, column], rcond=None)[0]
            on = tuple(kept[i] + 1 for i in np.flatnonzero(np.abs(shares) > 1e-6))
            found.append(Dependence(column + 1, on))
        else:
            kept.append(column)
            basis = np.column_stack([basis, rest / length])
    return tuple(found)


@dataclass(frozen=True)
class Separation:
    """Cells whose expected errors go to zero at the maximum of the likelihood, and the columns that take them there."""

    cells: NDArray[np.bool_]
    direction: FloatArray
    """Minus one, zero or plus one per column: where its coefficient runs to."""


def separation(design: FloatArray, errors: FloatArray) -> Separation:
    """Find the cells without errors that a combination of columns can drive to a rate of zero.

    The likelihood of a Poisson model has no finite maximum in a direction d with `design @ d = 0` for every cell
    with errors and `<= 0` for all others. At the limit those cells are predicted perfectly (likelihood 1) and say
    nothing about the remaining coefficients, so the fit goes on without them.
    """
    none = Separation(np.zeros(len(errors), dtype=bool), np.zeros(design.shape[1]))
    scale = np.linalg.norm(design, axis=0)
    scaled = design / np.where(scale > 0.0, scale, 1.0)
    hit = scaled[errors > 0]
    _, values, axes = (
        np.linalg.svd(hit, full_matrices=True)
        if len(hit) < hit.shape[1]
        else np.linalg.svd(np.linalg.qr(hit, mode="r"), full_matrices=True)
    )
    rank = int((values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    free = axes[rank:].T
    if not free.shape[1]:
        return none
    from scipy.optimize import linprog

    slopes = np.unique(np.round(scaled[errors == 0] @ free, 12), axis=0)
    width = free.shape[1]
    answer = linprog(
        slopes.sum(axis=0),
        A_ub=slopes,
        b_ub=np.zeros(len(slopes)),
        bounds=[(-1.0, 1.0)] * width,
        method="highs",
    )
    if not answer.success or answer.fun > -1e-9:
        return none
    towards = free @ answer.x
    falling = (scaled @ towards < -1e-9) & (errors == 0)
    towards[np.abs(towards) < 1e-7 * np.abs(towards).max()] = 0.0
    return Separation(falling, np.sign(towards))
