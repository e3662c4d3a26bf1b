"""Many made-up audits judged at once by the functions that decide in an audit, without its tables and sentences.

Audits with the same speakers in the same groups are columns of one matrix, and shuffles of speakers serve many of them.
A test puts the same data through the audits and through these: the figures are the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.verdicts.worlds import Array

from voxaudit.stats.group_ratios import RATE, Rates, Shares
from voxaudit.stats.permutations import LEVEL, Shuffles, equal_tailed, margins, step_down

SHUFFLES = 1_999
"""Fewer than in an audit (9,999), for time: a permutation test keeps its level with any number."""
TOGETHER = 50
"""So many audits share their shuffles."""
_CELLS = 100  # cells at a time: bounds memory


def blocks(numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return the blocks of audits that share shuffles: the block's number, and places in `numbers`.

    Which block an audit is in depends on its number only, so that it does not matter in what parts audits are done.

    >>> blocks([48, 49, 50])
    [(0, [0, 1]), (1, [2])]
    """
    found: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        found.setdefault(number // TOGETHER, []).append(place)
    return list(found.items())


def judge_ratios(
    sums: Array,
    second: Array,
    turned: Array,
    shuffles: Shuffles,
    *,
    coefficients: tuple[float, ...] = RATE,
    known: Array | None = None,
    near: Array | None = None,
) -> tuple[Array, Array]:
    """Judge the ratios of two groups in several audits: p-values by themselves and in each audit's family.

    `sums` are columns of `coefficients` x speakers x audits x cells. The first group is compared with the second
    (`second` marks speakers of it), the second with the first where an audit is `turned`. Results are audits x cells;
    nan where a cell is not `known`, which is then in no family. Cells that are `near` a ceiling are shares.
    """
    _, speakers, audits, cells = sums.shape
    alone, together = np.full((audits, cells), np.nan), np.full((audits, cells), np.nan)
    mark = second.astype(bool)[None, :, None]
    step = max(1, _CELLS // cells)
    for side in (False, True):
        own = np.flatnonzero(turned == side)
        for start in range(0, len(own), step):
            some = own[start : start + step]
            flat = sums[:, :, some].reshape(len(coefficients), speakers, -1)
            ours, theirs = (flat * mark, flat * ~mark) if side else (flat * ~mark, flat * mark)
            asked = np.ones(len(some) * cells, dtype=bool) if known is None else known[some].ravel()
            rates = Rates(ours, theirs, shuffles, coefficients)
            guard = rates.guard(np.ones(len(asked)))
            if near is not None:
                shares = Shares(ours, theirs).guard(np.ones(len(asked)))
                guard = np.where(near[some].ravel(), shares, guard)
            found = _judged(rates, guard, cells, asked)
            alone[some], together[some] = (one.reshape(-1, cells) for one in found)
    return alone, together


def _judged(rates: Rates, guard: Array, cells: int, asked: Array) -> tuple[Array, Array]:
    statistics = rates.statistics(np.ones(len(asked)))
    scaled, observed = margins(statistics, guard, LEVEL)
    observed[~asked] = np.nan
    shuffled = equal_tailed(statistics)
    alone = np.where(np.isnan(shuffled) | ~asked, np.nan, np.fmax(shuffled, guard))
    together = np.empty_like(alone)
    for start in range(0, len(asked), cells):
        own = slice(start, start + cells)
        family = step_down(scaled[:, own], observed[own])
        # Nothing is surer among others than by itself; one question is no family.
        single = asked[own].sum() == 1
        together[own] = alone[own] if single else np.where(asked[own], np.fmax(family, alone[own]), np.nan)
    return alone, together
