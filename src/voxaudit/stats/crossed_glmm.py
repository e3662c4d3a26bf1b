"""Poisson regression with crossed random intercepts of speakers and prompts, by Laplace's approximation.

    errors_ij | r_i, v_j ~ Poisson(words_ij exp(x_ij' beta + r_i + v_j)),   r_i ~ N(0, sigma^2),   v_j ~ N(0, rho^2)

Liu et al. (2022) allow for further blocking factors (section 2.3): where several speakers read the same text, an easy
text is easy for all of them. The log-likelihood is approximated at the joint mode of (r, v), as lme4's `glmer` does:

    l(beta, sigma, rho) = h(mode) - log det(H) / 2,   H = -h'' = [[D, C], [C', E]],

D and E being diagonal. The longer of the two sides is eliminated (`M = E - C' D^-1 C`), so the work grows with the
utterances and with the square of the number of prompts (or of speakers, where they are fewer). The gradient is exact,
third derivatives included; standard errors come from differences of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize, sparse

from voxaudit.errors import VoxauditError
from voxaudit.numeric import gammaln
from voxaudit.stats.cells import FloatArray, IntArray

MOST_PROMPTS = 4000
"""Of speakers and prompts, the fewer may not be more than this: a matrix of that size squared is decomposed."""
_SMALLEST = np.log(1e-4)  # of a standard deviation: below, it is 0
_DENSE = 0.04  # share of speaker-prompt pairs that occur beyond which full matrices are quicker
_CHUNK = 4_000_000  # numbers held at a time
_REACH = 1e-4  # of differences, in standard errors or logarithms
_SETTLED = 1e-14  # the square of the distance to the mode: log det(H) there needs the mode itself


@dataclass(frozen=True)
class CrossedFit:
    """A fitted regression with crossed effects."""

    coefficients: FloatArray
    covariance: FloatArray
    """Of the coefficients, from the joint information with the standard deviations."""
    sigma: float
    """Standard deviation of the speakers' log error rates; 0 on the boundary."""
    prompt_sigma: float
    """Standard deviation of the prompts' log error rates; 0 on the boundary."""
    loglik: float
    """Laplace's approximation of the log-likelihood, with all constants."""
    speaker_modes: FloatArray
    prompt_modes: FloatArray

    @property
    def standard_errors(self) -> FloatArray:
        """One standard error per coefficient."""
        return np.sqrt(np.diag(self.covariance))


def fit_crossed(
    errors: FloatArray, words: FloatArray, design: FloatArray, speaker: IntArray, prompt: IntArray
) -> CrossedFit:
    """Fit the regression; speakers and prompts are numbered from 0, the design has full rank and a column of ones.

    >>> generator = np.random.default_rng(1)
    >>> speaker, prompt = np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
    >>> group = (speaker % 2).astype(float)
    >>> effects = generator.normal(0, 0.4, 40)[speaker] + generator.normal(0, 0.6, 10)[prompt]
    >>> errors = generator.poisson(2.0 * np.exp(0.5 * group + effects)).astype(float)
    >>> fit = fit_crossed(errors, np.full(400, 10.0), np.column_stack([np.ones(400), group]), speaker, prompt)
    >>> bool(abs(fit.coefficients[1] - 0.5) < 2 * fit.standard_errors[1]), 0.3 < fit.prompt_sigma < 1.0
    (True, True)
    """
    problem = _Problem(errors, words, design, speaker, prompt)
    if min(problem.sizes) > MOST_PROMPTS:
        raise VoxauditError(
            f"{problem.sizes[0]:,} speakers and {problem.sizes[1]:,} prompts are too many for crossed effects: of one"
            f" of them there may be {MOST_PROMPTS:,}"
        )
    start = problem.start()
    bounds = [(None, None)] * design.shape[1] + [(_SMALLEST, 3.0)] * 2
    best: Any = optimize.minimize(
        lambda at: problem.negative(at),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-10, "gtol": 1e-4, "maxiter": 200, "maxcor": 20},
    )
    at = np.asarray(best.x, dtype=np.float64)
    free = [place for place in range(len(at)) if place < design.shape[1] or at[place] > _SMALLEST + 1e-3]
    information = problem.information(at, free)
    # L-BFGS stops where the value no longer changes; a last Newton step settles the place.
    gradient = problem.negative(at)[1][free]
    step = np.linalg.solve(information, gradient)
    if np.abs(step).max() < 0.05:
        at[free] -= step
    value = problem.negative(at)[0]
    inverse = np.linalg.inv(information)[: design.shape[1], : design.shape[1]]
    back = problem.back
    sigmas = [float(np.exp(tau)) if tau > _SMALLEST + 1e-3 else 0.0 for tau in at[-2:]]
    return CrossedFit(
        coefficients=back @ at[:-2],
        covariance=back @ inverse @ back.T,
        sigma=sigmas[0],
        prompt_sigma=sigmas[1],
        loglik=-value,
        speaker_modes=problem.modes(0),
        prompt_modes=problem.modes(1),
    )


