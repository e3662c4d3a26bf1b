"""Simple tests that a careful analyst might do by hand, beside which ours have to stand: t tests over speakers.

They know nothing of skewed rates or of few speakers who say most of the words, and hold in kind worlds only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.verdicts.worlds import Array
from scipy import special

LEVEL = 0.05
WELCH = "Welch's test of speakers' log rates"
CHANGE = "Welch's test of speakers' log changes"
PAIRED = "t test of speakers' changes"
PLAIN = "Welch's test over speakers"


def log_rates(errors: Array, words: Array) -> Array:
    """Return the logarithms of speakers' error rates; half an error more, so that there is one for all."""
    rates: Array = np.log((errors + 0.5) / (words + 1.0))
    return rates


def welch(values: Array, second: Array) -> Array:
    """Return the two-sided p-values of Welch's test over speakers (the last axis); 1 where nothing varies.

    >>> welch(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0]), np.array([0, 0, 0, 1, 1, 1])).round(4).item()
    0.0419
    """
    sides = [values[..., second == one] for one in (0, 1)]
    gap = sides[1].mean(axis=-1) - sides[0].mean(axis=-1)
    parts = [one.var(axis=-1, ddof=1) / one.shape[-1] for one in sides]
    total = parts[0] + parts[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / sum(
            part**2 / (one.shape[-1] - 1) for part, one in zip(parts, sides, strict=True)
        )
        p: Array = 2.0 * special.stdtr(freedom, -np.abs(gap) / np.sqrt(total))
    return np.where(total > 0.0, p, 1.0)


def paired(changes: Array) -> Array:
    """Return the two-sided p-values of a t test of speakers' changes (the last axis) against 0."""
    count = changes.shape[-1]
    error = changes.std(axis=-1, ddof=1) / np.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        p: Array = 2.0 * special.stdtr(count - 1, -np.abs(changes.mean(axis=-1)) / error)
    return np.where(error > 0.0, p, 1.0)


def below(p_values: Array, questions: int = 1) -> Sequence[bool]:
    """Say of every p-value whether it is a claim when so many questions share the level."""
    return [bool(one) for one in np.atleast_1d(p_values).ravel() < LEVEL / questions]
