"""Gaps between groups of speakers in how much they degrade: permutation tests that a gap exceeds tau, and intervals.

A degradation is a ratio of sums in disturbed speech less one in clean speech; gaps beyond tau are violations (Rajan et
al. 2022).

The claim behind a violation is that the gap exceeds tau, so that is what is tested: tau per word is taken off the
disturbed edits of the base group's speakers, and the remaining gap must be larger than when speakers are dealt to the
two groups at random, all scenarios together. A speaker's clean and disturbed sums move together. The gap is divided by
its standard error (linearized, speakers as the sample): the test is exact where the groups differ by nothing but tau,
and stays right for many speakers where they also differ in size and spread (Chung and Romano 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

from voxaudit.perturb.scenario_id import ScenarioId
from voxaudit.score.align import PairEdits
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.multiplicity import benjamini_hochberg

PERMUTATIONS = 9_999
MOST_PERMUTATIONS = 199_999
RARE = 20
"""A claim that fewer permutations than this reach may need more of them."""

ENUMERATED = 20_000
"""Up to so many ways of dealing the speakers, every one is tried."""

_PRODUCT = 250_000
"""Multiplications in a matrix product. Larger ones leave the processor's cache, and BLAS splits them over threads that
wait for each other: on a busy machine that is many times slower than one thread."""
_SHAPE = (128, 64)
"""At most so many permutations and claims are worked on at a time."""
_TIE = 1e-9
_BLOCK = 500_000
"""Resamples x cells x 4 sums that a bootstrap works on at a time."""


@dataclass(frozen=True)
class Grid:
    """Degradations D(g): axes group, pair, scenario; nan where there is none."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    degradations: FloatArray

    def gaps(self) -> FloatArray:
        """Return D(g) - D(h): axes g, h, pair, scenario."""
        return self.degradations[:, None] - self.degradations[None, :]

    def with_scenarios(self, places: list[int]) -> Grid:
        """Return the degradations of some scenarios only."""
        scenarios = tuple(self.scenarios[place] for place in places)
        return replace(self, scenarios=scenarios, degradations=self.degradations[:, :, places])


@dataclass(frozen=True)
class SpeakerSums:
    """Sums over a speaker's utterances; the four arrays have the axes pair, scenario, speaker.

    `clean_edits` and `clean_words` run over the same utterances as `edits` and `words`: an utterance that one of
    the two recognizers failed on, clean or disturbed, is in neither.
    """

    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    groups: tuple[str, ...]
    speakers: tuple[str, ...]
    group_of: IntArray
    """The place in `groups` of every speaker."""
    edits: FloatArray
    words: FloatArray
    clean_edits: FloatArray
    clean_words: FloatArray
    untestable: str | None = None
    """Why whole speakers cannot be moved between groups, where they cannot."""

    def members(self, group: int) -> IntArray:
        """Return the places of a group's speakers."""
        return np.flatnonzero(self.group_of == group)

    def sizes(self) -> list[int]:
        """Return the number of speakers of every group."""
        return [int(size) for size in np.bincount(self.group_of, minlength=len(self.groups))]

    def with_scenarios(self, places: list[int]) -> SpeakerSums:
        """Return the sums of some scenarios only."""
        return replace(
            self,
            scenarios=tuple(self.scenarios[place] for place in places),
            edits=self.edits[:, places],
            words=self.words[:, places],
            clean_edits=self.clean_edits[:, places],
            clean_words=self.clean_words[:, places],
        )

    def stacked(self) -> FloatArray:
        """Return edits, words, clean edits and clean words: axes kind, cell (pair and scenario), speaker."""
        values = np.stack([self.edits, self.words, self.clean_edits, self.clean_words])
        return values.reshape(4, -1, len(self.speakers))

    def present(self) -> IntArray:
        """Return how many speakers of each group have any words: axes group, pair, scenario."""
        return self._by_group((self.words + self.clean_words > 0).astype(np.float64)).astype(np.int64)

    def distances(self) -> tuple[FloatArray, FloatArray]:
        """Return the pooled distances, disturbed and clean: axes group, pair, scenario; nan without words."""
        with np.errstate(invalid="ignore", divide="ignore"):
            disturbed = self._by_group(self.edits) / self._by_group(self.words)
            clean = self._by_group(self.clean_edits) / self._by_group(self.clean_words)
        return disturbed, clean

    def degradations(self) -> FloatArray:
        """Return D(g) = d(g, disturbed) - d(g, clean) (Rajan et al., Algorithm 1): axes group, pair, scenario."""
        disturbed, clean = self.distances()
        return disturbed - clean

    def grid(self) -> Grid:
        """Return the degradations by name."""
        return Grid(self.groups, self.pairs, self.scenarios, self.degradations())

    def _by_group(self, values: FloatArray) -> FloatArray:
        member = (self.group_of == np.arange(len(self.groups))[:, None]).astype(np.float64)
        return np.asarray(np.einsum("gs,pcs->gpc", member, values, optimize=True), dtype=np.float64)


