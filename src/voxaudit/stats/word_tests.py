"""Tests with speakers as the sample: is a word lost more than the words beside it, or more in one group?

**Beside other words.** For speaker s let X_s be the share of the word's m_s occurrences that were lost, and q_s what
that share would be if the losses of each utterance had fallen on its words at random (lost words / words). Under the
null hypothesis X_s has mean q_s and the variance q_s (1 - q_s) (1 + (m_s - 1) rho) / m_s, rho being how much the
occurrences of one speaker hang together: 0 where each is lost or kept on its own, 1 where all are lost or none. A
speaker is worth `m_s / (1 + (m_s - 1) rho)` yes-or-no draws, rounded down: the sum over speakers of draws times X_s
spreads at most as much as the sum of so many independent draws with chances q_s, and that distribution
(Poisson-binomial) gives the p-value. All settings of a perturbation count together: an occurrence that is lost under
each of them is three, which hang together. With rho 1 a speaker is one draw, however often he or she says the word.

**Between groups** (`between_groups`). The share of a word's occurrences that a group's speakers lose, all settings of a
perturbation together, less that of all others; speakers are shuffled among the groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from mmap import mmap
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.score.lost_words import Heard, Sample, Sounds, sums
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.permutations import LEVEL, TIE, Block, Shuffles, margins, step_down, sums_of
from voxaudit.stats.ttests import kish_freedom, satterthwaite

_BLOCK = 4_000_000  # chances worked on at a time: bounds memory
_CACHED = 30_000  # words times shuffles worked on at a time: what stays in the processor's cache
_ROUNDING = 1e-9

PERMUTATIONS = 1_999
"""Shuffles of speakers: enough for p-values in a family, of which only those near 0.05 matter."""
MOST_COMPARED = 400
"""Groups times words compared for one recognizer and perturbation: those lost by most speakers. Bounds memory."""
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
    from voxaudit.numeric import stdtrit

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
        chances = np.zeros((len(some), longest + longest % 2))
        filled = np.arange(chances.shape[1]) < count[some][:, np.newaxis]
        at = (starts[some][:, np.newaxis] + np.arange(chances.shape[1]))[filled]
        chances[filled] = drawn[at]
        whole = np.floor(total[some]).astype(np.int64)
        part = total[some] - whole
        # Two halves of the draws are a quarter of the work each.
        one, other = np.split(poisson_binomial(np.vstack([chances[:, ::2], chances[:, 1::2]])), 2)
        p[some] = (1.0 - part) * _tail(one, other, whole) + part * _tail(one, other, whole + 1)
        chosen = chosen[len(some) :]
    return p


def poisson_binomial(chances: FloatArray) -> FloatArray:
    """Return, row by row, the chance of 0, 1, 2 ... successes in independent draws with these chances."""
    rows, draws = chances.shape
    distribution = np.zeros((draws + 1, rows))  # what a draw moves lies in one piece
    distribution[0] = 1.0
    room = np.empty((draws, rows))
    chances = np.ascontiguousarray(chances.T)
    for draw, (q, rest) in enumerate(zip(chances, 1.0 - chances, strict=True), 1):
        known, moved = distribution[:draw], room[:draw]
        np.multiply(known, q, out=moved)
        known *= rest
        distribution[1 : draw + 1] += moved
    return distribution.T


def _tail(one: FloatArray, other: FloatArray, at_least: IntArray) -> FloatArray:
    """Return, row by row, the chance that two numbers with these distributions come to `at_least` together."""
    beyond = np.hstack([np.cumsum(other[:, ::-1], axis=1)[:, ::-1], np.zeros((len(other), 1))])
    missing = np.clip(at_least[:, np.newaxis] - np.arange(one.shape[1]), 0, other.shape[1])
    return np.asarray(np.minimum((one * np.take_along_axis(beyond, missing, axis=1)).sum(axis=1), 1.0))


@dataclass(frozen=True, eq=False)
class Between:
    """What a group loses more of some words than all others, groups x words; nan where it was not tested.

    `gap` is the difference of the shares lost, `error` and `df` its standard error and degrees of freedom by Welch, `p`
    the p-value by shuffles that it is not above 0; `observed` and `scaled` (groups x words x shuffles) are margins for
    `step_down`, below 0 where the group loses less. Of two groups `scaled` has the first: the other's are the opposite.
    """

    gap: FloatArray
    error: FloatArray
    df: FloatArray
    p: FloatArray
    scaled: NDArray[np.float32]
    observed: FloatArray


def between_groups(
    lost: FloatArray, said: FloatArray, group: IntArray, groups: int, shuffles: Shuffles
) -> Between:
    """Compare the share of each word that a group's speakers lose with that of all others (speakers x words).

    The difference of the two shares, over the standard error it would have if they were the same (`_sides`), is
    compared with what it is when speakers are shuffled. Where the smaller group spreads more, shuffling claims too
    much, so a guard has to agree: Student's t of the same statistic.

    >>> lost, said = np.repeat([[1.0], [4.0]], 8, axis=0) + np.tile([[0.0], [1.0]], (8, 1)), np.full((16, 1), 9.0)
    >>> found = between_groups(lost, said, np.repeat([0, 1], 8), 2, Shuffles(16, 999))
    >>> found.gap.round(2).tolist(), (found.p < 0.01).tolist()
    ([[-0.33], [0.33]], [[False], [True]])
    """
    from voxaudit.numeric import stdtr

    words = lost.shape[1]
    pooled = lost.sum(axis=0) / np.maximum(said.sum(axis=0), 1.0)
    parts = _moments(lost.T, said.T)
    # All words together, and how many of them a speaker would lose at these shares.
    whole = _moments(lost.sum(axis=1)[None], (said @ pooled)[None])
    gap, error, df, p, observed = (np.full((groups, words), np.nan) for _ in range(5))
    # What one of two groups loses more the other loses less.
    signs = [1.0, -1.0] if groups == 2 else [1.0]
    shape = groups // len(signs), words, shuffles.permutations + 1
    # Memory of its own: what is kept between other arrays would not go back to the system.
    scaled = np.frombuffer(mmap(-1, 4 * math.prod(shape)), dtype=np.float32).reshape(shape)
    step = max(1, _CACHED // scaled.shape[2])
    for number, own in enumerate(scaled):
        dealt = list(_dealt(shuffles, group, number))
        every = _spread_of_all(_both(whole, dealt))
        real = _both(parts, [(slice(1), (group == number)[:, None])])[..., 0]
        tested = (real[5].min(axis=0) >= FEWEST_SPEAKERS) & (pooled > 0.0)
        shares, variances = _sides(real, pooled, every[..., 0])
        seen = np.where(tested, _over_error(shares, variances), np.nan)
        freedom, limits = _freedom(real, variances), _welch(real)
        guards = [stdtr(freedom, -sign * seen) for sign in signs]
        allowed = 2.0 * np.minimum(guards[0], 1.0 - guards[0])
        reached, as_much = np.empty(words), np.empty((len(signs), words))
        chosen = np.flatnonzero(tested)
        for some in (chosen[first : first + step] for first in range(0, len(chosen), step)):
            sums = _both(parts[:, some], dealt)
            statistics = _over_error(*_sides(sums, pooled[some, None], every))
            statistics[:, 0] = seen[some]
            both, reached[some] = margins(statistics.T, allowed[some])
            own[some] = np.copysign(both.T, statistics.astype(np.float32))
            for counts, sign in zip(as_much, signs, strict=True):
                reach = statistics[:, :1] - sign * TIE
                more = statistics >= reach if sign > 0.0 else statistics <= reach
                counts[some] = [np.count_nonzero(row) for row in more]
        as_much /= own.shape[1]
        gaps = shares[0] - shares[1]
        for side, (sign, guard) in enumerate(zip(signs, guards, strict=True), number):
            found = np.maximum(as_much[side - number], guard), sign * gaps, *limits
            p[side], gap[side], error[side], df[side] = np.where(tested, found, np.nan)
            observed[side] = np.where(sign * seen > 0.0, reached, np.where(tested, 0.0, np.nan))
    return Between(gap, error, df, p, scaled, observed)


def _moments(lost: FloatArray, said: FloatArray) -> FloatArray:
    """Return what is summed over speakers (the last axis), kind by kind, and whether a speaker said a word."""
    return np.stack([lost, said, lost**2, 2.0 * lost * said, said**2, said > 0.0])


def _both(parts: FloatArray, dealt: Sequence[Block]) -> FloatArray:
    """Return the sums of a group and of all others (kinds x side x words x shuffles), as it is shuffled."""
    kinds, words, _ = parts.shape
    sums = np.empty((kinds, 2, words, dealt[-1][0].stop))
    for rows, chosen in dealt:
        sums[:, 0, :, rows] = sums_of(parts.reshape(kinds * words, -1), chosen).reshape(kinds, words, -1)
    np.subtract(parts.sum(axis=2)[..., None], sums[:, 0], out=sums[:, 1])
    return sums


def _dealt(shuffles: Shuffles, group: IntArray, number: int) -> Iterable[Block]:
    """Return who is in a group, speakers x shuffles: the same for all recognizers and perturbations."""
    return shuffles.remembered(
        (group.tobytes(), number),
        lambda: (
            (rows, np.ascontiguousarray((group[block] == number).T)) for rows, block in shuffles.blocks()
        ),
    )


def _over_error(shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the differences of the shares of two sides over their standard errors (`_sides`)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = shares[0] - shares[1]
        error = variances[0] + variances[1]
        statistics /= np.sqrt(error, out=error)
    # Where one side does not say the word, nothing speaks for a difference.
    statistics[~np.isfinite(statistics)] = 0.0
    return np.asarray(statistics)


@lru_cache(maxsize=1)
def _shuffles(speakers: int, permutations: int) -> Shuffles:
    """Return the shuffles that all recognizers and perturbations of an audit share, drawn once."""
    return Shuffles(speakers, permutations)


def together(parts: Sequence[Between]) -> FloatArray:
    """Return all comparisons as one family: gap, its limits, p alone and p in the family, a row each.

    The limits are Welch's for all at once (Bonferroni), and may lie beyond what a share can be.
    """
    from voxaudit.numeric import stdtrit

    gap, error, df, p = (
        np.concatenate([values.ravel() for values in some])
        for some in zip(*((one.gap, one.error, one.df, one.p) for one in parts), strict=True)
    )
    # All groups and words of a part are one row of questions; of two groups the second asks the opposite.
    scaled = [
        one.scaled.reshape(-1, one.scaled.shape[2]).T
        for one in parts
        for _ in range(len(one.gap) // len(one.scaled))
    ]
    turned = np.concatenate(
        [np.repeat(np.arange(len(one.gap)) >= len(one.scaled), one.gap.shape[1]) for one in parts]
    )
    observed = np.concatenate([one.observed.ravel() for one in parts]).astype(np.float32)
    reach = stdtrit(df, 1.0 - LEVEL / 2.0 / max(1, int((~np.isnan(p)).sum()))) * error
    return np.array([gap, gap - reach, gap + reach, p, np.fmax(step_down(scaled, observed, turned), p)])


def _sides(sums: FloatArray, pooled: FloatArray, every: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share lost of each word on both sides, and its variance if it were `pooled`.

    If it were `pooled`, occurrences that are lost each on its own would spread as they do at that share, and speakers
    in proportion to it (at most twice or half as much as they do): a group of six that loses none of a rare word has no
    spread, but is not sure of anything, and the group that happens to be low is the one whose spread is underrated.
    Speakers differ in a word at least as much as in all words together (`every`, relative to the share squared): of
    many words some seem to spread little.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # In place: of millions of shuffles more time goes into fresh memory than into sums.
        share, beyond, once = _variance(sums)
        squared = share * share
        alone = share - squared
        alone *= once
        beyond -= alone
        squared *= every
        np.maximum(beyond, squared, out=beyond)
        scale = np.multiply(once, 0.5)
        np.maximum(share, scale, out=scale)
        np.divide(pooled, scale, out=scale)
        np.clip(scale, 0.5, 2.0, out=scale)
        scale *= scale
        beyond *= scale
        once *= pooled * (1.0 - pooled)
        beyond += once
        return share, beyond


def _spread_of_all(sums: FloatArray) -> FloatArray:
    """Return how much speakers differ in all words together: the variance beyond chance over the share squared."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share, variance, _ = _variance(sums)
        return np.asarray(np.nan_to_num(np.maximum(variance / share**2 - 1.0 / sums[0], 0.0)))


