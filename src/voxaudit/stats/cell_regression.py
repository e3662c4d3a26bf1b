"""Least squares of speakers' word error rates on categorical variables, from cells of alike speakers.

Speakers with the same levels share a row of the design, so numbers, means and sums of squares of the cells carry
everything, whatever the number of speakers. Standard errors are the HC3 sandwich: with one row a speaker that is the
cluster-robust covariance with speakers as clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_FULL_LEVERAGE = 1e-9


def estimable_columns(design: FloatArray) -> list[int]:
    """Return the columns that earlier ones do not determine.

    By Cholesky's method on the columns' inner products, passing over what has nothing new: those of indicator columns
    are whole numbers, so little is lost by it, and the number of rows does not matter.
    """
    left = design.T @ design
    size = np.diag(left).copy()
    kept: list[int] = []
    for column in range(len(left)):
        pivot = left[column, column]
        if pivot > 1e-9 * size[column]:
            kept.append(column)
            row = left[column, column:] / pivot
            # Take this column's share out of all later ones.
            left[column:, column:] -= left[column:, column, None] * row
    return kept


@dataclass(frozen=True)
class CellDesign:
    """A design and its cells' numbers of speakers, worked out once for any number of recognizers."""

    design: FloatArray
    n: FloatArray
    basis: FloatArray
    back: FloatArray
    """The inverse of the triangle of `design * sqrt(n) = basis @ triangle`."""
    free: FloatArray
    """One less the leverage of a speaker of each cell."""
    pull: FloatArray
    """How each cell's speakers move the coefficients."""
    single: NDArray[np.bool_]


def prepare_cells(design: FloatArray, n: FloatArray) -> CellDesign:
    """Prepare the regression on `design` of cells with `n` speakers each; the design must have full column rank."""
    basis, triangle = np.linalg.qr(design * np.sqrt(n)[:, None])
    back = np.linalg.inv(triangle)
    free = 1.0 - (basis**2).sum(axis=1) / n
    pull = back @ (basis / np.sqrt(n)[:, None]).T
    scale = np.abs(pull).max(axis=1, initial=1e-300)
    single = (np.abs(pull[:, free < _FULL_LEVERAGE]) > 1e-9 * scale[:, None]).any(axis=1)
    return CellDesign(design, n, basis, back, free, pull, single)


@dataclass(frozen=True)
class CellFit:
    """A fitted regression; `coefficients` are in the order of the design's columns."""

    coefficients: FloatArray
    covariance: FloatArray
    df: int
    """Speakers less coefficients."""
    r_squared: float
    single: NDArray[np.bool_]
    """Coefficients that rest on one speaker alone: nothing can be said about their error."""

    @property
    def standard_errors(self) -> FloatArray:
        """One standard error a coefficient; nan where a single speaker decides."""
        return np.where(self.single, np.nan, np.sqrt(np.diag(self.covariance)))


def fit_cells(cells: CellDesign, mean: FloatArray, m2: FloatArray) -> CellFit:
    """Fit the cells' `mean` word error rates; `m2` is the sum of squares of the speakers about their cell's mean."""
    n = cells.n
    coefficients = cells.back @ (cells.basis.T @ (mean * np.sqrt(n)))
    residual = mean - cells.design @ coefficients
    squares = m2 + n * residual**2
    decided = cells.free < _FULL_LEVERAGE
    meat = np.where(decided, 0.0, squares / np.maximum(cells.free, _FULL_LEVERAGE) ** 2)
    overall = float(n @ mean) / float(n.sum())
    total = float(m2.sum() + n @ (mean - overall) ** 2)
    return CellFit(
        coefficients=coefficients,
        covariance=(cells.pull * meat) @ cells.pull.T,
        df=round(float(n.sum())) - cells.design.shape[1],
        r_squared=1.0 - float(squares.sum()) / total if total > 0.0 else float("nan"),
        single=cells.single,
    )


@dataclass(frozen=True)
class Wald:
    """A joint test that several coefficients are 0, referred to an F distribution."""

    f: float
    df: int
    df_speakers: int
    p: float


def wald(fit: CellFit, columns: Sequence[int]) -> Wald | None:
    """Test the coefficients of `columns` together; None where single speakers decide or nothing varies."""
    from scipy.special import fdtrc

    places = list(columns)
    part = fit.covariance[np.ix_(places, places)]
    if fit.df < 1 or not places or fit.single[places].any():
        return None
    size = np.sqrt(np.diag(part))
    if not (size > 1e-12).all() or np.linalg.matrix_rank(part / np.outer(size, size)) < len(places):
        return None
    estimate = fit.coefficients[places] / size
    f = float(estimate @ np.linalg.solve(part / np.outer(size, size), estimate)) / len(places)
    return Wald(f, len(places), fit.df, float(fdtrc(len(places), fit.df, f)))
