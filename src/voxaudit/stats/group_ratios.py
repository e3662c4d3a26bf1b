"""The ratio of two groups' error rates, speakers being the sample: `R = (E1/W1) / (E0/W0)`, as read off the table.

**Test.** The logarithm of R is divided by its standard error, in which a speaker counts as he pulls it, `e_i/E - w_i/W`
in his group, and whole speakers are shuffled between the groups (`stats.permutations`). **Guard.** Where the smaller
group's speakers differ more, or rates are skewed, shuffling alone claims too much. A Welch test of log R has to agree:
the variance is enlarged by the ratio seen (at most 2) in the group with the lower rate and divided by it in the other,
for the group that happens to be low is the one whose spread was underrated; degrees of freedom are Satterthwaite's with
Kish's numbers of speakers. p is the larger of the two. **Interval.** All ratios that are not rejected once the first
group's errors are divided by them. **Family.** One shuffle serves all questions, which are judged together (step-down).

Written for sums of any number of columns, `L = sum_k c_k log X_k`, c being 1 or -1: errors and words (`RATE`) for a
ratio of rates, errors and words of two scenarios (`CHANGE`) for how much more one of them multiplies a group's errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.multiplicity import farther_together
from voxaudit.stats.permutations import (
    LEVEL,
    Shuffles,
    among,
    are_whole,
    critical,
    equal_tailed,
    margins,
    step_down,
)
from voxaudit.stats.ttests import kish_freedom, satterthwaite

RATE = (1.0, -1.0)
"""Errors over words."""
CHANGE = (1.0, -1.0, -1.0, 1.0)
"""Errors over words in one scenario, over errors over words in another."""
_CAP = np.log(2.0)  # the ratio seen enlarges a variance no more than this
_SHARE_CAP = 4.0  # nor one of shares more than this
_NONE = 0.5  # errors counted where there were none, in the guard
_NONE_VARIANCE = 2.0  # and their variance on the log scale
_NO_SPREAD = 1e-20
_ALIKE = 1e-12  # numbers that differ by less, relatively, differ by rounding
_FAR = np.log(1e4)  # a limit farther from the estimate than this is none
_STEPS = 40  # tries at a limit
_CLOSE = 5e-4  # on the log scale: so well are limits found
_TOGETHER = 24  # cells whose shuffled sums are held at a time: bounds memory


class Comparison(Protocol):
    """Two groups of speakers in some cells (recognizers, scenarios): ratio, statistics of shuffles, and guard."""

    def ratio(self) -> FloatArray:
        """Return the ratios, one a cell."""

    def center(self) -> FloatArray:
        """Return the logarithms of the ratios, half an error being counted where there was none."""

    def freedom(self) -> FloatArray:
        """Return the degrees of freedom of the smaller group."""

    def statistics(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return studentized log ratios, shuffles x cells, under the claim that the ratio is `ratio`."""

    def guard(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return the guard's p-values of that claim."""


@dataclass(frozen=True)
class Rates:
    """Two groups' sums (columns of `coefficients` x speakers x cells; 0 where nothing was said).

    A speaker with speech on both sides (an attribute that varies within speakers) is exchanged with himself.

    >>> errors, words = np.array([[4.0], [6.0], [12.0], [9.0]]), np.full((4, 1), 100.0)
    >>> first = np.array([0.0, 0.0, 1.0, 1.0])[:, None]
    >>> sides = Rates(np.stack([errors, words]) * first, np.stack([errors, words]) * (1 - first))
    >>> sides.ratio().round(2).tolist()
    [2.1]
    """

    ours: FloatArray
    theirs: FloatArray
    shuffles: Shuffles = field(default_factory=lambda: Shuffles(0))
    coefficients: tuple[float, ...] = RATE

    @cached_property
    def _c(self) -> FloatArray:
        return np.array(self.coefficients)

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray, IntArray]:
        """Speakers of the first group only, of the second only, and of both."""
        first, second = (side.any(axis=(0, 2)) for side in (self.ours, self.theirs))
        return (
            np.flatnonzero(first & ~second),
            np.flatnonzero(second & ~first),
            np.flatnonzero(first & second),
        )

    def cells(self, chosen: slice) -> Rates:
        """Return the comparison in some of the cells."""
        return replace(self, ours=self.ours[:, :, chosen], theirs=self.theirs[:, :, chosen])

    def ratio(self) -> FloatArray:
        """Return the ratios: infinite where only the second group has no errors, nan where nobody has any."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.ours.sum(axis=1)) - np.log(self.theirs.sum(axis=1))
            return np.asarray(np.exp(np.einsum("k,km->m", self._c, logs)))

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        count = len(self.coefficients)
        return [(k, other) for k in range(count) for other in range(k, count)]

    def _columns(self, side: FloatArray) -> FloatArray:
        """Return sums, their products and who spoke: columns x speakers x cells."""
        spoke = (side[1] > 0.0).astype(np.float64)
        return np.stack([*side, *(side[k] * side[other] for k, other in self._pairs), spoke])

    def _counts(self) -> list[FloatArray]:
        """Return both sides, with whole numbers where nothing but rounding is between.

        A rate of one scenario comes divided and multiplied again (`mean_rates`); counts are summed exactly, and in half
        the time. Where speakers do not differ at all, rounding is all the spread there is, and is left.
        """
        sides = [self.ours, self.theirs]
        whole = [np.rint(side) for side in sides]
        same = np.sum(self._guard_parts[1][:2], axis=0) > _ALIKE
        for side, own in zip(sides, whole, strict=True):
            same &= (np.abs(side - own) <= _ALIKE * np.abs(own)).all(axis=(0, 1))
        return [np.where(same, own, side) for side, own in zip(sides, whole, strict=True)]

    def _crossed(self, both: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return products of what speakers said on one side and on the other, columns x speakers x cells."""
        ours, theirs = self.ours[:, both], self.theirs[:, both]
        count = range(len(self.coefficients))
        return (
            np.stack([ours[k] * theirs[other] for k in count for other in count]),
            np.stack([theirs[k] * ours[other] for k in count for other in count]),
        )

    @cached_property
    def _sums(self) -> _Sums:
        """What every claimed ratio needs of the shuffles.

        Only the first column is divided by the ratio; of the others only what they come to together is kept, and once
        for all cells in which they are the same: words are alike in most scenarios.
        """
        first, second, both = self._members
        inside, count, cells = len(first) + len(second), len(self.coefficients), self.ours.shape[2]
        # Who said something on a side: first or second group, and those on both.
        said = [
            self._columns(side[:, np.concatenate([own, both])]).transpose(2, 0, 1)
            for side, own in zip(self._counts(), (first, second), strict=True)
        ]
        totals = [side.sum(axis=2) for side in said]
        firsts = np.r_[0, count : 2 * count]
        others = np.r_[1:count, 2 * count : said[0].shape[1]]  # columns that the first one has no part in
        known: dict[bytes, int] = {}
        of_cell = [
            known.setdefault(b"".join(side[cell, others].tobytes() for side in said), len(known))
            for cell in range(cells)
        ]
        alike = [of_cell.index(place) for place in range(len(known))]
        rows = [
            np.concatenate(
                [
                    side[cell, columns]
                    for columns, some in ((others, alike), (firsts, range(cells)))
                    for cell in some
                ]
            )
            for side in said
        ]
        size = self.shuffles.permutations + 1
        exact = np.float32 if all(are_whole(one).all() for one in rows) else np.float64
        kept = [np.empty((len(one), size), dtype=exact) for one in rows]
        swapped = np.empty((len(both), size), dtype=bool)
        for here, stays in _stays(self.shuffles, first, second, both):
            swapped[:, here] = stays[inside:]
            for sums, values, own in zip(
                kept, rows, (stays[: len(first)], stays[len(first) : inside]), strict=True
            ):
                chosen = np.concatenate([own, stays[inside:]]).astype(exact)
                np.matmul(values.astype(exact), chosen, out=sums[:, here])
        crossed = [side.transpose(2, 0, 1) for side in self._crossed(both)]

        def sides(start: int, cell: int, columns: IntArray) -> list[FloatArray]:
            """What stays in the first group, what comes to it, what goes to the second, what stays there."""
            ours, theirs = (sums[start : start + len(columns)] for sums in kept)
            goes, comes = (
                total[cell, columns][:, None] - side
                for total, side in zip(totals, (ours, theirs), strict=True)
            )
            return [ours, comes, goes, theirs]

        made = np.empty((8, cells, size))
        common = np.empty((5, len(alike), size))
        pulled = np.empty((6, cells, size)) if len(both) else None
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weights = [
                self._others(sides(place * len(others), cell, others), common[:, place])
                for place, cell in enumerate(alike)
            ]
            start = len(alike) * len(others)
            for cell, place in enumerate(of_cell):
                self._own(sides(start + cell * len(firsts), cell, firsts), weights[place], made[:, cell])
                if pulled is not None:
                    crosses = [crossed[0][cell] @ swapped, crossed[1][cell] @ ~swapped]
                    pulled[:, cell] = self._shared(crosses, weights[place])
        whole = np.stack([total[:, column] for column in (0, count) for total in totals])
        return _Sums(made, common, np.array(of_cell), pulled, whole)

    def _others(self, sides: Sequence[FloatArray], into: FloatArray) -> list[FloatArray]:
        """Work out what the columns but the first come to.

        Return 1 over their sums on either side, then the same as weights of their products with the first column.

        Of either side: their variance; what an unbiased variance is multiplied by. Then the product of their sums.
        """
        count, c = len(self.coefficients), self._c
        one, other = np.array([pair for pair in self._pairs if pair[0] > 0]).T - 1
        weight = (c[one + 1] * c[other + 1] * np.where(one == other, 1.0, 2.0))[:, None]
        product: FloatArray | float = 1.0
        inverses = []
        for side, sign in enumerate((1.0, -1.0)):
            both = sides[2 * side] + sides[2 * side + 1]
            whole = np.maximum(both[: count - 1], 0.0)
            inverse = 1.0 / whole
            inverses.append(inverse)
            for k in range(1, count):
                product = product * (whole[k - 1] if sign * c[k] > 0.0 else inverse[k - 1])
            into[side] = (weight * both[count - 1 : -1] * inverse[one] * inverse[other]).sum(axis=0)
            into[2 + side] = both[-1] / (both[-1] - 1.0)
        into[4] = product
        mixed = (2.0 * c[0] * c[1:])[:, None]
        return [*inverses, *(mixed * inverse for inverse in inverses)]

    def _own(self, sides: Sequence[FloatArray], inverses: Sequence[FloatArray], into: FloatArray) -> None:
        """Work out what depends on the first column.

        Of the first side: sums of it and of its square, of what the first group said and of what the second said; the
        second side has the rest of the sums over both. For each side: its products with the others over their sums, of
        what either group said.
        """
        into[0], into[1] = sides[0][0], sides[1][0]
        into[2], into[3] = sides[0][1], sides[1][1]
        for place, side in enumerate(sides):
            mixed, weighted = into[4 + place], inverses[2 + place // 2]
            np.multiply(side[2], weighted[0], out=mixed)
            for k in range(1, len(weighted)):
                mixed += side[2 + k] * weighted[k]

    def _shared(self, crossed: Sequence[FloatArray], inverses: Sequence[FloatArray]) -> list[FloatArray]:
        """Return twice the covariance of the sides' logs that speakers on both make, in parts.

        Products of both first columns; of the first side's with the others, whose the first group said and whose the
        second; of the second side's likewise; and of the others.
        """
        count, c = len(self.coefficients), self._c
        found = [np.zeros(crossed[0].shape[1]) for _ in range(6)]
        for place, (k, other) in enumerate((k, other) for k in range(count) for other in range(count)):
            for whose in (0, 1):
                value = 2.0 * c[k] * c[other] * crossed[whose][place]
                if k > 0:
                    value = value * inverses[0][k - 1]
                if other > 0:
                    value = value * inverses[1][other - 1]
                part = 0 if k == other == 0 else 1 + whose if k == 0 else 3 + whose if other == 0 else 5
                found[part] += value
        return found

    def statistics(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return studentized log ratios, shuffles x cells; infinite where one side has no errors."""
        found = np.empty((len(ratio), self.shuffles.permutations + 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for place, cell in enumerate(range(len(ratio)) if cells is None else cells):
                self._sums.studentized(cell, float(1.0 / ratio[place]), found[place])
        return found.T

    def _pulls(self) -> list[FloatArray]:
        """Return how each speaker pulls the log of each side, speakers x cells."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = [side / side.sum(axis=1, keepdims=True) for side in (self.ours, self.theirs)]
        return [np.nan_to_num(np.einsum("k,knm->nm", self._c, side)) for side in sides]

    def center(self) -> FloatArray:
        """Return the logarithms of the ratios, half an error being counted where there was none."""
        return self._guard_parts[0]

    def freedom(self) -> FloatArray:
        """Return the degrees of freedom of the smaller group."""
        return np.minimum(*self._guard_parts[1][2:])

    def guard(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return the p-values of a Welch test of the log ratio whose variances allow for skewed spread."""
        log, parts, shared = self._guard_parts
        if cells is not None:
            log, parts, shared = log[cells], tuple(one[cells] for one in parts), shared[cells]
        first, second, first_df, second_df = parts
        return guard_p(log - np.log(ratio), first, second, first_df, second_df, shared)

    @cached_property
    def _guard_parts(self) -> tuple[FloatArray, tuple[FloatArray, ...], FloatArray]:
        logs, variances, freedoms = [], [], []
        *_, both = self._members
        pulls = self._pulls()
        for side, pull in zip((self.ours, self.theirs), pulls, strict=True):
            sums = side.sum(axis=1)
            spoke = (side[1] > 0.0).sum(axis=0)
            errors = [k for k in range(len(self.coefficients)) if k % 2 == 0]
            none = (sums[errors] <= 0.0).any(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                filled = sums.copy()
                filled[errors] = np.maximum(sums[errors], _NONE)
                logs.append(np.einsum("k,km->m", self._c, np.log(filled)))
                variance = spoke / (spoke - 1.0) * (pull**2).sum(axis=0)
            variances.append(np.where(none, _NONE_VARIANCE, variance))
            # A rate is pulled by those who say much, a change of it by those who have many errors.
            weight = side[1] if len(errors) == 1 else side[errors].sum(axis=0)
            freedoms.append(kish_freedom(weight.sum(axis=0), (weight**2).sum(axis=0)))
        shared = 2.0 * (pulls[0][both] * pulls[1][both]).sum(axis=0)
        return logs[0] - logs[1], (*variances, *freedoms), shared


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of shuffles, what they are of x cells x shuffles: `own` (`Rates._own`), `common` (`Rates._others`, once for
    all cells in which it is the same: `place`), `pulled` (`Rates._shared`) where there are speakers on both sides, and
    `totals` over both sides."""

    own: FloatArray
    common: FloatArray
    place: IntArray
    pulled: FloatArray | None
    totals: FloatArray

    @cached_property
    def _room(self) -> tuple[FloatArray, ...]:
        """What is worked out of both sides, and the least there is of it: numbers that numpy compares with are slow."""
        shape = 2, self.own.shape[2]
        return (*np.empty((4, *shape)), np.zeros(shape), np.full(shape[1], _NO_SPREAD))

    def studentized(self, cell: int, tilt: float, into: FloatArray) -> None:
        """Work out studentized log ratios of a cell, `tilt` being 1 over the ratio that is claimed.

        What the first group said is multiplied by it in the first column, in its square twice. Both sides are worked
        out at once, as a call costs as much as a thousand shuffles.
        """
        ours, theirs, squares, their_squares = self.own[:4, cell]
        whole, spread, inverse, mixed, nothing, least = self._room
        common, totals = self.common[:, self.place[cell]], self.totals[:, cell].tolist()
        np.multiply(ours, tilt, out=whole[0])
        whole[0] += theirs
        np.subtract(totals[0] * tilt + totals[1], whole[0], out=whole[1])
        np.multiply(squares, tilt**2, out=spread[0])
        spread[0] += their_squares
        np.subtract(totals[2] * tilt**2 + totals[3], spread[0], out=spread[1])
        np.maximum(whole, nothing, out=whole)
        np.divide(1.0, whole, out=inverse)
        spread *= inverse
        np.multiply(self.own[4::2, cell], tilt, out=mixed)
        mixed += self.own[5::2, cell]
        spread += mixed
        spread *= inverse
        spread += common[:2]
        np.maximum(spread, nothing, out=spread)
        spread *= common[2:4]
        variance = np.add(spread[0], spread[1], out=spread[0])
        if self.pulled is not None:
            # A speaker on both sides pulls both at once; the first group's errors are the ones divided.
            both, here, here_theirs, there, there_theirs, left = self.pulled[:, cell]
            variance -= both * tilt * inverse[0] * inverse[1] + left
            variance -= (here * tilt + here_theirs) * inverse[0]
            variance -= (there + there_theirs * tilt) * inverse[1]
        np.sqrt(np.maximum(variance, least, out=variance), out=variance)
        ratio = np.multiply(whole[0], inverse[1], out=whole[0])
        ratio *= common[4]
        log = np.log(ratio, out=ratio)
        np.divide(log, variance, out=into)
        # One side without errors: however little is known of its spread.
        endless = np.isinf(log)
        if endless.any():
            into[endless] = log[endless]


def _stays(
    shuffles: Shuffles, first: IntArray, second: IntArray, both: IntArray
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Yield shuffles as what stays on its side of a comparison, speakers (first, second, both) x shuffles.

    Speakers of one group are shuffled among all of them; a speaker on both sides is exchanged with himself or not.
    """
    key = (first.tobytes(), second.tobytes(), both.tobytes())
    yield from shuffles.remembered(key, lambda: _staying(shuffles, first, second, both))


def _staying(
    shuffles: Shuffles, first: IntArray, second: IntArray, both: IntArray
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    members = np.concatenate([first, second])
    swaps = np.random.Generator(np.random.PCG64([shuffles.seed, 1]))
    is_first = np.zeros(shuffles.speakers, dtype=bool)
    is_first[first] = True
    for rows, block in shuffles.blocks():
        stays = np.ones((len(block), len(members) + len(both)), dtype=bool)
        stays[:, : len(members)] = is_first[among(block, members)]
        stays[:, len(first) : len(members)] ^= True
        if len(both):
            fresh = slice(1 if rows.start == 0 else 0, None)
            stays[fresh, len(members) :] = swaps.integers(0, 2, (len(block), len(both)))[fresh]
        yield rows, np.ascontiguousarray(stays.T)  # speakers of a group are summed over


class Shares(Rates):
    """Two groups' shares (cases among all that was asked) where most are cases.

    What has a ceiling is skewed towards it: the guard is a Welch test of the difference of shares in which the group
    with fewer exceptions is the one whose spread was underrated, by as much as theirs differ (at most 4 times).
    """

    def guard(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return the p-values of that test, the first group's cases divided by the ratio."""
        from voxaudit.numeric import stdtr

        found = []
        for side, by in ((self.ours, ratio), (self.theirs, 1.0)):
            top, below = side if cells is None else side[:, :, cells]
            total, spoke = below.sum(axis=0), (below > 0.0).sum(axis=0)
            share = top.sum(axis=0) / by / total
            squares = ((top / by - share * below) ** 2).sum(axis=0) / total**2
            freedom = kish_freedom(total, (below**2).sum(axis=0))
            found.append((share, squares * spoke / np.maximum(spoke - 1, 1), freedom))
        (one, first, first_df), (other, second, second_df) = found
        skew = np.clip((1.0 - other) / np.maximum(1.0 - one, 1e-9), 1.0 / _SHARE_CAP, _SHARE_CAP)
        a, b = first * skew, second / skew
        with np.errstate(divide="ignore", invalid="ignore"):
            df = np.where(a + b > 0.0, satterthwaite(a, first_df, b, second_df), 1.0)
        return np.asarray(2.0 * stdtr(df, -np.abs(one - other) / np.sqrt(np.maximum(a + b, _NO_SPREAD))))


@dataclass(frozen=True)
class Adjusted:
    """Two groups in one cell with other things held fixed: the ratio of their difficulty-adjusted error rates.

    The rates come from a marginal Poisson regression, `E(errors) = words exp(b'x + g z)`, z being 1 for the first
    group: `exp(g)` is `(E1/M1) / (E0/M0)` with `M = sum of words exp(b'x)`, the words in units of equal difficulty.
    Shuffled labels are tested by the score of z, made orthogonal to what is held fixed; the guard is as for `Rates`,
    with each speaker's influence on g. `design` has a row an utterance (or a speaker's utterances of one kind), its
    first column being 1; `side` is 1 in the first group, 0 in the second and -1 in others, which have columns of their
    own in the design.
    """

    errors: FloatArray
    words: FloatArray
    design: FloatArray
    side: IntArray
    speaker: IntArray
    shuffles: Shuffles

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray, IntArray]:
        first, second = (np.unique(self.speaker[self.side == side]) for side in (1, 0))
        both = np.intersect1d(first, second)
        return np.setdiff1d(first, both), np.setdiff1d(second, both), both

    @cached_property
    def _place(self) -> tuple[IntArray, int]:
        """The places of the rows' speakers: first group only, second only, both, others."""
        everybody = np.concatenate(
            [*self._members, np.setdiff1d(self.speaker, np.concatenate(self._members))]
        )
        place = np.empty(self.shuffles.speakers, dtype=np.int64)
        place[everybody] = np.arange(len(everybody))
        return place[self.speaker], len(everybody)

    @cached_property
    def _kept(self) -> NDArray[np.uint8]:
        size = sum(map(len, self._members))
        kept = np.empty((self.shuffles.permutations + 1, size), dtype=np.uint8)
        for rows, stays in _stays(self.shuffles, *self._members):
            kept[rows] = stays.T
        return kept

    @cached_property
    def _fit(self) -> tuple[float, FloatArray, FloatArray]:
        """The log ratio, each speaker's influence on it, and the words of every row in units of equal difficulty."""
        label = (self.side == 1).astype(np.float64)
        design = self.design
        empty = [not self.errors[self.side == side].any() for side in (1, 0)]
        if any(empty):
            slopes, expected = poisson_slopes(design, self.errors, self.words)
            adjusted = expected / np.exp(slopes[0])
            totals = [
                (max(self.errors[self.side == side].sum(), _NONE), adjusted[self.side == side].sum())
                for side in (1, 0)
            ]
            log = float(np.log(totals[0][0] / totals[0][1]) - np.log(totals[1][0] / totals[1][1]))
            return log, np.zeros(self._place[1]), adjusted
        slopes, expected = poisson_slopes(np.column_stack([design, label]), self.errors, self.words)
        weighted = design * expected[:, None]
        left = label - design @ np.linalg.lstsq(design.T @ weighted, weighted.T @ label, rcond=None)[0]
        information = float(expected @ (left * label))
        pull = left * (self.errors - expected) / information
        influence = np.asarray(np.bincount(self._place[0], pull, self._place[1]), dtype=np.float64)
        return float(slopes[-1]), influence, expected / np.exp(slopes[0] + slopes[-1] * label)

    def adjusted_words(self) -> FloatArray:
        """Return the words of every row in units of equal difficulty, as many in the two groups as they said.

        Words of other groups are not counted: the column of such a group says how it is served, not what it said.
        """
        words, both = self._fit[2], self.side >= 0
        return np.asarray(words * (self.words[both].sum() / words[both].sum()))

    def ratio(self) -> FloatArray:
        """Return the ratio of the adjusted rates: 0 or infinite where one group has no errors, nan where both."""
        some = [self.errors[self.side == side].any() for side in (1, 0)]
        if not all(some):
            return np.array([0.0 if some[1] else np.inf if some[0] else np.nan])
        return np.array([np.exp(self._fit[0])])

    def center(self) -> FloatArray:
        """Return the logarithm of the ratio, half an error being counted where there was none."""
        return np.array([self._fit[0]])

    @cached_property
    def _guard_parts(self) -> tuple[FloatArray, ...]:
        place, size = self._place
        ends = np.cumsum([len(some) for some in self._members])
        speakers = [
            np.arange(ends[0]),
            np.arange(ends[0], size),
        ]  # those on both sides count once, with the second
        influence, free = self._fit[1], size / max(size - self.design.shape[1], 1)
        variances, freedoms = [], []
        for side, some in zip((1, 0), speakers, strict=True):
            rows = self.side == side
            words = np.bincount(place[rows], self._fit[2][rows], size)
            count = len(some)
            variance = float((influence[some] ** 2).sum()) * count / max(count - 1, 1) * free
            variances.append(variance if self.errors[rows].any() else _NONE_VARIANCE)
            freedoms.append(float(kish_freedom(words.sum(), (words**2).sum())))
        return tuple(np.array([one]) for one in (*variances, *freedoms))

    def change(self, held: Adjusted, level: float = LEVEL) -> tuple[float, float, float]:
        """Return how many times as high the log ratio is here as with more `held` fixed: difference, low and high.

        Both are of the same utterances. A speaker pulls both ratios, mostly alike; what counts is the difference of the
        two pulls, whose variance is estimated in each group as the guard's is.
        """
        from voxaudit.numeric import stdtrit

        size, first = self._place[1], len(self._members[0])
        pulls = self._fit[1] - held._fit[1]
        free = size / max(size - held.design.shape[1], 1)
        variances = [
            np.array(float((pulls[some] ** 2).sum()) * free * len(pulls[some]) / max(len(pulls[some]) - 1, 1))
            for some in (slice(first), slice(first, None))
        ]
        df = satterthwaite(variances[0], self._guard_parts[2][0], variances[1], self._guard_parts[3][0])
        center = self._fit[0] - held._fit[0]
        total = float(sum(variances))
        reach = float(stdtrit(df, 1.0 - level / 2.0)) * np.sqrt(total) if total > _NO_SPREAD else 0.0
        return center, center - reach, center + reach

    def freedom(self) -> FloatArray:
        """Return the degrees of freedom of the smaller group."""
        return np.minimum(*self._guard_parts[2:])

    def guard(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return the p-value of a Welch test of the adjusted log ratio."""
        return guard_p(self.center() - np.log(ratio), *self._guard_parts)

    def statistics(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return studentized scores of shuffled labels where the first group's rate is `ratio` times as high."""
        place, size = self._place
        label = self.side == 1
        words = self.words * np.where(label, ratio[0], 1.0)
        _, expected = poisson_slopes(self.design, self.errors, words)
        left, weighted = self.errors - expected, self.design * expected[:, None]
        columns = self.design.shape[1]

        def by_speaker(values: FloatArray, rows: NDArray[np.bool_]) -> FloatArray:
            sums = [np.bincount(place[rows], values[rows, k], size) for k in range(values.shape[1])]
            return np.stack(sums, axis=1)

        whole = by_speaker(self.design * left[:, None], np.ones(len(left), dtype=bool))
        inside = sum(map(len, self._members))
        sides = []
        for rows in (label, self.side == 0):
            own = by_speaker(left[:, None], rows)
            sides.append(np.hstack([own, own**2, by_speaker(weighted, rows), own * whole])[:inside])
        # What stays of the first group's, and what comes of the second's.
        wide = sides[0] - sides[1]
        score, square, expected_, product = np.split(
            _in_blocks(self._kept, wide) + sides[1].sum(axis=0), [1, 2, 2 + columns], axis=1
        )
        project = np.linalg.lstsq(self.design.T @ weighted, expected_.T, rcond=None)[0].T
        variance = square[:, 0] - 2.0 * np.einsum("bk,bk->b", project, product)
        variance += np.einsum("bk,kl,bl->b", project, whole.T @ whole, project)
        return np.asarray(score / np.sqrt(np.maximum(variance, _NO_SPREAD))[:, None])


def _in_blocks(kept: NDArray[np.uint8], wide: FloatArray) -> FloatArray:
    step = max(1, 4_000_000 // max(kept.shape[1], 1))
    parts = [kept[start : start + step].astype(np.float64) @ wide for start in range(0, len(kept), step)]
    return np.vstack(parts)


def poisson_slopes(
    design: FloatArray, errors: FloatArray, words: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of a Poisson regression of errors with `log words` as offset, and the errors expected.

    Unlike `poisson_glm.fit_poisson` it ends where something held fixed has a value without errors: slopes grow so far
    that those errors are next to none, and the rest is fitted.

    >>> design = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> slopes, _ = poisson_slopes(design, np.array([1.0, 3.0, 4.0, 8.0]), np.full(4, 10.0))
    >>> np.exp(slopes).round(6).tolist()
    [0.2, 3.0]
    """
    slopes = np.zeros(design.shape[1])
    slopes[0] = np.log(max(errors.sum(), _NONE) / words.sum())
    tiny = 1e-9 * np.eye(len(slopes))
    expected = words * np.exp(np.clip(design @ slopes, -20.0, 5.0))
    for _ in range(30):
        step = np.linalg.solve(design.T @ (design * expected[:, None]) + tiny, design.T @ (errors - expected))
        slopes = slopes + np.clip(step, -2.0, 2.0)
        expected = words * np.exp(np.clip(design @ slopes, -20.0, 5.0))
        if np.abs(step).max() < 1e-9:
            break
    return slopes, expected


def guard_p(
    log: FloatArray,
    first: FloatArray,
    second: FloatArray,
    first_df: FloatArray,
    second_df: FloatArray,
    shared: FloatArray | float = 0.0,
) -> FloatArray:
    """Return two-sided p-values of log ratios of two groups with these variances and degrees of freedom.

    The variance of the group with the lower rate is multiplied by the ratio seen, at most 2, that of the other divided.

    >>> guard_p(*(np.array([one]) for one in (0.7, 0.04, 0.04, 9.0, 9.0))).round(3).tolist()
    [0.045]
    """
    from voxaudit.numeric import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.exp(np.clip(log, -_CAP, _CAP))
        a, b = first / skew, second * skew
        df = satterthwaite(a, first_df, b, second_df)
        spread = np.sqrt(np.maximum(a + b - shared, _NO_SPREAD))
        return np.asarray(2.0 * stdtr(np.where(a + b > 0.0, df, 1.0), -np.abs(log) / spread))


@dataclass(frozen=True)
class Judged:
    """A comparison in one cell: the ratio with its interval, p by itself and within the family of all questions.

    `lowest` is a lower limit of the ratio, or of its inverse where that is above 1, that holds for all at once.
    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    lowest: float | None = None


def judge(
    comparisons: Sequence[Comparison], *, level: float = LEVEL, limits: bool = True
) -> list[list[Judged]]:
    """Judge all comparisons in all their cells as one family: a list of cells for each comparison.

    Without `limits` (quicker) there are no intervals.

    >>> generator = np.random.default_rng(1)
    >>> words = np.full((24, 1), 200.0)
    >>> errors = generator.poisson(np.repeat([10.0, 22.0], 12)[:, None]).astype(float)
    >>> one = np.stack([errors, words]) * (np.arange(24) >= 12)[None, :, None]
    >>> other = np.stack([errors, words]) - one
    >>> [[found]] = judge([Rates(one, other, Shuffles(24))])
    >>> found.p_adjusted < 0.01 < 1.5 < found.low < found.ratio < found.high
    True
    """
    size = sum(len(comparison.ratio()) for comparison in comparisons)
    found: list[dict[str, FloatArray]] = []
    scaled, observed = [], []
    for part, guarded in _in_parts(comparisons, level, limits):
        ratio = part.ratio()
        one = np.ones(len(ratio))
        statistics, guard = part.statistics(one), part.guard(one)
        some, own = margins(statistics, guard, level)
        scaled.append(some)
        observed.append(own)
        alone = equal_tailed(statistics)
        values = {"ratio": ratio, "p": np.where(np.isnan(alone), np.nan, np.fmax(alone, guard))}
        if limits:
            values["low"], values["high"] = interval(part, level, guarded)
            values["lowest"] = _lowest(part, values, size, level)
        found.append(values)
        for name in ("_sums", "_kept"):  # what shuffles gave is large
            part.__dict__.pop(name, None)
    if not found:
        return [[] for _ in comparisons]
    together = step_down(scaled, np.concatenate(observed))
    joined = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    # Nothing is surer among others than by itself.
    joined["p_adjusted"] = joined["p"] if size == 1 else np.fmax(together, joined["p"])
    judged = [
        Judged(
            ratio=float(joined["ratio"][place]),
            **{
                name: None
                if name not in joined or np.isnan(joined[name][place])
                else float(joined[name][place])
                for name in ("low", "high", "p", "p_adjusted", "lowest")
            },
        )
        for place in range(size)
    ]
    ends = np.cumsum([len(comparison.ratio()) for comparison in comparisons])
    return [judged[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _in_parts(
    comparisons: Sequence[Comparison], level: float, limits: bool
) -> Iterator[tuple[Comparison, list[FloatArray]]]:
    """Yield the comparisons, those of many cells in parts, with the guard's limits: found for all rates at once."""
    rates = [comparison for comparison in comparisons if type(comparison) is Rates] if limits else []
    ends = _guard_limits(_Guards(rates), level) if rates else []
    for comparison in comparisons:
        guarded: list[FloatArray] = []
        if limits and type(comparison) is Rates:
            size = comparison.ours.shape[2]
            guarded, ends = [end[:size] for end in ends], [end[size:] for end in ends]
        elif limits:
            guarded = _guard_limits(comparison, level)
        if not isinstance(comparison, Rates):
            yield comparison, guarded
            continue
        for start in range(0, comparison.ours.shape[2], _TOGETHER):
            some = slice(start, start + _TOGETHER)
            yield comparison.cells(some), [end[some] for end in guarded]


def _lowest(part: Comparison, values: dict[str, FloatArray], count: int, level: float) -> FloatArray:
    """Return the limit on the side of 1 of the worse group's rate over the better one's, for all of `count` at once.

    It lies as much farther from the estimate, on the log scale, as quantiles of the guard's t do (Bonferroni).
    """
    ratio = values["ratio"]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(ratio >= 1.0, values["low"], 1.0 / values["high"])
        worse = np.where(ratio >= 1.0, ratio, 1.0 / ratio)
        farther = farther_together(part.freedom(), count, 1.0 - level)
        stretched = worse * (low / worse) ** farther
    return np.where(np.isfinite(worse) & (count > 1), stretched, low)


def interval(
    comparison: Comparison, level: float = LEVEL, guarded: Sequence[FloatArray] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the ratios that are not rejected at `level`: 0 or infinity where there is no limit.

    `guarded` are the guard's limits (`_guard_limits`), where they are known.

    The search starts at the guard's limits, which cost nothing, and goes on outward where shuffling rejects less. A
    group without errors has the guard's limits: dividing nothing tells nothing.
    """
    ratio = comparison.ratio()
    log = np.log(np.where(np.isfinite(ratio) & (ratio > 0.0), ratio, np.nan))
    ends = []
    for side, end in zip((-1.0, 1.0), guarded or _guard_limits(comparison, level), strict=True):
        open_ = 0.0 if side < 0.0 else np.inf
        cells = np.flatnonzero(np.isfinite(log) & np.isfinite(end) & (end > 0.0))
        # The last ratio kept and the first one rejected, with how far the statistic is from the critical one.
        kept, kept_by = log.copy(), np.full(len(ratio), np.nan)
        out, out_by = np.full(len(ratio), np.nan), np.full(len(ratio), np.nan)
        here = np.log(np.where(end > 0.0, end, 1.0))
        for turn in range(_STEPS):
            if not len(cells):
                break
            beyond = critical(comparison.statistics(np.exp(here[cells]), cells), level, -side)
            rejected = beyond <= 0.0
            gone, stays = cells[rejected], cells[~rejected]
            out[gone], out_by[gone] = here[gone], beyond[rejected]
            kept[stays], kept_by[stays] = here[stays], beyond[~rejected]
            if turn == 0:  # where the guard's limit is rejected it is the limit
                cells = stays
            # Statistics go nearly linearly with the log ratio, from about 2 short of the critical one at the estimate.
            width, reach = np.abs(out[cells] - kept[cells]), np.abs(here[cells] - log[cells])
            cells = cells[~(np.fmin(width, -out_by[cells] * reach / 2.0) <= _CLOSE)]
            bracketed, reach = ~np.isnan(out[cells]), np.maximum(np.abs(here[cells] - log[cells]), 0.02)
            share = np.nan_to_num(kept_by[cells] / (kept_by[cells] - out_by[cells]), nan=0.5)
            between = (
                kept[cells] + np.clip(share, 0.1, 0.9) * (out[cells] - kept[cells]) + side * _CLOSE / 4.0
            )
            # A little beyond where the line says, so that the limit is soon enclosed.
            short = np.minimum(kept_by[cells], 1.0)  # of endless statistics it is endless
            ahead = np.clip(1.2 * short / (2.0 - short), 0.02, 0.25)
            outward = kept[cells] + side * ahead * reach
            here[cells] = np.where(bracketed, between, outward)
            cells = cells[np.abs(here[cells] - log[cells]) < _FAR]
        found = np.where(np.isnan(out), open_, np.exp(out))
        searched = np.isfinite(log) & np.isfinite(end) & (end > 0.0)
        ends.append(np.where(np.isnan(ratio), np.nan, np.where(searched, found, end)))
    return ends[0], ends[1]


class _Guards:
    """The guards of several comparisons of rates: to ask costs the same for one cell as for hundreds."""

    def __init__(self, parts: Sequence[Rates]) -> None:
        known = [(one.ratio(), *one._guard_parts) for one in parts]
        self._parts: FloatArray = np.hstack(
            [np.stack([ratio, log, *sides, both]) for ratio, log, sides, both in known]
        )

    def ratio(self) -> FloatArray:
        return np.asarray(self._parts[0])

    def center(self) -> FloatArray:
        return np.asarray(self._parts[1])

    def guard(self, ratio: FloatArray, cells: IntArray) -> FloatArray:
        log, *others = self._parts[1:, cells]
        return guard_p(log - np.log(ratio), *others)


def _guard_limits(comparison: Comparison | _Guards, level: float) -> list[FloatArray]:
    """Return the ratios farthest from the estimate, below and above, that the guard does not reject."""
    ratio, center = (np.tile(one, 2) for one in (comparison.ratio(), comparison.center()))
    cells = np.arange(len(ratio)) % max(len(ratio) // 2, 1)
    below = np.arange(len(ratio)) < len(ratio) // 2
    none = np.where(below, 0.0, np.inf)
    inside, beyond = center, center + np.where(below, -_FAR, _FAR)
    for _ in range(50):
        middle = (inside + beyond) / 2.0
        out = comparison.guard(np.exp(middle), cells) <= level
        beyond, inside = np.where(out, middle, beyond), np.where(out, inside, middle)
    far = np.abs(beyond - center) > 0.999 * _FAR
    # A group without errors has a limit on one side only.
    return np.split(np.where(far | (ratio == none), none, np.exp(beyond)), 2)
