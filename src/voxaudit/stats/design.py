"""Which columns of a design can be estimated: constants, exact combinations of others, and separation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import FloatArray

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

    Columns are centred and scaled first, so a raw birth year is judged by its spread and not by its size.
    """
    centred = design[:, 1:] - design[:, 1:].mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    constant = size <= _DEPENDENT * np.linalg.norm(design[:, 1:], axis=0)
    scaled = centred / np.where(constant, 1.0, size)
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
    """Minus one, zero or plus one a column: where its coefficient runs to."""


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
