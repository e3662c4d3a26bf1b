"""Speakers drawn at random: what differences of error rates would have been with others (rates: `stats.rates`).

Two kinds of draws serve two kinds of claims. Drawn with replacement, speakers show how far an estimate wanders: its
standard error. A random half of them (each with a chance of one half) gives Hartigan's (1969) typical values: where a
change comes as often with either sign, as many of them lie below it as above, whatever the tails, so that the
outermost 2.5 % of the halves are the limits that flipping signs of speakers at random gives. They tell whether there
is a change at all. How large it may be is another matter: few speakers are hurt most, and they may not be among those
heard. So a limit on the far side allows for one who is not (`stats.unseen`).

A mean over many disturbances against one clean hearing is no such change: what happens once in hundreds of utterances
happened in some of the many and not in the one. So such a change must also be larger than what comes about where the
clean hearing of each speaker might as well have been any of the others (`Resample.turned`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.stats.unseen import BORROWED
from voxaudit.tables import added

FEWEST_SPEAKERS = 5
"""With fewer speakers no interval is given: resampling four people says little about a fifth."""
BEYOND = 2.0
"""How far beyond the speaker with the largest change one may be that was not heard, in units of the distance of that
one from the median speaker."""

_RARE = 4.0  # what is so many times as far from a speaker's mean hearing as usual is rare
_DRAWS = 4_000_000  # halves x speakers worked on at a time: bounds memory


def change_interval(
    changes: NDArray[np.float64],
    words: NDArray[np.float64],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float | None, float | None]:
    """Return the limits of `sum(changes) / sum(words)`, one value of each per speaker; None with fewer than five.

    >>> change_interval(np.array([3.0, 1, 2, 4, 2, 3]), np.full(6, 100.0))
    (0.01, 0.046...)
    """
    own = Resample.within(["all"] * len(words), resamples, seed, confidence)
    found = own.change((changes, words), (0.0 * changes, words))
    return found.low, found.high


def additions(
    errors: NDArray[np.float64], words: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what people (rows) add to error rates (columns) beyond them, and their shares of the words."""
    share = words / words.sum(axis=0)
    return errors / words.sum(axis=0) - errors.sum(axis=0) / words.sum(axis=0) * share, share


def speaker_cells(
    table: pl.DataFrame, conditions: pl.DataFrame, by: Sequence[str], counts: Sequence[str], speaker: str
) -> pl.DataFrame:
    """Return sums of counts by speaker and condition; `_speaker` numbers people in the order of their appearance.

    `conditions` has the columns `by` and their numbers, `_condition`.
    """
    sums = table.group_by([*by, speaker], maintain_order=True).agg(added(table, *counts))
    people = sums.select(speaker).unique(maintain_order=True).with_row_index("_speaker")
    return sums.join(conditions, on=by, nulls_equal=True).join(people, on=speaker)


def by_people(
    sums: pl.DataFrame, counts: Sequence[str], conditions: int, people: int | None = None
) -> list[NDArray[np.float64]]:
    """Return each of `counts` as a matrix of people x conditions (`_speaker` and `_condition` number them).

    It is 0 where nobody spoke; rows of the same person and condition are added up. Without `people` there are as many
    as the last one's number says.
    """
    speaker, condition = (sums[name].to_numpy().astype(np.int64) for name in ("_speaker", "_condition"))
    if people is None:
        people = int(speaker.max(initial=-1)) + 1
    cell, shape = speaker * conditions + condition, (people, conditions)
    return [
        # Of no rows at all numpy counts whole numbers.
        np.bincount(cell, sums[name].fill_null(0.0).to_numpy(), math.prod(shape))
        .astype(np.float64)
        .reshape(shape)
        for name in counts
    ]


