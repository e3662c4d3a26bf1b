"""Tests with speakers as the sample: is a word lost more than the words beside it, or more in one group?

For speaker s let X_s be the share of the word's m_s occurrences that were lost, and q_s what that share would be if the
losses of each utterance had fallen on its words at random (lost words / words). Under the null hypothesis X_s has mean
q_s and the variance q_s (1 - q_s) (1 + (m_s - 1) rho) / m_s, rho being how much the occurrences of one speaker hang
together: 0 where each is lost or kept on its own, 1 where all are lost or none. A speaker is worth
`m_s / (1 + (m_s - 1) rho)` yes-or-no draws, rounded down: the sum over speakers of draws times X_s spreads at most as
much as the sum of so many independent draws with chances q_s, and that distribution (Poisson-binomial) gives the
p-value. With rho 1 a speaker is one draw, however often he or she says the word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray

_BLOCK = 4_000_000  # chances worked on at a time: bounds memory
_ROUNDING = 1e-9

MOST_DRAWS = 256
"""Draws that all speakers of a word are worth at most; each is worth one, however many they are."""


def hanging_together(
    cell: IntArray,
    cells: int,
    speaker: IntArray,
    said: NDArray[Any],
    lost: FloatArray,
    expected: FloatArray,
) -> FloatArray:
    """Return rho for each of `cells` words of a group: how much the occurrences of one speaker are lost together.

    Rows are as in `excess_loss`; `said` occurrences of which `lost` were lost and `expected` would be by chance. By
    moments: what the losses of speakers vary about the word's own rate beyond independent draws, over what they could
    at most. The larger of two estimates: the word's own, and the upper 95 % limit (speakers being the sample) of that
    from all words together, since a word with few speakers says little about its own.
    """
    from scipy.special import stdtrit

    speakers = np.bincount(cell, minlength=cells)
    ratio = np.bincount(cell, lost, cells) / np.maximum(np.bincount(cell, expected, cells), _ROUNDING)
    chance = np.minimum(ratio[cell] * expected / said, 1.0)
    alone = said * chance * (1.0 - chance)
    # One figure, the word's rate, is taken from the same speakers.
    count = speakers[cell]
    seen = (lost - said * chance) ** 2 * np.where(count > 1, count / np.maximum(count - 1.0, 1.0), 0.0)
    beyond, most = np.where(count > 1, seen - alone, 0.0), np.where(count > 1, alone * (said - 1.0), 0.0)
    within, whole = np.bincount(cell, beyond, cells), np.bincount(cell, most, cells)
    own = np.where(whole > _ROUNDING, within / np.maximum(whole, _ROUNDING), 0.0)
    people = int(speaker.max(initial=-1)) + 1
    parts, wholes = np.bincount(speaker, beyond, people), np.bincount(speaker, most, people)
    told = np.flatnonzero(wholes > 0.0)
    if len(told) < FEWEST_SPEAKERS:
        return np.ones(cells)
    pooled = parts[told].sum() / wholes[told].sum()
    off = parts[told] - pooled * wholes[told]
    error = np.sqrt((off**2).sum() * len(told) / (len(told) - 1.0)) / wholes[told].sum()
    upper = pooled + stdtrit(len(told) - 1.0, 0.95) * error
    return np.asarray(np.clip(np.maximum(own, upper), 0.0, 1.0))


def draws_worth(cell: IntArray, cells: int, said: NDArray[Any], rho: FloatArray) -> IntArray:
    """Return how many independent draws each speaker's occurrences of a word are worth: whole numbers from 1.

    No more than `MOST_DRAWS` for all speakers of a word together (or one each), which bounds the work; beyond that
    many, more would tell little.
    """
    worth = said / (1.0 + (said - 1.0) * rho[cell])
    most = np.maximum(MOST_DRAWS // np.maximum(np.bincount(cell, minlength=cells), 1), 1)
    whole = np.minimum(np.floor(worth + _ROUNDING), most[cell])
    return np.asarray(np.maximum(whole, 1), dtype=np.int64)


def excess_loss(
    cell: IntArray, cells: int, share: FloatArray, chance: FloatArray, draws: IntArray | None = None
) -> FloatArray:
    """Return, for each of `cells` words of a group, the p-value that its speakers lost it no more than other words.

    `cell` says which word (of which group) a row belongs to, a row for each speaker who said it; `share` is X_s,
    `chance` q_s and `draws` what the speaker is worth (one without it: nothing is assumed about how occurrences hang
    together). Between whole numbers of draws the tail is interpolated. NaN with fewer than five speakers; 1 where
    the loss is not even half a standard deviation above what is expected (the p-value would be large anyway).
    """
    speakers = np.bincount(cell, minlength=cells)
    times = np.ones(len(cell), dtype=np.int64) if draws is None else draws
    total = np.asarray(np.bincount(cell, times * share, cells), dtype=np.float64) + _ROUNDING
    mean = np.bincount(cell, times * chance, cells)
    deviation = np.sqrt(np.bincount(cell, times * chance * (1.0 - chance), cells))
    p = np.where(speakers >= FEWEST_SPEAKERS, 1.0, np.nan)
    worth = (speakers >= FEWEST_SPEAKERS) & (total > mean + 0.5 * deviation + _ROUNDING)
    order = np.argsort(cell, kind="stable")
    drawn = np.repeat(chance[order], times[order])
    count = np.bincount(cell, times, cells).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(count)])
    # Words with like numbers of draws share a table.
    chosen = np.flatnonzero(worth)[np.argsort(count[worth], kind="stable")]
    while len(chosen):
        width = 2 * int(count[chosen[0]]) + 8
        alike = int(np.searchsorted(count[chosen], width, side="right"))
        some = chosen[: min(alike, max(1, _BLOCK // width))]
        longest = int(count[some].max())
        chances = np.zeros((len(some), longest))
        filled = np.arange(longest) < count[some][:, np.newaxis]
        at = (starts[some][:, np.newaxis] + np.arange(longest))[filled]
        chances[filled] = drawn[at]
        whole = np.floor(total[some]).astype(np.int64)
        part = total[some] - whole
        distribution = poisson_binomial(chances)
        p[some] = (1.0 - part) * _tail(distribution, whole) + part * _tail(distribution, whole + 1)
        chosen = chosen[len(some) :]
    return p


def poisson_binomial(chances: FloatArray) -> FloatArray:
    """Return, row by row, the chance of 0, 1, 2 ... successes in independent draws with these chances."""
    rows, draws = chances.shape
    distribution = np.zeros((rows, draws + 1))
    distribution[:, 0] = 1.0
    for draw in range(draws):
        q = chances[:, draw, np.newaxis]
        moved = distribution[:, : draw + 1] * q
        distribution[:, : draw + 1] *= 1.0 - q
        distribution[:, 1 : draw + 2] += moved
    return distribution


def _tail(distribution: FloatArray, at_least: IntArray) -> FloatArray:
    beyond = np.arange(distribution.shape[1]) >= at_least[:, np.newaxis]
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
