"""How errors go with a number (age, years of English, dialect density): a slope, a curve, and a test for any trend.

    E(errors) = words exp(b'z + s(x)),   s(x) = g x (the slope), or a restricted cubic spline of x with 3 degrees (the
    curve: knots at the 5, 35, 65 and 95 % quantiles of the speakers' values, linear beyond; Harrell 2015, section 2.4)

Speakers are the sample. Standard errors come from each speaker's influence. The test is of the score of s(x), divided
by its spread over speakers, and shuffles the values of x between speakers; a Hotelling test has to agree (`guard`), as
for groups (`stats.group_ratios`). Where x varies within speakers nothing can be shuffled, and the guard alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.group_ratios import poisson_slopes
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.ttests import kish_freedom

KNOTS = (0.05, 0.35, 0.65, 0.95)
GRID = 11
"""Places of a curve, from the 2.5 to the 97.5 % quantile."""


@dataclass(frozen=True)
class Trend:
    """What was found. `ratio` is that of error rates one unit of x apart, `p` its test; `p_any` that of any trend."""

    ratio: float
    low: float
    high: float
    p: float
    p_any: float
    x: FloatArray
    rate: FloatArray
    rate_low: FloatArray
    rate_high: FloatArray
    """The curve: error rates at places of x, controls at their means, with pointwise 95 % limits."""
    speakers: int
    within: bool
    """Whether x varies within speakers."""


def trend(
    errors: FloatArray,
    words: FloatArray,
    x: FloatArray,
    speaker: IntArray,
    controls: FloatArray,
    shuffles: Shuffles,
) -> Trend:
    """Return slope, curve and tests; `controls` are columns that are held fixed, without the intercept.

    >>> generator = np.random.default_rng(1)
    >>> age = generator.uniform(20, 70, 80)
    >>> errors = generator.poisson(20 * np.exp(0.02 * (age - 45) + generator.normal(0, 0.3, 80))).astype(float)
    >>> found = trend(errors, np.full(80, 200.0), age, np.arange(80), np.empty((80, 0)), Shuffles(80, 499))
    >>> found.p < 0.01, bool(found.low < np.exp(0.02) < found.high)
    (True, True)
    """
    center, unit = float(x.mean()), float(x.std())
    scaled = (x - center) / unit
    spread = controls.std(axis=0)
    held = (controls - controls.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    null = np.column_stack([np.ones(len(x)), held])
    people = int(speaker.max()) + 1
    own = np.bincount(speaker, scaled, people) / np.maximum(np.bincount(speaker, minlength=people), 1)
    within = bool((np.abs(scaled - own[speaker]) > 1e-9).any())
    knots = np.unique(np.quantile(own, KNOTS))
    weights = np.bincount(speaker, words, people)
    free = float(kish_freedom(weights.sum(), (weights**2).sum())) - null.shape[1]
    line, curve = scaled[:, None], spline(scaled, knots)

    slopes, covariance = _fit(np.hstack([null, line]), errors, words, speaker, people)
    from voxaudit.numeric import stdtr, stdtrit

    df = max(free, 1.0)
    wald = 2.0 * float(stdtr(df, -abs(slopes[-1]) / np.sqrt(covariance[-1, -1])))
    p = max(wald, _score_test(line, null, errors, words, speaker, people, None if within else shuffles, df))
    # The interval is as wide as the test is careful: it leaves out 1 where p is below 0.05, and nowhere else.
    error = float(np.sqrt(covariance[-1, -1]))
    if wald < p < 0.9:
        error = max(error, abs(float(slopes[-1])) / -float(stdtrit(df, p / 2.0)))
    reach = float(stdtrit(df, 0.975)) * error
    ratio, low, high = (float(np.exp((slopes[-1] + side * reach) / unit)) for side in (0.0, -1.0, 1.0))
    p_any = _score_test(curve, null, errors, words, speaker, people, None if within else shuffles, df)

    slopes, covariance = _fit(np.hstack([null, curve]), errors, words, speaker, people)
    places = np.quantile(own, np.linspace(0.025, 0.975, GRID)) if within else _grid(own)
    rows = np.hstack(
        [np.ones((len(places), 1)), np.zeros((len(places), held.shape[1])), spline(places, knots)]
    )
    log = rows @ slopes
    half = float(stdtrit(max(free - 2.0, 1.0), 0.975)) * np.sqrt(
        np.einsum("ij,jk,ik->i", rows, covariance, rows)
    )
    return Trend(
        ratio,
        low,
        high,
        p,
        p_any,
        center + unit * places,
        np.exp(log),
        np.exp(log - half),
        np.exp(np.minimum(log + half, 50.0)),
        people,
        within,
    )


def spline(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the columns of a restricted cubic spline: x, and as many more as there are knots less two.

    >>> spline(np.array([-5.0, 5.0]), np.array([-1.0, 0.0, 1.0])).shape
    (2, 2)
    """
    if len(knots) < 3:
        return x[:, None]
    last, size = knots[-1], (knots[-1] - knots[0]) ** 2

    def cube(at: float) -> FloatArray:
        return np.maximum(x - at, 0.0) ** 3

    columns = [x]
    for knot in knots[:-2]:
        share = (last - knot) / (last - knots[-2])
        columns.append((cube(knot) - share * cube(knots[-2]) + (share - 1.0) * cube(last)) / size)
    return np.column_stack(columns)