def speaker_weights(speakers: int, resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return how often each speaker is drawn in each resample: a matrix resamples x speakers."""
    draws = generator.multinomial(speakers, np.full(speakers, 1.0 / speakers), size=resamples)
    return draws.astype(np.float64)


def widened_tail(speakers: int, confidence: float) -> float:
    """Return the percentile that widens a percentile interval to the t distribution's (Hesterberg 2015)."""
    from voxaudit.numeric import ndtr, stdtrit

    quantile = float(stdtrit(speakers - 1, 0.5 + confidence / 2.0))
    return float(ndtr(-math.sqrt(speakers / (speakers - 1)) * quantile))


Sums = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Errors and words, one of each per person (people x hearings, where there are several)."""


@dataclass(frozen=True)
class Changed:
    """The limits of a change of an error rate, and its two-sided p; None with fewer than five speakers."""

    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class Resample:
    """Who is drawn, one row per draw; one set of draws serves all conditions, so that differences are paired.

    `weights` are how often each person is drawn with replacement; row 0 is everybody once, which gives the estimate.
    `halves` says who is in a random half, `stranger` is the weight of the one not heard beside each half, `which` (0 to
    1) of a person's hearings stands for the clean one. What is computed from draws (`values`) has a row for each of
    `weights`, then one for each of `halves`.
    """

    weights: NDArray[np.float64]
    confidence: float
    halves: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    stranger: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    which: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    seed: int = 0

    @classmethod
    def within(cls, strata: Sequence[str], resamples: int, seed: int, confidence: float) -> Resample:
        """Draw people with replacement `resamples` times; `strata` says for each person whom they are drawn among."""
        generator = np.random.Generator(np.random.PCG64(seed))
        weights = np.ones((resamples + 1, len(strata)))
        for stratum in sorted(set(strata), key=repr):
            members = [person for person, own in enumerate(strata) if own == stratum]
            weights[1:, members] = speaker_weights(len(members), resamples, generator)
        halves = generator.random((resamples, len(strata)), dtype=np.float32) < 0.5
        stranger = generator.standard_exponential(resamples)
        which = generator.random((resamples, len(strata)), dtype=np.float32)
        return cls(weights, confidence, halves, stranger, which, seed)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over people (rows) in every draw; those of a half twice, as there are two."""
        return np.vstack([self.weights @ values, *(2.0 * (half @ values) for half in self._blocks())])

    def rates(self, errors: NDArray[np.float64], words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rates of conditions (columns; people are rows) in every draw; nan where no words were drawn."""
        above, below = self.sums(errors), self.sums(words)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below > 0.0, above / below, np.nan)

    def _blocks(self) -> Iterator[NDArray[np.float64]]:
        step = max(1, _DRAWS // max(self.halves.shape[1], 1))
        for first in range(0, len(self.halves), step):
            yield self.halves[first : first + step].astype(np.float64)

    def turned(
        self,
        hearings: NDArray[np.float64],
        quiet: NDArray[np.float64],
        weights: NDArray[np.float64],
        share: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return by how much a mean of hearings exceeds the clean one where each person's clean one may be any of them.

        `hearings` (people x hearings) and `quiet` (one column) are what people add to rates beyond them; `weights` are
        those of the hearings in the mean, `share` is the share of the words that each person has. A hearing that takes
        the place of the clean one varies as little as clean speech usually does, but what is rare and large stays.
        """
        used, there = weights > 0.0, share > 0.0
        both = np.hstack([quiet, hearings[:, used]])[there]
        size = share[there, None] / share.sum()
        apart = both - both.mean(axis=1, keepdims=True)
        usual = np.median(np.abs(apart / size), axis=0)
        harder = float(np.median(usual[1:]))
        if harder > usual[0]:
            most = _RARE * harder * size
            apart[:, 1:] -= (1.0 - usual[0] / harder) * np.clip(apart[:, 1:], -most, most)
        apart -= size * apart.sum(axis=0)
        places = both.shape[1]
        # A mean of n hearings against one varies (n + 1) / n times as much as any of them about the mean of all.
        moved = (apart[:, :1] - apart) * weights.sum() * places / (places - 1)
        own = moved + (both[:, 1:] @ weights[used] - weights.sum() * both[:, 0])[:, None]
        drawn: NDArray[np.float64] = own.take(self._picked(there, places)).sum(axis=1)
        return drawn

    @cached_property
    def _last(self) -> dict[tuple[bytes, int], NDArray[np.intp]]:
        return {}

    def _picked(self, there: NDArray[np.bool_], places: int) -> NDArray[np.intp]:
        """Return where in people x hearings each person's clean one is; kept, as it is mostly as just before."""
        key = (there.tobytes(), places)
        if key not in self._last:
            pick = (self.which[:, there] * np.float32(places)).astype(np.intp)
            self._last.clear()
            self._last[key] = pick + places * np.arange(pick.shape[1])
        return self._last[key]

    def change(self, after: Sums, before: Sums, hearings: Sums | None = None) -> Changed:
        """Return what is known of a change of an error rate: `sum(errors) / sum(words)` after, less that before.

        `hearings` are those that `after` is the mean of, where there was one before: then `turned` has to agree.
        """
        errors, words = (np.column_stack(pair) for pair in zip(after, before, strict=True))
        if not (words.sum(axis=0) > 0.0).all():
            return Changed()
        (moved, shares), rates = additions(errors, words), self.rates(errors, words)
        values, share = rates[:, 0] - rates[:, 1], shares.max(axis=1)
        turned = None
        if hearings is not None:
            each = additions(*hearings)[0]
            turned = self.turned(each, moved[:, 1:], np.full(each.shape[1], 1.0 / each.shape[1]), share)
        said, speakers = self.sums(share[:, None])[:, 0], len(share)
        ends = self.change_limits(values, moved[:, 0] - moved[:, 1], share, said, speakers, turned=turned)
        return Changed(*ends, None if ends[0] is None else self._change_p(values, turned))

    def _change_p(self, values: NDArray[np.float64], turned: NDArray[np.float64] | None) -> float:
        """Return the smallest level, two-sided, at which the limits of a change leave out 0."""
        tests = [values[len(self.weights) :]] + ([] if turned is None else [values[0] - turned])
        sides = [
            max((1 + np.sum(np.isnan(one) | (sign * one >= 0.0))) / (1 + len(one)) for one in tests)
            for sign in (-1.0, 1.0)
        ]
        return float(min(1.0, 2.0 * min(sides)))

    def change_limits(
        self,
        values: NDArray[np.float64],
        deviation: NDArray[np.float64],
        share: NDArray[np.float64],
        said: NDArray[np.float64],
        speakers: int,
        *,
        turned: NDArray[np.float64] | None = None,
        tests: int = 1,
    ) -> tuple[float | None, float | None]:
        """Return the limits of a change of rates, of its values in all draws.

        `deviation` is what each person adds to the change beyond it, `share` the share of the words each has, `said`
        the sum of these shares in all draws; `speakers` is the number of people on the smaller side. Limits that
        exclude 0 are those of the halves, which decide whether there is a change (with `turned`, where these exclude it
        too); others allow for a person not heard. None with fewer than five speakers or where too many draws have no
        value. `tests` is the number of intervals that have to hold at once (Bonferroni).
        """
        estimate, there = float(values[0]), share > 0.0
        if speakers < FEWEST_SPEAKERS or not math.isfinite(estimate) or not there.any():
            return None, None
        drawn = values[len(self.weights) :]
        own = estimate + deviation[there] / (share[there] + BORROWED / speakers)
        heard, weight = said[len(self.weights) :], self.stranger / speakers
        ends = []
        for sign in (-1.0, 1.0):
            extreme, middle = np.max(sign * own), np.median(sign * own)
            farthest = extreme + BEYOND * (extreme - middle)
            # A half without anybody says nothing against any limit.
            half = self._outermost(np.where(np.isnan(drawn), np.inf, sign * drawn), tests)
            if turned is not None and half < 0.0:
                chance = self._outermost(sign * (estimate - turned), tests)
                half = half if chance < 0.0 else chance
            beside = np.where(np.isnan(drawn), farthest, sign * drawn * heard + weight * farthest)
            beside = np.where(np.isnan(drawn), farthest, beside / (heard + weight))
            beyond = self._outermost(beside, tests)
            end = half if half < 0.0 else max(half, beyond) if math.isfinite(half) else beyond
            ends.append(sign * max(end, sign * estimate))
        return ends[0], ends[1]

    def _outermost(self, values: NDArray[np.float64], tests: int) -> float:
        """Return the value that so many are above as the confidence allows on one side; the largest with few draws."""
        rank = max(int((1.0 - self.confidence) / (2.0 * tests) * (len(values) + 1)), 1)
        return float(np.partition(values, len(values) - rank)[len(values) - rank])

    def standard_error(self, values: NDArray[np.float64]) -> float:
        """Return the bootstrap standard error: the standard deviation of the finite draws with replacement."""
        drawn = values[1 : len(self.weights)]
        drawn = drawn[np.isfinite(drawn)]
        return float(np.std(drawn, ddof=1)) if len(drawn) > 1 else float("nan")
