"""Agreement of people who say how sure they are: Fleiss' kappa with a weight on every judgment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def confidence_kappa(choices: NDArray[np.integer], weights: FloatArray, categories: int) -> float | None:
    """Return Fleiss' kappa in which two judgments of a case count by the product of their weights.

    `choices` is cases x raters (category numbers from 0, -1 where somebody did not judge), `weights` the same shape,
    from 0 (a guess) to 1 (certain); Liu et al. (ASTER) scale five levels of confidence so. With
    `W_ik = sum of weights of category k in case i` and `Q_ik` that of their squares, `p_i = sum_k (W_ik^2 - Q_ik) /
    (W_i^2 - Q_i)`, and chance is `sum_k (sum_i W_ik / sum W)^2`; with equal weights it is Fleiss' kappa. None where no
    case has two judgments with weight, or all judgments are the same.
    """
    judged = np.where(choices >= 0, weights, 0.0)
    mass = np.stack([(judged * (choices == one)).sum(axis=1) for one in range(categories)], axis=1)
    square = np.stack([(judged**2 * (choices == one)).sum(axis=1) for one in range(categories)], axis=1)
    pairs = mass.sum(axis=1) ** 2 - square.sum(axis=1)
    usable = pairs > 1e-12
    if not usable.any():
        return None
    observed = float(np.mean((mass**2 - square)[usable].sum(axis=1) / pairs[usable]))
    shares = mass.sum(axis=0) / mass.sum()
    expected = float((shares**2).sum())
    return None if expected >= 1.0 - 1e-12 else (observed - expected) / (1.0 - expected)