def _variance(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share lost, its variance over speakers (but for rounding 0 where one said the word), 1 / said."""
    lost, said, lost_lost, twice_lost_said, said_said, speakers = sums
    once = 1.0 / said
    share = lost / said
    off = share * said_said
    off -= twice_lost_said
    off *= share
    off += lost_lost
    off *= once
    off *= once
    more = speakers - 1.0
    np.clip(more, 1.0, np.inf, out=more)
    off *= np.divide(speakers, more, out=more)
    return share, off, once


def _welch(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of a difference of shares and its degrees of freedom.

    A share spreads at least as much as independent draws of its own, half a loss being added to those seen; degrees of
    freedom are Welch's, or those for equal spreads where they are fewer, as in `ttests.welch`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (sums[0] + 0.5) / (sums[1] + 1.0)
        variances = np.maximum(_variance(sums)[1], share * (1.0 - share) / sums[1])
        alike = 1.0 / sums[5]
    return np.sqrt(variances[0] + variances[1]), np.minimum(_freedom(sums, variances), _freedom(sums, alike))


def _freedom(sums: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the degrees of freedom of the sum of two variances, by Kish's numbers of speakers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = kish_freedom(sums[1], sums[4])
        return satterthwaite(variances[0], first, variances[1], second)


def excess_p(
    cell: IntArray, cells: int, speaker: IntArray, said: NDArray[Any], lost: FloatArray, expected: FloatArray
) -> FloatArray:
    """Return the p-values of `excess_loss`, speakers being worth what their occurrences hang together."""
    draws = draws_worth(cell, cells, said, hanging_together(cell, cells, speaker, said, lost, expected))
    return excess_loss(cell, cells, lost / said, np.minimum(expected / said, 1.0), draws)


@dataclass
class Tally:
    """Adds up the scenarios of a perturbation; then has tables with a row for each (group, word) that was said."""

    part: Sample
    groups: pl.Series
    allowed: NDArray[np.bool_]
    """Which words of the vocabulary are counted."""
    sounds: Sounds | None = None
    speakers_known: bool = True
    speakers_in_one_group: bool = True
    most_examples: int = 0
    """Examples of a lost word that are kept for a scenario."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Columns that every table gets: the recognizer and the perturbation."""

    def __post_init__(self) -> None:
        self._size = len(self.part.clean.vocabulary)
        present, self._of_pair = self.part.cells
        self._kept = np.flatnonzero(self.allowed[present % self._size])
        self._cells = present[self._kept]
        self._all = len(present)
        self._settings: list[str] = []
        self._examples: list[tuple[IntArray, IntArray]] = []
        # One array a scenario.
        self._counts: list[IntArray] = []
        self._lost: list[FloatArray] = []
        # Of (speaker, word) pairs, all scenarios together.
        self._pairs_lost, self._pairs_expected = np.zeros((2, len(self.part.said)))
        self._sound_lost: list[FloatArray] = []

    @property
    def is_empty(self) -> bool:
        """No word was said that is allowed."""
        return not len(self._cells)

    def add(self, setting: str, heard: Heard) -> None:
        """Add one scenario."""
        self._settings.append(setting)
        self._counts.append(heard.counts.ravel()[self._cells])
        self._lost.append(self._by_cell(heard.lost_pairs))
        self._pairs_lost += heard.lost_pairs
        self._pairs_expected += heard.expected
        if self.most_examples:
            self._examples.append(
                self._first(np.flatnonzero((heard.lost > 0) & self.allowed[self.part.word]))
            )
        if self.sounds is not None:
            self._sound_lost.append(self._by_group(self._by_sound(heard.lost_pairs, self.sounds)))

    def _by_cell(self, of_pair: NDArray[Any]) -> FloatArray:
        """Sum a value of (speaker, word) pairs over the speakers of each (group, word)."""
        return sums(self._of_pair, of_pair, self._all)[self._kept]

    @property
    def _pairs(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How often a speaker said a word, lost it, would lose it by chance: occurrences count in each scenario."""
        said = np.asarray(self.part.said * len(self._settings), dtype=np.float64)
        return said, self._pairs_lost, self._pairs_expected

    def _tested(self) -> pl.Series:
        if not self.speakers_known:
            return pl.Series([None] * len(self._cells), dtype=pl.Float64)
        p = excess_p(self._of_pair, self._all, self.part.pair_speaker, *self._pairs)
        return pl.Series(p[self._kept]).fill_nan(None)

    def between(self, permutations: int = PERMUTATIONS) -> tuple[Between, IntArray] | None:
        """Return the comparison of groups, and the places of its groups and words among the rows (-1: in none).

        Words that fewer than five speakers lose are not compared, nor, of very many, those that fewest lose: who loses
        them does not enter into that.
        """
        part, groups = self.part, len(self.groups)
        if not self.speakers_in_one_group or groups < 2:
            return None
        losers = np.bincount(part.pair_word, self._pairs_lost > 0.0, self._size) * self.allowed
        chosen = np.argsort(-losers, kind="stable")[: max(1, MOST_COMPARED // groups)]
        chosen = chosen[losers[chosen] >= FEWEST_SPEAKERS]
        if not len(chosen):
            return None
        column = np.full(self._size, -1)
        column[chosen] = np.arange(len(chosen))
        own = np.flatnonzero(column[part.pair_word] >= 0)
        lost, said = np.zeros((2, len(part.clean.group_of), len(chosen)))
        at = part.pair_speaker[own], column[part.pair_word[own]]
        lost[at], said[at] = self._pairs_lost[own], part.said[own] * len(self._settings)
        shuffles = _shuffles(len(part.clean.group_of), permutations)
        cell = np.arange(groups)[:, np.newaxis] * self._size + chosen
        row = np.minimum(np.searchsorted(self._cells, cell), len(self._cells) - 1)
        row = np.where(self._cells[row] == cell, row, -1)
        return between_groups(lost, said, part.clean.group_of, groups, shuffles), row

    def _first(self, entries: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows and words of the first entries of each (group, word), as many as are kept."""
        key = self.part.clean.group[self.part.row[entries]] * self._size + self.part.word[entries]
        order = np.argsort(key, kind="stable")
        _, starts = np.unique(key[order], return_index=True)
        rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        chosen = np.sort(entries[order[rank < self.most_examples]])
        return self.part.row[chosen], self.part.word[chosen]

    def _by_sound(self, values: Any, sounds: Sounds) -> FloatArray:
        """Sum a value of (speaker, word) pairs over the words in which each sound occurs, as often as it does."""
        from scipy.sparse import csr_array

        shape = (len(self.part.clean.group_of), self._size)
        places = (self.part.pair_speaker, self.part.pair_word)
        return np.asarray(csr_array((np.asarray(values, float), places), shape=shape) @ sounds.times)

    def _by_group(self, by_speaker: FloatArray) -> FloatArray:
        totals = np.zeros((len(self.groups), by_speaker.shape[1]))
        np.add.at(totals, self.part.clean.group_of, by_speaker)
        return totals

    def _labeled(self, columns: Mapping[str, Any]) -> pl.DataFrame:
        rows = len(next(iter(columns.values())))
        labels = {key: pl.Series([value]).new_from_index(0, rows) for key, value in self.labels.items()}
        return pl.DataFrame({**columns, **labels})

    def counts(self) -> pl.DataFrame:
        """Return words, how often each was said and, by setting, heard, as `drops_of` takes them."""
        group, word = np.divmod(self._cells, self._size)
        return self._labeled(
            {
                "group": self.groups.gather(group),
                "word": self.part.clean.vocabulary.gather(word),
                "original": self._by_cell(self.part.said).astype(np.int64),
                "settings": pl.Series([self._settings]).new_from_index(0, len(word)),
                "counts": pl.Series(np.column_stack(self._counts)).arr.to_list(),
            }
        )

    def losses(self) -> pl.DataFrame:
        """Return, for each (group, word), how many said it, how often it was lost at the worst setting, the test."""
        entries = self._of_pair[self.part.pair_of]
        speakers = np.bincount(self._of_pair, minlength=self._all)[self._kept]
        most, worst = self._worst(self._lost)
        return pl.DataFrame(
            {
                "utterances": np.bincount(entries, minlength=self._all)[self._kept],
                "speakers": pl.Series(
                    speakers if self.speakers_known else [None] * len(speakers), dtype=pl.Int64
                ),
                "lost": most.astype(np.int64),
                "lost_rate": most / self._by_cell(self.part.said),
                "lost_setting": worst,
                "p": self._tested(),
            }
        )

    def _worst(self, lost: list[FloatArray]) -> tuple[FloatArray, list[str]]:
        """Return the largest losses over the settings, and at which they are."""
        table = np.stack([values.ravel() for values in lost])
        return table.max(axis=0), [self._settings[number] for number in table.argmax(axis=0)]

    def phonemes(self) -> pl.DataFrame:
        """Return, for each (group, phoneme), its occurrences in clean words, those in lost words, the test."""
        assert self.sounds is not None
        said = self._by_group(self._by_sound(self.part.said, self.sounds)).ravel()
        names = list(self.sounds.phonemes)
        most, worst = self._worst(self._sound_lost)
        table = self._labeled(
            {
                "group": np.repeat(self.groups.to_numpy(), len(names)),
                "phoneme": names * len(self.groups),
                "said": said.astype(np.int64),
                "lost": most.astype(np.int64),
                "lost_setting": worst,
                "p": self._sounds_tested(self.sounds),
            }
        )
        rate = (pl.col("lost") / pl.col("said")).alias("lost_rate")
        said_at_all = table.filter(pl.col("said") > 0)
        return said_at_all.select(*self.labels, "group", "phoneme", "said", "lost", rate, "lost_setting", "p")

    def _sounds_tested(self, sounds: Sounds) -> pl.Series:
        p = np.full(len(self.groups) * len(sounds.phonemes), np.nan)
        if self.speakers_known:
            counts = [self._by_sound(values, sounds) for values in self._pairs]
            speaker, sound = np.nonzero(counts[0])
            cell = self.part.clean.group_of[speaker] * len(sounds.phonemes) + sound
            p = excess_p(cell, p.size, speaker, *(values[speaker, sound] for values in counts))
        return pl.Series(p).fill_nan(None)

    def examples(self, utterances: pl.Series) -> pl.DataFrame:
        """Return utterances in which a word was lost: group, word, setting, utterance, and the labels."""
        parts = [
            self._labeled(
                {
                    "group": self.groups.gather(self.part.clean.group[rows]),
                    "word": self.part.clean.vocabulary.gather(words),
                    "setting": pl.Series([setting] * len(rows), dtype=pl.String),
                    "utterance": utterances.gather(rows),
                }
            )
            for setting, (rows, words) in zip(self._settings, self._examples, strict=True)
        ]
        return pl.concat(parts)