def sums_by_speaker(
    now: PairEdits, then: PairEdits, speaker_of: IntArray, speakers: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return edits, words, clean edits, clean words by (pair, scenario, speaker), over what is known in both.

    `now` and `then` have the axes scenario, pair, utterance (`then` one scenario, clean speech); `speaker_of` is the
    place of every utterance's speaker.
    """
    both = now.known & then.known
    scenarios, pairs, _ = both.shape

    def summed(values: IntArray) -> FloatArray:
        kept = np.where(both, values, 0)
        out = np.zeros((pairs, scenarios, speakers))
        for scenario, pair in np.ndindex(scenarios, pairs):
            out[pair, scenario] = np.bincount(speaker_of, kept[scenario, pair], speakers)
        return out

    return summed(now.edits), summed(now.words), summed(then.edits), summed(then.words)


@dataclass(frozen=True)
class Places:
    """Where the violations are: places of group, against, pair, scenario, tau, and the gaps."""

    group: IntArray
    against: IntArray
    pair: IntArray
    scenario: IntArray
    tau: IntArray
    gap: FloatArray

    def __len__(self) -> int:
        return len(self.group)


def find_violations(grid: Grid, taus: Sequence[float]) -> Places:
    """Return every (g, h, pair, scenario, tau) with D(g) - D(h) > tau, strictly; every group takes its turn as g."""
    gaps = grid.gaps()
    over = gaps[..., None] > np.asarray(taus)
    group, against, pair, scenario, tau = np.nonzero(over)
    return Places(group, against, pair, scenario, tau, gaps[group, against, pair, scenario])


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


@dataclass(frozen=True)
class Claims:
    """Claims about two groups: `against[k]` 0 says that the first group is the worse one, 1 the second."""

    pair: IntArray
    scenario: IntArray
    against: IntArray
    tau: FloatArray

    def __len__(self) -> int:
        return len(self.pair)

    def __getitem__(self, places: IntArray) -> Claims:
        return Claims(self.pair[places], self.scenario[places], self.against[places], self.tau[places])


def is_exact(first: int, second: int) -> bool:
    """Say whether groups of so many speakers are small enough to try every way of dealing them."""
    return comb(first + second, first) <= ENUMERATED


def exceedances(
    sums: SpeakerSums,
    first: int,
    second: int,
    claims: Claims,
    permutations: int,
    generator: np.random.Generator,
) -> tuple[IntArray, int]:
    """Return, for every claim, how many ways of dealing the speakers reach its statistic, and how many were tried.

    Where all ways are tried the real one is among them: p is the ratio. Otherwise p is (count + 1) / (tried + 1).
    """
    speakers = np.concatenate([sums.members(first), sums.members(second)])
    size = int((sums.group_of == first).sum())
    real = np.zeros((1, len(speakers)))
    real[0, :size] = 1.0
    rows, step = _block(len(speakers))
    chunks = [
        _moments(sums, speakers, size, claims[np.arange(start, min(start + step, len(claims)))])
        for start in range(0, len(claims), step)
    ]
    signs = [
        np.where(claims.against[start : start + step] == 0, 1.0, -1.0)
        for start in range(0, len(claims), step)
    ]
    observed = [sign * _studentized(real, chunk, size) for chunk, sign in zip(chunks, signs, strict=True)]
    bars = [
        statistic - _TIE * (1.0 + np.abs(np.where(np.isfinite(statistic), statistic, 0.0)))
        for statistic in observed
    ]
    counts = [np.zeros(bar.shape[1], dtype=np.int64) for bar in bars]
    tried = 0
    for dealt in _deals(len(speakers), size, permutations, rows, generator):
        tried += len(dealt)
        for chunk, sign, bar, count in zip(chunks, signs, bars, counts, strict=True):
            # What cannot be computed counts against the claim: nan is not below the bar.
            count += (~(sign * _studentized(dealt, chunk, size) < bar)).sum(axis=0)
    return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64), tried


def _block(speakers: int) -> tuple[int, int]:
    """Return how many permutations and claims are worked on at a time."""
    cells = _PRODUCT // speakers
    if cells < 256:  # so many speakers that threads pay
        return _SHAPE
    rows = min(_SHAPE[0], int(cells**0.5))
    return rows, min(_SHAPE[1], cells // rows)


def _deals(
    speakers: int, size: int, permutations: int, rows: int, generator: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield blocks of rows, each with `size` ones among `speakers` places."""
    if is_exact(size, speakers - size):
        chosen = np.array(list(combinations(range(speakers), size)), dtype=np.int64)
        dealt = np.zeros((len(chosen), speakers))
        np.put_along_axis(dealt, chosen, 1.0, axis=1)
        for start in range(0, len(dealt), rows):
            yield dealt[start : start + rows]
        return
    pattern = np.zeros((1, speakers), dtype=np.int8)
    pattern[0, :size] = 1
    for start in range(0, permutations, rows):
        block = np.repeat(pattern, min(rows, permutations - start), axis=0)
        yield generator.permuted(block, axis=1).astype(np.float64)


def _moments(sums: SpeakerSums, speakers: IntArray, size: int, claims: Claims) -> FloatArray:
    """Return the first and second moments of every speaker for every claim: axes moment, speaker, claim."""
    at = (claims.pair, claims.scenario)
    a, w, c, v = (
        values[at][:, speakers].T for values in (sums.edits, sums.words, sums.clean_edits, sums.clean_words)
    )
    first = np.arange(len(speakers))[:, None] < size
    base = np.where(claims.against[None, :] == 0, first, ~first)
    a = a - claims.tau[None, :] * base * w
    # Taking the common ratio off both groups changes no gap and keeps the squares small.
    with np.errstate(invalid="ignore", divide="ignore"):
        a = a - w * (a.sum(axis=0) / w.sum(axis=0))
        c = c - v * (c.sum(axis=0) / v.sum(axis=0))
    return np.stack([a, w, c, v, a * a, a * w, w * w, c * c, c * v, v * v, a * c, a * v, w * c, w * v])


def _studentized(dealt: FloatArray, moments: FloatArray, size: int) -> FloatArray:
    """Return (D(ones) - D(others)) / its standard error: axes deal, claim."""
    speakers = moments.shape[1]
    ones = dealt @ moments  # one product a moment: axes moment, deal, claim
    others = moments.sum(axis=1)[:, None, :] - ones
    with np.errstate(invalid="ignore", divide="ignore"):
        gap, variance = _side(ones, size)
        less, more = _side(others, speakers - size)
        gap = gap - less
        variance = variance + more
        statistic = gap / np.sqrt(np.maximum(variance, 0.0))
    flat = ~(variance > 1e-18)
    if flat.any():
        # Speakers who are all alike: any gap is infinitely many standard errors wide.
        endless = np.where(np.abs(gap) > 1e-12, np.copysign(np.inf, gap), 0.0)
        statistic = np.where(flat & np.isfinite(gap), endless, statistic)
    return np.asarray(statistic)


def _side(moments: FloatArray, speakers: int) -> tuple[FloatArray, FloatArray]:
    """Return D of one side and its variance, from what each speaker moves the two ratios by."""
    a, w, c, v, aa, aw, ww, cc, cv, vv, ac, av, wc, wv = moments
    by_w, by_v = 1.0 / w, 1.0 / v
    d, e = a * by_w, c * by_v
    variance = (aa - d * (2.0 * aw - d * ww)) * (by_w * by_w)
    variance += (cc - e * (2.0 * cv - e * vv)) * (by_v * by_v)
    variance -= (ac - e * av - d * (wc - e * wv)) * (2.0 * by_w * by_v)
    variance *= speakers / (speakers - 1.0)
    return d - e, variance


def chance_totals(
    sums: SpeakerSums, taus: tuple[float, ...], permutations: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many violations the plain rule counts when the labels of all speakers are shuffled.

    Axes permutation, group: what the rule reports where groups mean nothing.
    """
    groups, speakers = len(sums.groups), len(sums.speakers)
    columns = sums.stacked().reshape(-1, speakers).T
    out = np.zeros((permutations, groups), dtype=np.int64)
    rows = max(8, min(256, 4_000_000 // columns.shape[1]))
    for start in range(0, permutations, rows):
        labels = np.repeat(sums.group_of[None, :], min(rows, permutations - start), axis=0)
        labels = generator.permuted(labels, axis=1)
        degraded = []
        for group in range(groups):
            a, w, c, v = (
                ((labels == group).astype(np.float64) @ columns).reshape(len(labels), 4, -1).swapaxes(0, 1)
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                degraded.append(a / w - c / v)
        for group, own in enumerate(degraded):
            for other in (theirs for place, theirs in enumerate(degraded) if place != group):
                gap = own - other
                for tau in taus:
                    out[start : start + len(labels), group] += (gap > tau).sum(axis=1)
    return out


def gap_intervals(
    sums: SpeakerSums, *, confidence: float, resamples: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits of D(g) - D(h): axes g, h, pair, scenario.

    Percentiles of the speaker bootstrap, widened as the smaller group's t distribution asks; nan where one of the
    groups has fewer than five speakers.
    """
    groups, sizes = len(sums.groups), sums.sizes()
    shape = (len(sums.pairs), len(sums.scenarios))
    weights = [speaker_weights(size, resamples, generator) for size in sizes]
    values = sums.stacked()
    cells = values.shape[1]
    low, high = (np.full((groups, groups, cells), np.nan) for _ in range(2))
    step = max(1, _BLOCK // resamples)
    for start in range(0, cells, step):
        some = slice(start, start + step)
        drawn: list[FloatArray] = []
        for group in range(groups):
            a, w, c, v = (weights[group] @ part[some, sums.members(group)].T for part in values)
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn.append(a / w - c / v)
        for g in range(groups):
            for h in range(g + 1, groups):
                fewest = min(sizes[g], sizes[h])
                if fewest < FEWEST_SPEAKERS:
                    continue
                tail = widened_tail(fewest, confidence)
                limits = _quantiles(drawn[g] - drawn[h], tail)
                low[g, h, some], high[g, h, some] = limits
                low[h, g, some], high[h, g, some] = -limits[1], -limits[0]
    return low.reshape(groups, groups, *shape), high.reshape(groups, groups, *shape)


def _quantiles(gaps: FloatArray, tail: float) -> FloatArray:
    limits = np.quantile(gaps, [tail, 1.0 - tail], axis=0)
    for column in np.flatnonzero(np.isnan(gaps).any(axis=0)):
        # A draw of speakers who said nothing has no distance; the others speak for it if they are most.
        finite = gaps[np.isfinite(gaps[:, column]), column]
        if 2 * len(finite) >= len(gaps):
            limits[:, column] = np.quantile(finite, [tail, 1.0 - tail])
    return np.asarray(limits)