class _Problem:
    """The data, the last modes (where the next search starts), and the approximated likelihood with its gradient."""

    def __init__(
        self, errors: FloatArray, words: FloatArray, design: FloatArray, speaker: IntArray, prompt: IntArray
    ) -> None:
        self.errors, self.log_words = errors, np.log(words)
        self.constant = float((errors * self.log_words - gammaln(errors + 1.0)).sum())
        sides = [np.asarray(one, dtype=np.int64) for one in (speaker, prompt)]
        self.sizes = [int(one.max()) + 1 for one in sides]
        # The longer side is eliminated: it is first from here on.
        self.turned = self.sizes[0] < self.sizes[1]
        self.first, self.second = sides[::-1] if self.turned else sides
        self.shape = (max(self.sizes), min(self.sizes))
        key = self.first * self.shape[1] + self.second
        pairs, self.pair = np.unique(key, return_inverse=True)
        self.pairs = len(pairs)
        self.row, self.column = np.divmod(pairs, self.shape[1])
        self.dense = self.pairs > _DENSE * self.shape[0] * self.shape[1]
        self.starts = np.searchsorted(self.row, np.arange(self.shape[0] + 1))
        rate = errors.sum() / words.sum()
        # In this basis the coefficients of the regression without effects have standard errors of 1.
        weighted = design * np.sqrt(words * rate)[:, None]
        _, triangle = np.linalg.qr(weighted)
        self.back = np.linalg.inv(triangle)
        self.basis = design @ self.back
        self.r, self.v = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        self.parts: tuple[Any, ...] | None = None
        self.evaluations = 0

    def modes(self, side: int) -> FloatArray:
        """Return the modes of speakers (0) or prompts (1)."""
        return (self.r, self.v)[side ^ int(self.turned)]

    def start(self) -> FloatArray:
        """Return the regression without effects, and standard deviations from moments."""
        gamma = np.zeros(self.basis.shape[1])
        words = np.exp(self.log_words)
        offset = np.log(self.errors.sum() / words.sum())
        ones = np.linalg.lstsq(self.basis.T @ self.basis, self.basis.T @ np.ones(len(words)), rcond=None)[0]
        gamma = offset * ones
        for _ in range(50):
            mean = words * np.exp(np.clip(self.basis @ gamma, -20.0, 5.0))
            step = np.linalg.solve(
                (self.basis * mean[:, None]).T @ self.basis, self.basis.T @ (self.errors - mean)
            )
            gamma = gamma + step
            if np.abs(step).max() < 1e-6:
                break
        taus = []
        for codes, size in ((self.first, self.shape[0]), (self.second, self.shape[1])):
            seen, expected = np.bincount(codes, self.errors, size), np.bincount(codes, mean, size)
            excess = float(((seen - expected) ** 2 - expected).sum() / (expected**2).sum())
            taus.append(0.5 * np.log(np.clip(excess, 0.01, 1.0)))
        return np.concatenate([gamma, taus[::-1] if self.turned else taus])

    def negative(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the approximated log-likelihood and its gradient in (gamma, log sigma, log rho)."""
        self.evaluations += 1
        size = self.basis.shape[1]
        taus = at[size:][::-1] if self.turned else at[size:]
        precision = np.exp(-2.0 * taus)
        linear = self.basis @ at[:size]
        state = self._climb(linear, precision)
        mean, d, factor, chol = state
        left = self.errors - mean
        value = self.constant + float(
            self.errors @ (linear + self.r[self.first] + self.v[self.second]) - mean.sum()
        )
        value -= 0.5 * float(precision[0] * (self.r @ self.r) + precision[1] * (self.v @ self.v))
        value -= float(self.shape[0] * taus[0] + self.shape[1] * taus[1])
        value -= 0.5 * float(np.log(d).sum()) + float(np.log(np.diag(chol)).sum())
        inverse = linalg.cho_solve((chol, True), np.eye(self.shape[1]))
        first, across = self._inverses(factor, d, inverse)
        second = np.diag(inverse)
        # What a unit of each utterance's log rate adds to log det(H), and how far the modes carry it on.
        leverage = first[self.first] + second[self.second] + 2.0 * across[self.pair]
        pull = mean * leverage
        carried = self._solve(
            np.asarray(np.bincount(self.first, pull, self.shape[0]), dtype=np.float64),
            np.asarray(np.bincount(self.second, pull, self.shape[1]), dtype=np.float64),
            d,
            factor,
            chol,
        )
        back = mean * (carried[0][self.first] + carried[1][self.second])
        gradient = np.empty(size + 2)
        gradient[:size] = self.basis.T @ (left - 0.5 * pull + 0.5 * back)
        own = []
        for mode, inner, one, width, moved in (
            (self.r, first.sum(), precision[0], self.shape[0], carried[0]),
            (self.v, second.sum(), precision[1], self.shape[1], carried[1]),
        ):
            own.append(one * float(mode @ mode) - width + one * float(inner) - one * float(mode @ moved))
        gradient[size:] = own[::-1] if self.turned else own
        return -value, -gradient

    def _climb(self, linear: FloatArray, precision: FloatArray) -> tuple[FloatArray, ...]:
        """Bring the modes to the maximum of h; return means, D, C / D and the Cholesky factor of M there."""
        offset = self.log_words + linear
        # The matrix of an earlier place serves as long as it brings the modes on: to make one costs most of the time.
        parts = self.parts
        value, before = -np.inf, np.inf
        step = (np.zeros(self.shape[0]), np.zeros(self.shape[1]))
        for _ in range(200):
            eta = offset + self.r[self.first] + self.v[self.second]
            mean = np.exp(np.minimum(eta, 50.0))
            now = float(self.errors @ eta - mean.sum())
            now -= 0.5 * float(precision[0] * (self.r @ self.r) + precision[1] * (self.v @ self.v))
            if now < value - 1e-9 * abs(value):  # too far: back by half
                step = (0.5 * step[0], 0.5 * step[1])
                self.r, self.v = self.r - step[0], self.v - step[1]
                parts = None
                continue
            left = self.errors - mean
            slope = (
                np.bincount(self.first, left, self.shape[0]) - precision[0] * self.r,
                np.bincount(self.second, left, self.shape[1]) - precision[1] * self.v,
            )
            value = now
            if parts is not None:
                step = self._solve(*slope, *parts)
                gain = float(slope[0] @ step[0] + slope[1] @ step[1])
                if gain < _SETTLED:
                    break
                if gain > 0.05 * before:
                    parts = None
            if parts is None:
                parts = self._decompose(mean, precision)
                step = self._solve(*slope, *parts)
                gain = float(slope[0] @ step[0] + slope[1] @ step[1])
            before = gain
            self.r, self.v = self.r + step[0], self.v + step[1]
        self.parts = self._decompose(mean, precision)
        return mean, *self.parts

    def _decompose(self, mean: FloatArray, precision: FloatArray) -> tuple[Any, ...]:
        d = np.bincount(self.first, mean, self.shape[0]) + precision[0]
        e = np.bincount(self.second, mean, self.shape[1]) + precision[1]
        sums = np.bincount(self.pair, mean, self.pairs)
        factor = sparse.csr_matrix((sums / d[self.row], self.column, self.starts), shape=self.shape)
        inner = np.diag(e)
        if self.dense:
            for rows in self._chunks():
                part = factor[rows].toarray()
                inner -= part.T @ (part * d[rows, None])
        else:
            inner -= (factor.T @ factor.multiply(d[:, None]).tocsr()).toarray()
        return d, factor, np.linalg.cholesky(inner)

    def _chunks(self) -> list[slice]:
        rows = max(1, _CHUNK // self.shape[1])
        return [slice(start, start + rows) for start in range(0, self.shape[0], rows)]

    def _solve(
        self, a: FloatArray, b: FloatArray, d: FloatArray, factor: Any, chol: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return H^-1 (a, b)."""
        second = linalg.cho_solve((chol, True), b - factor.T @ a)
        return a / d - factor @ second, second

    def _inverses(self, factor: Any, d: FloatArray, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the diagonal of H^-1 of the first side, and its entries across at the pairs that occur."""
        first, across = 1.0 / d, np.empty(self.pairs)
        for rows in self._chunks():
            part = factor[rows]
            product = part.toarray() @ inverse if self.dense else part @ inverse
            here = slice(self.starts[rows.start], self.starts[min(rows.stop, self.shape[0])])
            values = product[self.row[here] - rows.start, self.column[here]]
            across[here] = -values
            first[rows] += np.bincount(
                self.row[here] - rows.start, values * part.data, min(rows.stop, self.shape[0]) - rows.start
            )
        return first, across

    def information(self, at: FloatArray, free: list[int]) -> FloatArray:
        """Return minus the Hessian in the coordinates that are free, by differences of the gradient."""
        size = len(free)
        found = np.empty((size, size))
        here = self.negative(at)[1][free]
        for row, place in enumerate(free):
            moved = at.copy()
            moved[place] += _REACH
            found[row] = (self.negative(moved)[1][free] - here) / _REACH
        return 0.5 * (found + found.T)
