"""Standard errors that hold where the Poisson assumption within a speaker does not: the speaker-cluster sandwich.

A fit follows its most influential speakers, so their residuals are too small; and few of many speakers may decide a
comparison. Both are allowed for: scores are blown up by the speaker's leverage ("CR2", Bell and McCaffrey 2002), and
the reference distributions have the degrees of freedom that the estimated variance really has: Satterthwaite's for one
coefficient, those of the approximate Hotelling test for several (Tipton and Pustejovsky 2015).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from voxaudit.stats.cells import Cells, FloatArray
from voxaudit.stats.poisson_glmm import MixedFit, derivatives, evaluate
from voxaudit.stats.quadrature import gauss_hermite, wide_rule
from voxaudit.stats.regression import Regression

_CHUNK = 2_000_000
"""Numbers in one batch of speakers' matrices (16 MB)."""
_WIDEST = 2_000
"""Contrasts times coordinates up to which degrees of freedom are exact; beyond, they are a little too few."""
_MOST_LEVERAGE = 0.9999
"""Whoever alone determines a coefficient has no residual there that could be blown up."""


@dataclass(frozen=True)
class RobustTest:
    """A Wald test of several coefficients with the sandwich covariance, referred to an F distribution."""

    f: float
    df: int
    df_speakers: float
    p: float


@dataclass(frozen=True)
class Sandwich:
    """The covariance of `Regression.finite` that assumes only that speakers are independent."""

    covariance: FloatArray
    root: FloatArray
    """Takes the sum of standard scores to what it moves the coefficients by."""
    speakers: _Speakers

    @cached_property
    def freedom(self) -> FloatArray:
        """Satterthwaite's degrees of freedom of every variance."""
        return np.array([_freedom(self.speakers, row[None, :]) for row in self.root])

    def standard_error(self, place: int) -> float:
        """Return the standard error of one of the coefficients."""
        return float(np.sqrt(max(self.covariance[place, place], 0.0)))


def speaker_sandwich(model: Regression) -> Sandwich:
    """Return the covariance of the coefficients from what the speakers' scores really varied by.

    The inverse information assumes that errors within a speaker are Poisson and that a covariate acts alike on all
    speakers; the sandwich does not. With scores s_i and information A_i of speaker i, and B the inverse of their sum,
    it is B [sum of t_i t_i'] B for t_i = (I - A_i B)^(-1/2) s_i: unbiased where the model holds.
    """
    if not isinstance(model.fit, MixedFit):
        raise TypeError("the speaker sandwich needs a model with speakers")
    basis, triangle = model.cells.orthonormal
    speakers = _speakers(model.cells, basis, triangle @ model.fit.coefficients, model.fit)
    root: FloatArray = np.asarray(np.linalg.solve(triangle, speakers.root), dtype=np.float64)
    meat = np.zeros((root.shape[1],) * 2)
    for weight, _, blown, scores in speakers.batches():
        corrected = np.einsum("nij,nj->ni", blown, scores)
        meat += corrected.T @ (corrected * weight[:, None])
    return Sandwich(root @ meat @ root.T, root, speakers)


def robust_test(model: Regression, columns: tuple[int, ...], sandwich: Sandwich) -> RobustTest | None:
    """Test that the coefficients of `columns` are all 0; None where one is infinite or there are too few speakers."""
    finite, tested = model.finite, len(columns)
    if any(column not in finite for column in columns):
        return None
    from voxaudit.numeric import fdtrc

    places = [finite.index(column) for column in columns]
    part = sandwich.covariance[np.ix_(places, places)]
    estimates = model.fit.coefficients[places]
    # Fewer speakers than coefficients give a covariance that cannot be inverted.
    if np.linalg.matrix_rank(part) < tested:
        return None
    freedom = _freedom(sandwich.speakers, sandwich.root[places])
    df = freedom - tested + 1.0
    if not df > 0.0:
        return None
    # A covariance with nu degrees of freedom: T^2 (nu - q + 1) / (nu q) has an F distribution.
    f = float(estimates @ np.linalg.solve(part, estimates)) * df / (tested * freedom)
    return RobustTest(f, tested, df, float(fdtrc(tested, df, f)))


def speaker_freedom(model: Regression) -> int:
    """Return the number of speakers less the columns that are constant within speakers."""
    return round(float(model.cells.block_weight.sum())) - int(model.cells.constant_within.sum())


