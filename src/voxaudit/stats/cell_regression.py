"""Least squares of speakers' word error rates on categorical variables, from cells of alike speakers.

Speakers of the same groups share a row of the design, so numbers, means and sums of squares of the cells carry
everything, whatever the number of speakers. Standard errors are the HC2 sandwich: with one row per speaker that is the
cluster-robust covariance (CR2) with speakers as clusters. A variance that rests on two or three speakers is itself a
guess, and the degrees of freedom say so: Bell and McCaffrey's for one coefficient, Pustejovsky and Tipton's (2018) for
several. With a group against another they are Welch's for equal variances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.stats.group_ratios import guard_p, poisson_slopes
from voxaudit.stats.ttests import kish_freedom

FloatArray = NDArray[np.float64]

_FULL_LEVERAGE = 1e-9

MOST_CELLS = 2000
"""With more cells the degrees of freedom are a lower bound: no table of all pairs of cells is made."""


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
    df: FloatArray
    """Degrees of freedom of each coefficient; nan where a single speaker decides."""
    joint: dict[tuple[int, ...], float] = field(default_factory=dict, compare=False)
    """Those of several at once, kept for the next recognizer: rates have no part in them."""

    @cached_property
    def shared(self) -> FloatArray:
        """The square of how much a speaker of each cell moves the fit of a speaker of each other one."""
        rows = self.basis / np.sqrt(self.n)[:, None]
        return np.asarray(rows @ rows.T) ** 2


def prepare_cells(design: FloatArray, n: FloatArray) -> CellDesign:
    """Prepare the regression on `design` of cells with `n` speakers each; the design must have full column rank."""
    # QR, as the normal equations square the condition number.
    basis, triangle = np.linalg.qr(design * np.sqrt(n)[:, None])
    back = np.linalg.inv(triangle)
    free = 1.0 - (basis**2).sum(axis=1) / n
    # (X'NX)^-1 x for every cell: X'NX is triangle' triangle, so one of the two inverses cancels.
    pull = back @ (basis / np.sqrt(n)[:, None]).T
    scale = np.abs(pull).max(axis=1, initial=1e-300)
    single = (np.abs(pull[:, free < _FULL_LEVERAGE]) > 1e-9 * scale[:, None]).any(axis=1)
    whole = CellDesign(design, n, basis, back, free, pull, single, df=np.full(len(pull), np.nan))
    return replace(whole, df=_each_df(whole))


def _each_df(cells: CellDesign) -> FloatArray:
    """Return the degrees of freedom of every coefficient by itself (Bell and McCaffrey 2002).

    Twice the squared expectation of the variance's estimate over its variance, speakers varying alike everywhere: with
    weights w_i = pull_i^2 / (1 - h_i) of speakers i and their residuals' covariance I - H,
    `(sum pull_i^2)^2 / sum_ij w_i w_j (I - H)_ij^2`.
    """
    decided = cells.free < _FULL_LEVERAGE
    free = np.where(decided, 1.0, cells.free)
    square = np.where(decided, 0.0, cells.pull**2)
    weight = square / free
    if len(cells.n) > MOST_CELLS:
        # w_i w_j is at most (w_i^2 + w_j^2) / 2, and a row of (I - H)^2 sums to 1 - h_i.
        spread = (weight**2 * free) @ cells.n
    else:
        # The table has h^2 for a speaker with himself, where (1 - h)^2 belongs: 1 - 2 h more.
        own = (weight**2 * (2.0 * free - 1.0)) @ cells.n
        spread = own + ((weight * cells.n) @ cells.shared * weight) @ cells.n
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (square @ cells.n) ** 2 / spread
    return np.where(cells.single, np.nan, df)


def joint_df(cells: CellDesign, columns: Sequence[int]) -> float:
    """Return the degrees of freedom of the covariance of several coefficients (Pustejovsky and Tipton 2018, HTZ).

    Those of the Wishart matrix whose entries vary as much in all as the estimated covariance's, speakers varying alike
    everywhere: with k columns and P_ij = pull_i' (C (X'X)^-1 C')^-1 pull_j,
    `k (k + 1) / (2 sum_ij P_ij^2 (I - H)_ij^2 / ((1 - h_i) (1 - h_j)))`. One column gives Bell and McCaffrey's.
    """
    places = list(columns)
    if (known := cells.joint.get(tuple(places))) is not None:
        return known
    decided = cells.free < _FULL_LEVERAGE
    free = np.where(decided, 1.0, cells.free)
    pull = np.where(decided, 0.0, cells.pull[places])
    working = cells.back[places] @ cells.back[places].T
    whitened = np.linalg.solve(np.linalg.cholesky(working), pull)
    own = (whitened**2).sum(axis=0)
    if len(cells.n) > MOST_CELLS:
        spread = float((own**2 / free) @ cells.n)  # the same bound; P_ij^2 is at most P_ii P_jj
    else:
        scaled = cells.n / free
        pairs = whitened.T @ whitened
        pairs *= pairs
        pairs *= cells.shared
        spread = float((own**2 * (2.0 * free - 1.0) / free**2) @ cells.n + scaled @ pairs @ scaled)
    size = len(places)
    cells.joint[tuple(places)] = size * (size + 1) / (2.0 * spread) if spread > 0.0 else float("nan")
    return cells.joint[tuple(places)]


@dataclass(frozen=True)
class CellFit:
    """A fitted regression; `coefficients` are in the order of the design's columns."""

    cells: CellDesign
    coefficients: FloatArray
    covariance: FloatArray
    r_squared: float

    @property
    def single(self) -> NDArray[np.bool_]:
        """Coefficients that rest on one speaker alone: nothing can be said about their error."""
        return self.cells.single

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom, one per coefficient; nan where a single speaker decides."""
        return self.cells.df

    @property
    def standard_errors(self) -> FloatArray:
        """One standard error per coefficient; nan where a single speaker decides."""
        return np.where(self.single, np.nan, np.sqrt(np.diag(self.covariance)))


def fit_cells(cells: CellDesign, mean: FloatArray, m2: FloatArray) -> CellFit:
    """Fit the cells' `mean` word error rates; `m2` is the sum of squares of the speakers about their cell's mean."""
    n = cells.n
    coefficients = cells.back @ (cells.basis.T @ (mean * np.sqrt(n)))
    residual = mean - cells.design @ coefficients
    # Squares about the fit from squares about the cell's mean: nobody's single rate is needed.
    squares = m2 + n * residual**2
    decided = cells.free < _FULL_LEVERAGE
    # HC2: a residual's variance is 1 - h of the error's.
    meat = np.where(decided, 0.0, squares / np.maximum(cells.free, _FULL_LEVERAGE))
    overall = float(n @ mean) / float(n.sum())
    total = float(m2.sum() + n @ (mean - overall) ** 2)
    return CellFit(
        cells=cells,
        coefficients=coefficients,
        covariance=(cells.pull * meat) @ cells.pull.T,
        r_squared=1.0 - float(squares.sum()) / total if total > 0.0 else float("nan"),
    )


@dataclass(frozen=True)
class Wald:
    """A joint test that several coefficients are 0, referred to an F distribution."""

    f: float
    df: int
    df_speakers: float
    p: float


def wald(fit: CellFit, columns: Sequence[int]) -> Wald | None:
    """Test the coefficients of `columns` together.

    Q = b' V^-1 b of k coefficients is taken for Hotelling's T^2 with `joint_df` degrees of freedom d, so that
    `(d - k + 1) / (d k) Q` has an F distribution with k and d - k + 1. None where single speakers decide, nothing
    varies, or d is k - 1 or less: so few speakers say nothing about so many coefficients.
    """
    from voxaudit.numeric import fdtrc

    places = list(columns)
    if not places or fit.single[places].any():
        return None
    part = fit.covariance[np.ix_(places, places)]
    # As correlations: rank and solution then do not depend on how rare a group is.
    size = np.sqrt(np.diag(part))
    if not (size > 1e-12).all() or np.linalg.matrix_rank(part / np.outer(size, size)) < len(places):
        return None
    degrees = joint_df(fit.cells, places)
    left = degrees - len(places) + 1.0
    if not left > 0.0:
        return None
    estimate = fit.coefficients[places] / size
    q = float(estimate @ np.linalg.solve(part / np.outer(size, size), estimate))
    f = left / (degrees * len(places)) * q
    return Wald(f, len(places), left, float(fdtrc(len(places), left, f)))


def guarded(cells: CellDesign, mean: FloatArray, m2: FloatArray, columns: Sequence[int]) -> float | None:
    """Return a second p-value of the groups that `columns` stand for, that of the one that differs most from the rest.

    The mean of few speakers who differ much is skewed: where most of them happen to be near the lower end, their spread
    looks small too, and F says too much (three times as often as it may, with 8 such speakers beside 40 who are much
    alike). The rate of a group over that of all others, everything else held fixed, has to pass the guard of
    `stats.group_ratios` as well. A group without errors passes none; None where no group has two speakers.
    """
    design, n, places = cells.design, cells.n, list(columns)
    slopes, expected = poisson_slopes(design, n * mean, n)
    pull = np.linalg.solve(design.T @ (design * expected[:, None]) + 1e-9 * np.eye(len(slopes)), design.T)
    own = design[:, places].T > 0.0
    inside = np.vstack([own, ~own.any(axis=0)])  # the reference group is the last
    count = inside @ n
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(np.eye(len(count)) > 0.0, -1.0, count / (count.sum() - count)[:, None])
        log = -others @ np.append(slopes[places], 0.0)
        squares = (others[:, :-1] @ pull[places]) ** 2 * (m2 + (n * mean - expected) ** 2 / n)
        squares *= n.sum() / max(n.sum() - len(slopes) + len(places), 1.0)
        held = np.exp(np.delete(design, places, axis=1) @ np.delete(slopes, places))
        parts = [(squares * side).sum(axis=1) * (side @ n) / (side @ n - 1.0) for side in (inside, ~inside)]
        freedom = [kish_freedom(side @ (n * held), side @ (n * held**2)) for side in (inside, ~inside)]
        p = guard_p(log, *parts, *freedom)
    known = (count > 1.0) & (count.sum() - count > 1.0)
    silent = (inside @ (n * mean) <= 0.0) | (~inside @ (n * mean) <= 0.0)
    return float(np.where(silent, 1.0, p)[known].min()) if known.any() else None


# The columns of a design by name, and what is found about each

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Term:
    """A column of the design: `term` is the attribute, or `a x b`; `name` says which groups it stands for."""

    term: str
    name: str
    values: FloatArray


def main_effects(
    cells: pl.DataFrame, order: Mapping[str, Sequence[str]], references: Mapping[str, str]
) -> list[Term]:
    """Return the intercept (everybody of the reference groups) and a column for every other group of `order`.

    `cells` has a row for every combination of groups that somebody has; the column of an attribute is `@NAME`.
    """
    baseline = ", ".join(f"{name}={group}" for name, group in references.items())
    others = [
        (name, group) for name, groups in order.items() for group in groups if group != references[name]
    ]
    terms = [Term(name, f"{name}={group}", _where(cells, {name: group})) for name, group in others]
    return [Term(INTERCEPT, baseline, np.ones(cells.height)), *(term for term in terms if term.values.any())]


def pair_effects(
    cells: pl.DataFrame, order: Mapping[str, Sequence[str]], references: Mapping[str, str]
) -> list[Term]:
    """Return a column for every two groups of two attributes that somebody has and neither is a reference group."""
    terms = [
        Term(
            f"{first} x {second}",
            f"{first}={one}, {second}={two}",
            _where(cells, {first: one, second: two}),
        )
        for first, second in combinations(order, 2)
        for one, two in product(order[first], order[second])
        if one != references[first] and two != references[second]
    ]
    return [term for term in terms if term.values.any()]


def _where(cells: pl.DataFrame, groups: Mapping[str, str]) -> FloatArray:
    """Return 1 for the cells of these groups, 0 for the others."""
    there = cells.select(pl.all_horizontal(pl.col(f"@{name}") == group for name, group in groups.items()))
    return there.to_series().to_numpy().astype(np.float64)


def coefficient_rows(terms: Sequence[Term], fit: CellFit, *, confidence: float) -> list[dict[str, Any]]:
    """Return one row per coefficient: estimate, se, low, high, t, df and p; None where a single speaker decides."""
    from voxaudit.numeric import stdtr, stdtrit

    rows = []
    for term, estimate, error, df in zip(terms, fit.coefficients, fit.standard_errors, fit.df, strict=True):
        row: dict[str, Any] = {"term": term.term, "name": term.name, "estimate": float(estimate)}
        row |= dict.fromkeys(("se", "low", "high", "t", "df", "p"))
        if np.isfinite(error) and error > 1e-12:
            t, reach = float(estimate / error), float(stdtrit(df, 0.5 + confidence / 2.0))
            row |= {"se": float(error), "t": t, "df": float(df), "p": float(2.0 * stdtr(df, -abs(t)))}
            row |= {"low": float(estimate - reach * error), "high": float(estimate + reach * error)}
        rows.append(row)
    return rows


def columns_of(terms: Sequence[Term], name: str) -> list[int]:
    """Return the columns that stand for a term."""
    return [index for index, term in enumerate(terms) if term.term == name]


def joint_rows(terms: Sequence[Term], fit: CellFit, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the joint test of all columns of each term in `names`."""
    rows = []
    for name in names:
        own = columns_of(terms, name)
        test = wald(fit, own)
        found = (None, None, None) if test is None else (test.f, test.df_speakers, test.p)
        row = {"term": name, "columns": len(own), **dict(zip(("f", "df", "p"), found, strict=True))}
        rows.append({**row, "r_squared": fit.r_squared})
    return rows