def _grid(values: FloatArray) -> FloatArray:
    low, high = np.quantile(values, [0.025, 0.975])
    return np.linspace(float(low), float(high), GRID)


def _fit(
    design: FloatArray, errors: FloatArray, words: FloatArray, speaker: IntArray, people: int
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients and their covariance with speakers as the sample."""
    # Orthogonal columns, the first still of ones: cubes of numbers are nearly collinear, and climb badly.
    basis, triangle = np.linalg.qr(design)
    triangle = triangle / (np.sqrt(len(design)) * np.sign(basis[0, 0]))
    slopes, expected = poisson_slopes(basis * np.sqrt(len(design)) * np.sign(basis[0, 0]), errors, words)
    slopes = np.linalg.solve(triangle, slopes)
    pull = design * (errors - expected)[:, None]
    sums = np.stack([np.bincount(speaker, pull[:, k], people) for k in range(design.shape[1])], axis=1)
    inverse: FloatArray = np.asarray(
        np.linalg.pinv(design.T @ (design * expected[:, None])), dtype=np.float64
    )
    influence = sums @ inverse / np.sqrt(_apart(design, expected, inverse, speaker, people))[:, None]
    return slopes, np.asarray(influence.T @ influence)


def _apart(
    design: FloatArray, expected: FloatArray, inverse: FloatArray, speaker: IntArray, people: int
) -> FloatArray:
    """Return one less each speaker's leverage: who lies far out draws the fit, and his residual is the smaller for it.

    Divided by its root, residuals have the variance they should (HC2).
    """
    leverage = expected * np.einsum("ij,jk,ik->i", design, inverse, design, optimize=True)
    return np.asarray(np.maximum(1.0 - np.bincount(speaker, leverage, people), 0.05))


def _score_test(
    columns: FloatArray,
    null: FloatArray,
    errors: FloatArray,
    words: FloatArray,
    speaker: IntArray,
    people: int,
    shuffles: Shuffles | None,
    free: float,
) -> float:
    """Return p of the columns together: by shuffles of speakers' values, and by Hotelling's test, the larger."""
    from voxaudit.numeric import fdtrc

    _, expected = poisson_slopes(null, errors, words)
    left, weighted = errors - expected, null * expected[:, None]
    inner = null.T @ weighted

    def by_speaker(values: FloatArray) -> FloatArray:
        return np.stack([np.bincount(speaker, values[:, k], people) for k in range(values.shape[1])], axis=1)

    # The columns as they are, for the guard: what varies within speakers counts row by row.
    free_of = columns - null @ np.linalg.solve(inner, weighted.T @ columns)
    scores = by_speaker(free_of * left[:, None])
    total = scores.sum(axis=0)
    outer: FloatArray = np.asarray(np.linalg.pinv(inner), dtype=np.float64)
    scores = scores / np.sqrt(_apart(null, expected, outer, speaker, people))[:, None]
    width = columns.shape[1]
    observed = _quadratic(total[None], (scores.T @ scores)[None])[0]
    size = max(free + 1.0, width + 1.0)
    # Hotelling: the spread is taken around the mean score, and estimated from as many speakers as count.
    inside = observed / max(1.0 - observed / people, 1e-9)
    guard = float(fdtrc(width, size - width, inside * (size - width) / (width * size)))
    if shuffles is None:
        return guard
    first = np.zeros(people, dtype=np.int64)
    first[speaker] = np.arange(len(speaker))
    values = columns[first]
    sums, held, whole = (
        by_speaker(left[:, None])[:, 0],
        by_speaker(weighted),
        by_speaker(null * left[:, None]),
    )
    products = whole.T @ whole
    beyond, count, seen = 0, 0, 0.0
    for _, rows in shuffles.blocks():
        step = max(1, 2_000_000 // (people * width))
        for start in range(0, len(rows), step):
            moved = values[rows[start : start + step]]
            score = np.einsum("bnk,n->bk", moved, sums)
            project = np.linalg.solve(inner, np.einsum("bnk,nz->zbk", moved, held).reshape(len(inner), -1))
            project = project.reshape(len(inner), -1, width)
            spread = np.einsum("bnk,bnl,n->bkl", moved, moved, sums**2, optimize=True)
            cross = np.einsum("bnk,nz->bkz", moved, sums[:, None] * whole)
            both = np.einsum("bkz,zbl->bkl", cross, project)
            spread += np.einsum("zbk,zy,ybl->bkl", project, products, project, optimize=True)
            spread -= both + both.swapaxes(1, 2)
            found = _quadratic(score, spread)
            if count == 0:  # the first leaves everybody in place
                seen = float(found[0]) * (1.0 - 1e-9)
            beyond += int((found >= seen).sum())
            count += len(found)
    return max(guard, beyond / count)


def _quadratic(score: FloatArray, spread: FloatArray) -> FloatArray:
    tiny = 1e-12 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(spread.shape[1])
    return np.asarray(np.einsum("bk,bk->b", score, np.linalg.solve(spread + tiny, score[..., None])[..., 0]))