_Batch = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Weight, information, what blows scores up, and scores: one row per block."""


@dataclass(frozen=True)
class _Speakers:
    """Scores and information of every speaker, in coordinates in which all information together is the identity."""

    cells: Cells
    rows: FloatArray
    """The design in those coordinates: one row per cell."""
    scores: FloatArray
    root: FloatArray
    """Takes the sum of such scores to what it moves the coefficients (of the orthonormal design) by."""
    known: FloatArray
    """Information of a cell on its linear predictor, were the speaker's level known."""
    center: FloatArray
    """The mean row of a block, weighted by expected errors."""
    level: FloatArray
    """What a block's information gains by its level being unknown: below 0."""

    def batches(self) -> Iterable[_Batch]:
        """Give some speakers at a time: kept where they are few, made anew where they are many."""
        few = len(self.cells.starts) * len(self.root) ** 2 <= 4 * _CHUNK
        return self._kept if few else self._made()

    @cached_property
    def _kept(self) -> list[_Batch]:
        return list(self._made())

    def _made(self) -> Iterator[_Batch]:
        cells, most = self.cells, max(1, _CHUNK // len(self.root) ** 2)
        ends = np.append(cells.starts[1:], len(cells.errors))
        first = 0
        while first < len(cells.starts):
            begin = int(cells.starts[first])
            last = max(first + 1, int(np.searchsorted(ends, begin + most, "right")))
            rows = self.rows[begin : ends[last - 1]]
            information = (rows * self.known[begin : ends[last - 1], None])[:, :, None] * rows[:, None, :]
            if not cells.one_cell_each:
                information = np.add.reduceat(information, cells.starts[first:last] - begin, axis=0)
            center, level = self.center[first:last], self.level[first:last]
            information += (center * level[:, None])[:, :, None] * center[:, None, :]
            # (I - A)^(-1/2) by eigenvalues: symmetric as CR2 asks, and a leverage of 1 can be held just below it.
            values, vectors = np.linalg.eigh(information)
            values = np.clip(values, 0.0, _MOST_LEVERAGE)[:, None, :]
            turned = vectors.transpose(0, 2, 1)
            yield (
                cells.block_weight[first:last],
                (vectors * values) @ turned,
                (vectors / np.sqrt(1.0 - values)) @ turned,
                self.scores[first:last],
            )
            first = last


def _speakers(cells: Cells, basis: FloatArray, gamma: FloatArray, fit: MixedFit) -> _Speakers:
    size = basis.shape[1]
    if fit.boundary:
        mean = cells.words * np.exp(basis @ gamma)
        information = basis.T @ (basis * (cells.weight * mean)[:, None])
        scores = cells.per_block(basis * (cells.errors - mean)[:, None])
        # In these coordinates all information together is I, and a speaker's own is a leverage.
        standard = np.linalg.inv(np.linalg.cholesky(information)).T
        nothing = np.zeros(len(cells.starts))
        return _Speakers(
            cells, basis @ standard, scores @ standard, standard, mean, np.zeros_like(scores), nothing
        )
    rule = wide_rule if fit.nodes is None else gauss_hermite(fit.nodes)
    state = evaluate(cells, basis, np.zeros(len(cells.errors)), gamma, float(np.log(fit.sigma)), rule)
    it = state.integral
    information = -derivatives(cells, basis, state)[1]
    pull = state.mean * cells.to_cells(it.d_eta / state.block_mean)
    # Scores less what estimating log sigma takes from them. Leverage is that of the coefficients alone: what one
    # speaker tells about sigma may be negative.
    shared = information[:size, size] / information[size, size]
    scores = cells.per_block(basis * (cells.errors + pull)[:, None]) - np.outer(it.d_tau, shared)
    # Schur's complement: what is known of the coefficients where log sigma is estimated beside them.
    covariance = np.linalg.inv(information[:size, :size] - np.outer(shared, information[size, :size]))
    lower = np.linalg.cholesky(information[:size, :size])
    standard = np.linalg.inv(lower).T
    center = cells.per_block(basis * state.mean[:, None]) / state.block_mean[:, None]
    return _Speakers(
        cells,
        basis @ standard,
        scores @ standard,
        covariance @ lower,
        -pull,
        center @ standard,
        it.d_eta - it.d_eta_eta,
    )


def _freedom(speakers: _Speakers, contrasts: FloatArray) -> float:
    """Return the degrees of freedom of the estimated covariance of some contrasts (rows), as of a Wishart matrix.

    Where the model holds, what speaker i adds to contrast s is u_is = a_is' (z_i - C_i sum of all z), with cov z_i =
    C_i. So cov(u_is, u_jt) is [i = j] a_is' C_i a_it - (C_i a_is)' (C_j a_jt), from which follow the variances of the
    estimated covariances. For one contrast this is Satterthwaite's (tr G)^2 / tr(G^2).
    """
    tested = len(contrasts)
    # In coordinates where the contrasts are independent with variance 1.
    standard = np.linalg.solve(np.linalg.cholesky(contrasts @ contrasts.T), contrasts)
    coordinates = standard.shape[1]
    width, blocks = tested * coordinates, len(speakers.cells.starts)
    exact = width <= _WIDEST
    few = not exact and blocks < width  # then all pairs of speakers are the smaller table
    gram = np.zeros((0, 0) if few else (width, width))
    rows, mean, variance = [], 0.0, 0.0
    for weight, information, blown, _ in speakers.batches():
        pulled = blown @ standard.T
        across = information @ pulled
        same, both = pulled.transpose(0, 2, 1) @ across, across.transpose(0, 2, 1) @ across
        own, shared = np.trace(same, axis1=1, axis2=2), np.trace(both, axis1=1, axis2=2)
        mean += float(weight @ (own - shared)) / tested
        variance += float(weight @ (own * (own - 2.0 * shared)))
        variance += float(weight @ (same * (same - 2.0 * both)).sum(axis=(1, 2)))
        flat = across.reshape(len(weight), -1) * np.sqrt(weight)[:, None]
        if few:
            rows.append(flat)
        else:
            gram += flat.T @ flat
    if exact:
        parts = gram.reshape(coordinates, tested, coordinates, tested)
        variance += float((parts * (parts + parts.transpose(2, 1, 0, 3))).sum())
    else:  # the second of these sums is at most the first, which products of speakers give as well
        if few:
            together = np.concatenate(rows)
            gram = together @ together.T
        variance += 2.0 * float(np.vdot(gram, gram))
    # Entries of a k x k Wishart matrix of mean I vary by k (k + 1) / nu in all.
    return tested * (tested + 1) * mean**2 / variance if variance > 0.0 else 0.0
