"""Exact tests with speakers as the sample: is a word lost more than the words beside it, or more in one group?

For speaker s let X_s be the share of the word's occurrences that were lost, and q_s what that share would be if the
losses of each utterance had fallen on its words at random (lost words / words). Under the null hypothesis X_s has mean
q_s. However the occurrences of one speaker hang together, the sum of X_s over speakers spreads at most as much as a
sum of independent yes-or-no draws with chances q_s: that distribution (Poisson-binomial) gives the p-value, exact where
each speaker loses all occurrences or none, conservative otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray

_BLOCK = 4_000_000  # chances worked on at a time: bounds memory
_ROUNDING = 1e-9


def excess_loss(cell: IntArray, cells: int, share: FloatArray, chance: FloatArray) -> FloatArray:
    """Return, for each of `cells` words of a group, the p-value that its speakers lost it no more than other words.

    `cell` says which word (of which group) a row belongs to, a row for each speaker who said it; `share` is X_s and
    `chance` q_s. Between whole numbers of speakers the tail is interpolated. NaN with fewer than five speakers; 1 where
    the loss is not even half a standard deviation above what is expected (the p-value would be large anyway).
    """
    speakers = np.bincount(cell, minlength=cells)
    total = np.asarray(np.bincount(cell, share, cells), dtype=np.float64) + _ROUNDING
    mean = np.bincount(cell, chance, cells)
    deviation = np.sqrt(np.bincount(cell, chance * (1.0 - chance), cells))
    p = np.where(speakers >= FEWEST_SPEAKERS, 1.0, np.nan)
    worth = (speakers >= FEWEST_SPEAKERS) & (total > mean + 0.5 * deviation + _ROUNDING)
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(speakers)])
    # Words with like numbers of speakers share a table.
    chosen = np.flatnonzero(worth)[np.argsort(speakers[worth], kind="stable")]
    while len(chosen):
        width = 2 * int(speakers[chosen[0]]) + 8
        alike = int(np.searchsorted(speakers[chosen], width, side="right"))
        some = chosen[: min(alike, max(1, _BLOCK // width))]
        longest = int(speakers[some].max())
        chances = np.zeros((len(some), longest))
        filled = np.arange(longest) < speakers[some][:, np.newaxis]
        at = (starts[some][:, np.newaxis] + np.arange(longest))[filled]
        chances[filled] = chance[order[at]]
        whole = np.floor(total[some]).astype(np.int64)
        part = total[some] - whole
        tails = [poisson_binomial_tail(chances, at_least) for at_least in (whole, whole + 1)]
        p[some] = (1.0 - part) * tails[0] + part * tails[1]
        chosen = chosen[len(some) :]
    return p


def poisson_binomial_tail(chances: FloatArray, at_least: IntArray) -> FloatArray:
    """Return, row by row, the chance of `at_least` or more successes in independent draws with these chances."""
    rows, draws = chances.shape
    distribution = np.zeros((rows, draws + 1))
    distribution[:, 0] = 1.0
    for draw in range(draws):
        q = chances[:, draw, np.newaxis]
        moved = distribution[:, : draw + 1] * q
        distribution[:, : draw + 1] *= 1.0 - q
        distribution[:, 1 : draw + 2] += moved
    beyond = np.arange(draws + 1) >= at_least[:, np.newaxis]
    return np.asarray(np.minimum((distribution * beyond).sum(axis=1), 1.0))


def group_excess(
    word: IntArray, words: int, group: IntArray, groups: int, mostly_lost: NDArray[np.bool_]
) -> FloatArray:
    """Return the p-value that a group's speakers lose a word no more often than all other speakers (Fisher, one-sided).

    A row for each speaker who said the word: did he or she lose it in at least half of its occurrences? The result has
    a row for each group and a column for each word; NaN with fewer than five speakers on either side.
    """
    from scipy.stats import hypergeom

    cell = group * words + word
    said = np.bincount(cell, minlength=groups * words).reshape(groups, words)
    lost = np.bincount(cell[mostly_lost], minlength=groups * words).reshape(groups, words)
    everyone, all_lost = said.sum(axis=0), lost.sum(axis=0)
    enough = (said >= FEWEST_SPEAKERS) & (everyone - said >= FEWEST_SPEAKERS)
    p = np.full((groups, words), np.nan)
    at = np.nonzero(enough)
    if len(at[0]):
        p[at] = hypergeom.sf(lost[at] - 1, everyone[at[1]], all_lost[at[1]], said[at])
    return np.asarray(np.minimum(p, 1.0))
