"""Two groups of speakers: does a distance grow more in one than in the other when speech is disturbed?

The growth of a group is `D = d - d0`, two ratios of sums (disturbed, clean) over the same utterances; a gap `D(g) -
D(h)` beyond tau is AequeVox's violation (Rajan et al. 2022). Whether the gap exceeds tau is tested with speakers as the
sample:

**Points.** tau per word is taken off the disturbed edits of the group with the larger growth, and the rest of the gap,
divided by its standard error (from what each speaker moves the ratios by), is compared with what it is when whole
speakers are shuffled.

**Room.** A group that starts near the ceiling cannot grow much: of two that are hurt alike the better one would be
named. The group with the smaller clean distance is therefore named only if it also lost a larger share of the room it
had left, `D / (1 - d0)`. Whoever is hurt more on both scales is so on every scale between, such as the logit: it is a
convex function of the one and a concave function of the other.

**Guard.** Where the smaller group's speakers differ more, shuffling alone claims too much. A Welch test has to agree,
in which the variance is enlarged in the group with the smaller growth and reduced in the other, by the square of their
ratio (at most 2): the group that happens to be low is the one whose spread was underrated. Degrees of freedom are
Satterthwaite's, with Kish's numbers of speakers.

p is the largest of all. One shuffle serves all cells and pairs of groups, which are one family (step-down).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from voxaudit.numeric import stdtr, stdtrit
from voxaudit.perturb.scenario_id import ScenarioId
from voxaudit.score.pairs import PairEdits
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.permutations import (
    Shuffles,
    among,
    equal_tailed,
    margins,
    step_down,
)
from voxaudit.stats.ttests import kish_freedom, satterthwaite

_BLOCK = 200_000  # sums worked on at a time: what stays in the processor's cache
_LEAST_ROOM = 0.02  # with less room left nothing can be said relative to it


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

    def distances(self) -> tuple[FloatArray, FloatArray]:
        """Return the pooled distances, disturbed and clean: axes group, pair, scenario; nan without words."""
        with np.errstate(invalid="ignore", divide="ignore"):
            disturbed = self._by_group(self.edits) / self._by_group(self.words)
            clean = self._by_group(self.clean_edits) / self._by_group(self.clean_words)
        return disturbed, clean

    def degradations(self) -> FloatArray:
        """Return D(g) = d(g, disturbed) - d(g, clean) (Rajan et al., Algorithm 1): axes group, pair, scenario."""
        disturbed, clean = self.distances()
        with np.errstate(
            invalid="ignore"
        ):  # infinitely far apart, where one answers words and the other none
            return np.asarray(disturbed - clean)

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

    def summed(values: NDArray[np.int32]) -> FloatArray:
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
class Compared:
    """Every two groups in every cell; arrays have the axes couple, cell. nan where it could not be tested.

    `low` and `high` are the limits of `gap`, which leave out tau where points and guard reject it: `p_in_points`. `p`
    asks for the room left as well, `p_adjusted` is that with all questions taken together.
    """

    couples: tuple[tuple[int, int], ...]
    """Places of the two groups: a gap is the first's growth less the second's."""
    gap: FloatArray
    low: FloatArray
    high: FloatArray
    p_in_points: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    permutations: int


def compare_groups(
    cells: FloatArray,
    group_of: IntArray,
    groups: int,
    *,
    tau: float | FloatArray = 0.0,
    level: float = 0.05,
    seed: int = 0,
    permutations: int | None = None,
) -> Compared:
    """Compare the growth of every two groups in every cell (see above).

    `cells` has the axes kind (edits, words, clean edits, clean words), cell, speaker; `tau` is one for all cells, or
    one for each. With clean edits of 0 the growth is the distance itself: so clean distances are compared.

    >>> words = np.full(12, 100.0)
    >>> cells = np.array([[40, 44, 46, 42, 45, 43, 20, 22, 21, 19, 23, 24], words, 0.1 * words, words])[:, None]
    >>> found = compare_groups(cells, np.repeat([0, 1], 6), 2, tau=0.01, permutations=999)
    >>> found.gap.round(3).tolist(), bool(found.p[0, 0] < 0.01)
    ([[0.218]], True)
    """
    couples = tuple(combinations(range(groups), 2))
    count = cells.shape[1]
    sizes = np.bincount(group_of, minlength=groups)
    tested = [k for k, couple in enumerate(couples) if sizes[list(couple)].min() >= FEWEST_SPEAKERS]
    shuffles = Shuffles.affordable(len(group_of), len(tested) * count, seed=seed)
    if permutations is not None:
        shuffles = replace(shuffles, permutations=permutations)
    results = [_compare_two(cells, group_of, couples[k], shuffles, tau, level) for k in tested]
    values = np.full((6, len(couples), count), np.nan)
    if results:
        values[:5, tested] = np.stack([one.values for one in results], axis=1)
        observed = np.concatenate([one.observed for one in results])
        adjusted = step_down([one.scaled for one in results], observed)
        # Nothing is surer among others than by itself.
        values[5, tested] = np.fmax(adjusted.reshape(len(tested), count), values[4, tested])
    gap, low, high, in_points, p, p_adjusted = values
    return Compared(couples, gap, low, high, in_points, p, p_adjusted, shuffles.permutations)


@dataclass(frozen=True)
class _Two:
    scaled: NDArray[np.float32]
    observed: NDArray[np.float32]
    values: FloatArray


def _compare_two(
    cells: FloatArray,
    group_of: IntArray,
    couple: tuple[int, int],
    shuffles: Shuffles,
    tau: float | FloatArray,
    level: float,
) -> _Two:
    members = np.flatnonzero(np.isin(group_of, couple))
    first = group_of[members] == couple[0]
    own = cells[:, :, members]
    heard = own[1] + own[3] > 0.0
    few = np.minimum(heard[:, first].sum(axis=1), heard[:, ~first].sum(axis=1)) < FEWEST_SPEAKERS
    with np.errstate(invalid="ignore", divide="ignore"):
        disturbed, clean = (
            np.stack(
                [own[k][:, side].sum(axis=1) / own[k + 1][:, side].sum(axis=1) for side in (first, ~first)]
            )
            for k in (0, 2)
        )
    gap = (disturbed - clean)[0] - (disturbed - clean)[1]
    up = ~(gap < 0.0)
    # A gap within tau is no claim: all of it is taken off, and nothing is left to test.
    off = np.nan_to_num(np.minimum(np.abs(gap), tau))[:, None] * np.where(up[:, None], first, ~first)
    # In population, the group with the larger clean distance and the larger growth has lost more of its room anyway.
    asked = np.where(up, clean[0] < clean[1], clean[1] < clean[0])
    # A cell's shuffles lie side by side.
    points = np.empty((own.shape[1], shuffles.permutations + 1))
    room, of_asked = np.empty((asked.sum(), points.shape[1])), np.cumsum(asked) - 1
    real = np.full((8, own.shape[1]), np.nan)
    alike = [
        (some, _Moments.of(own[:, some], off[some]))
        for places in _alike(own)
        for some in (places[asked[places]], places[~asked[places]])
        if len(some)
    ]
    for rows, block in shuffles.blocks():
        dealt = (group_of[among(block, members)] == couple[0]).T.astype(np.float64)
        for some, moments in alike:
            step = max(1, _BLOCK // len(moments.values))
            for start in range(0, dealt.shape[1], step):
                here = slice(rows.start + start, min(rows.start + start + step, rows.stop))
                sides = moments.sides(dealt[:, start : start + step], shares=bool(asked[some[0]]))
                points[some, here] = _over_error(*(side[:2] for side in sides))
                if asked[some[0]]:
                    room[of_asked[some], here] = _over_error(*(side[2:] for side in sides))
                if here.start == 0:
                    both = [one[:, 0] for kind in zip(*sides, strict=True) for one in kind]
                    real[: len(both), some] = both
    points[few], room[few[asked]] = np.nan, np.nan
    points = points.T
    grown, shares = tuple(real[:4]), tuple(real[4:])
    heard_words = [own[1][:, side] for side in (first, ~first)]
    freedom = [kish_freedom(words.sum(axis=1), (words * words).sum(axis=1)) for words in heard_words]
    in_points, spread, df = _guard(*grown, *freedom)
    with np.errstate(invalid="ignore", divide="ignore"):
        guard = np.nan_to_num(2.0 * stdtr(df, -np.abs(in_points) / spread), nan=1.0)
        in_room, spread_room, df_room = _guard(*shares, *freedom)
        of_room = 2.0 * stdtr(df_room, -np.abs(in_room) / spread_room)
        of_room[asked] = np.fmax(equal_tailed(room.T), of_room[asked])
    agreed = np.where((in_room > 0.0) == up, np.nan_to_num(of_room, nan=1.0), 1.0)
    agreed = np.where(asked, agreed, 0.0)
    tails = np.empty((points.shape[1], 2))
    scaled, observed = margins(points, np.maximum(guard, agreed), level, tails)
    alone = np.fmax(equal_tailed(points), guard)
    error = np.sqrt(np.maximum(grown[2] + grown[3], 0.0))
    reach = stdtrit(df, 1.0 - level / 2.0) * spread
    # The limits leave out tau exactly where shuffles and guard reject it.
    with np.errstate(invalid="ignore"):
        low = gap - np.fmax(tails[:, 1] * error, reach)
        high = gap + np.fmax(-tails[:, 0] * error, reach)
    values = np.stack([gap, low, high, alone, np.fmax(alone, agreed)])
    values[1:, np.isnan(points[0])] = np.nan
    values[1:3][np.isinf(values[1:3])] = np.nan  # so many shuffles without a statistic that there is no limit
    return _Two(scaled, observed, values)


_ALIKE = 8  # cells with the same clean speech that are worth working on by themselves


def _alike(cells: FloatArray) -> list[IntArray]:
    """Return the places of cells whose clean speech is the same, and of all others: what they share is summed once."""
    known: dict[bytes, list[int]] = {}
    for place in range(cells.shape[1]):
        known.setdefault(cells[2:, place].tobytes(), []).append(place)
    many = [places for places in known.values() if len(places) >= _ALIKE]
    others = [place for places in known.values() if len(places) < _ALIKE for place in places]
    return [np.array(places) for places in (*many, others) if places]


@dataclass(frozen=True)
class _Moments:
    """What is summed over speakers, and what was taken off both ratios.

    Taking the common ratio off changes no gap and keeps the squares small. `values` have a column per speaker and,
    moment after moment, a row per cell, or one for all where cells have it in common; `ends` says where moments end.
    """

    values: FloatArray
    ends: IntArray
    centers: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, cells: FloatArray, off: FloatArray) -> _Moments:
        """Return the moments of cells (axes kind, cell, speaker)."""
        a, w, c, v = cells
        a = a - off * w
        with np.errstate(invalid="ignore", divide="ignore"):
            center, clean = ((one.sum(axis=1) / of.sum(axis=1))[:, None] for one, of in ((a, w), (c, v)))
        a, w, c, v = a - w * center, _once(w), _once(c - v * clean), _once(v)
        heard = _once((w + v > 0.0).astype(np.float64))
        parts = [a, w, c, v, a * a, a * w, w * w, c * c, c * v, v * v, a * c, a * v, w * c, w * v, heard]
        return cls(np.vstack(parts), np.cumsum([len(part) for part in parts]), (center, _once(clean)))

    def sides(self, dealt: FloatArray, *, shares: bool) -> list[tuple[FloatArray, ...]]:
        """Return what `_side` says of both groups, speakers being dealt as in some shuffles (speakers x shuffles)."""
        ones = self.values @ dealt
        rest = self.values.sum(axis=1, keepdims=True) - ones
        with np.errstate(invalid="ignore", divide="ignore"):
            return [
                _side(np.split(sums, self.ends[:-1]), *self.centers, shares=shares) for sums in (ones, rest)
            ]


def _once(values: FloatArray) -> FloatArray:
    """Return one row where all are the same."""
    return values[:1] if (values == values[:1]).all() else values


def _over_error(here: Sequence[FloatArray], there: Sequence[FloatArray]) -> FloatArray:
    """Return the gap of two sides, each a value and its variance, over its standard error."""
    gap, variance = here[0] - there[0], here[1] + there[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = gap / np.sqrt(np.maximum(variance, 0.0))
        # Speakers who are all alike: any gap is infinitely many standard errors wide.
        flat = ~(variance > 1e-18) & np.isfinite(gap)
    if flat.any():
        endless = np.where(np.abs(gap) > 1e-12, np.copysign(np.inf, gap), 0.0)
        found[flat] = endless[flat]
    return np.asarray(found)


def _side(
    moments: Sequence[FloatArray], center: FloatArray, clean_center: FloatArray, *, shares: bool
) -> tuple[FloatArray, ...]:
    """Return the growth of one side and its variance; with `shares`, the share of the room lost and its variance."""
    a, w, c, v, aa, aw, ww, cc, cv, vv, ac, av, wc, wv, count = moments
    by_w, by_v = 1.0 / w, 1.0 / v
    d, e = a * by_w, c * by_v
    of_d = (aa - d * (2.0 * aw - d * ww)) * (by_w * by_w)
    of_e = (cc - e * (2.0 * cv - e * vv)) * (by_v * by_v)
    both = (ac - e * av - d * (wc - e * wv)) * (by_w * by_v)
    few = count / (count - 1.0)
    growth = d - e + (center - clean_center), few * (of_d + of_e - 2.0 * both)
    if not shares:
        return growth
    left = 1.0 - (e + clean_center)
    left = np.where(left > _LEAST_ROOM, left, np.nan)
    kept = (1.0 - (d + center)) / left
    return (*growth, 1.0 - kept, few * (of_d - 2.0 * kept * both + kept * kept * of_e) / (left * left))


def _guard(
    one: FloatArray,
    other: FloatArray,
    variance: FloatArray,
    variance_other: FloatArray,
    freedom: FloatArray,
    freedom_other: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the gap, its standard error with unlike spreads allowed for, and the degrees of freedom."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.minimum(one, other) > 0.0, one / other, np.where(one > other, np.inf, 0.0))
        ratio = np.clip(np.nan_to_num(ratio, nan=1.0, posinf=2.0), 0.5, 2.0) ** 2
        first, second = variance / ratio, variance_other * ratio
        df = satterthwaite(first, freedom, second, freedom_other)
    return one - other, np.sqrt(np.maximum(first + second, 0.0)), np.nan_to_num(df, nan=1.0)


def chance_totals(
    sums: SpeakerSums, taus: tuple[float, ...], *, permutations: int = 999, seed: int = 0
) -> NDArray[np.int64]:
    """Return how many violations the plain rule counts when the labels of all speakers are shuffled.

    Axes shuffle, group: what the rule reports where groups mean nothing; the first row is what it really counts.
    """
    groups, speakers = len(sums.groups), len(sums.speakers)
    columns = sums.stacked().reshape(-1, speakers).T
    out = np.zeros((permutations + 1, groups), dtype=np.int64)
    step = max(8, min(256, _BLOCK // columns.shape[1]))
    for rows, block in Shuffles(speakers, permutations, seed).blocks():
        for start in range(0, len(block), step):
            labels = sums.group_of[block[start : start + step]]
            degraded = []
            for group in range(groups):
                a, w, c, v = (
                    ((labels == group).astype(np.float64) @ columns)
                    .reshape(len(labels), 4, -1)
                    .swapaxes(0, 1)
                )
                with np.errstate(invalid="ignore", divide="ignore"):
                    degraded.append(a / w - c / v)
            for group, other in ((g, h) for g in range(groups) for h in range(groups) if g != h):
                gap = degraded[group] - degraded[other]
                for tau in taus:
                    out[rows.start + start : rows.start + start + len(labels), group] += (gap > tau).sum(
                        axis=1
                    )
    return out
