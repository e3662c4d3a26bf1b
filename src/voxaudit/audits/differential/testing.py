"""p-values for every violation, and false-discovery control over the whole grid of questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

from voxaudit.audits.differential.permutation import Claims, exceedances, is_exact
from voxaudit.audits.differential.sums import FloatArray, IntArray, SpeakerSums
from voxaudit.audits.differential.violations import Grid, Places
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.multiplicity import benjamini_hochberg

PERMUTATIONS = 9_999
MOST_PERMUTATIONS = 199_999
RARE = 20
"""A claim that fewer permutations than this reach may need more of them."""


@dataclass(frozen=True)
class Comparison:
    """Two groups: how many speakers, how many ways of dealing them were tried, the smallest p there can be.

    Where not all ways are tried, `permutations` are those of every question; `smallest_p` is with the further ones that
    rare claims get.
    """

    group: str
    against: str
    speakers: int
    speakers_against: int
    permutations: int
    exact: bool
    smallest_p: float | None
    refusal: str | None


@dataclass(frozen=True)
class Tested:
    """p, q (the false-discovery rate at which a violation becomes significant) and the verdicts; nan is untested."""

    p: FloatArray
    q: FloatArray
    significant: NDArray[np.bool_]
    family: int
    """How many questions were asked: testable (group, against, pair, scenario, tau), violations or not."""
    comparisons: tuple[Comparison, ...]


def judge_violations(
    sums: SpeakerSums, grid: Grid, found: Places, taus: tuple[float, ...], *, fdr: float, seed: int
) -> Tested:
    """Test every violation's claim that the gap exceeds tau.

    The family of the Benjamini-Hochberg procedure is every question of the grid that the data can carry. A question
    whose gap is not above tau has p = 1: it is no claim, but it was asked. Both directions of two groups are in the
    family, which is the same as testing them two-sided.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    present = sums.present()
    measured = np.isfinite(grid.degradations)
    sizes = sums.sizes()
    p = np.full(len(found), np.nan)
    comparisons: list[Comparison] = []
    jobs: list[tuple[int, int, IntArray]] = []
    family = 0
    for g, h in combinations(range(len(sums.groups)), 2):
        refusal = sums.untestable or _too_few(sums.groups, sizes, g, h)
        ways = comb(sizes[g] + sizes[h], sizes[g])
        tried = 0 if refusal else min(ways, PERMUTATIONS)
        exact = not refusal and is_exact(sizes[g], sizes[h])
        tried = ways if exact else tried
        comparisons.append(
            Comparison(sums.groups[g], sums.groups[h], sizes[g], sizes[h], tried, exact, None, refusal)
        )
        if refusal:
            continue
        enough = (np.minimum(present[g], present[h]) >= FEWEST_SPEAKERS) & measured[g] & measured[h]
        family += 2 * int(enough.sum()) * len(taus)
        ours = ((found.group == g) & (found.against == h)) | ((found.group == h) & (found.against == g))
        places = np.flatnonzero(ours & enough[found.pair, found.scenario])
        jobs.append((g, h, places))
    counts = np.zeros(len(found), dtype=np.int64)
    tries = np.zeros(len(found), dtype=np.int64)
    _try(sums, found, taus, jobs, PERMUTATIONS, generator, counts, tries, p)
    q = _adjusted(p, family)
    # The floor of 1 in 10,000 must not hide a lone finding among thousands of questions: what is rare but not yet
    # significant is tried on, so that a single question can reach fdr / family.
    more = min(ceil(family / fdr), MOST_PERMUTATIONS) - PERMUTATIONS
    if more > 0:
        undecided = [
            (g, h, places[(counts[places] < RARE) & (q[places] > fdr)])
            for g, h, places in jobs
            if not is_exact(sizes[g], sizes[h])
        ]
        _try(sums, found, taus, undecided, more, generator, counts, tries, p)
        q = _adjusted(p, family)
    most = PERMUTATIONS + max(more, 0)
    settled = (
        one if one.refusal else replace(one, smallest_p=1.0 / (one.permutations if one.exact else most + 1))
        for one in comparisons
    )
    return Tested(p, q, q <= fdr, family, tuple(settled))


def _too_few(groups: tuple[str, ...], sizes: list[int], g: int, h: int) -> str | None:
    small = [
        f"{groups[k]} has {sizes[k]} speaker{'s' * (sizes[k] != 1)}"
        for k in (g, h)
        if sizes[k] < FEWEST_SPEAKERS
    ]
    return f"{' and '.join(small)}; a test needs {FEWEST_SPEAKERS} in each group" if small else None


def _try(
    sums: SpeakerSums,
    found: Places,
    taus: tuple[float, ...],
    jobs: list[tuple[int, int, IntArray]],
    permutations: int,
    generator: np.random.Generator,
    counts: IntArray,
    tries: IntArray,
    p: FloatArray,
) -> None:
    """Add permutations to the counts of some violations and work out their p-values."""
    steps = np.asarray(taus)
    for g, h, places in jobs:
        if not len(places):
            continue
        claims = Claims(
            found.pair[places],
            found.scenario[places],
            (found.group[places] != g).astype(np.int64),
            steps[found.tau[places]],
        )
        reached, tried = exceedances(sums, g, h, claims, permutations, generator)
        counts[places] += reached
        tries[places] += tried
        extra = 0 if is_exact(int((sums.group_of == g).sum()), int((sums.group_of == h).sum())) else 1
        p[places] = (counts[places] + extra) / (tries[places] + extra)


def _adjusted(p: FloatArray, family: int) -> FloatArray:
    """Return Benjamini and Hochberg's adjusted p-values where the rest of the family has p = 1."""
    known = np.flatnonzero(np.isfinite(p))
    others = family - len(known)
    values: list[float | None] = [*p[known].tolist(), *([1.0] * others)]
    q = np.full(len(p), np.nan)
    q[known] = np.array(benjamini_hochberg(values)[: len(known)], dtype=np.float64)
    return q
