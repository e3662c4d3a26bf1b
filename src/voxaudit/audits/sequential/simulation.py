"""Audits with a known truth: how often stopping early raises a false alarm, and what it saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from voxaudit.audits.sequential.evidence import Mask
from voxaudit.audits.sequential.order import Order
from voxaudit.audits.sequential.rounds import ALIKE, SHOWN, Goal, Walk, walk
from voxaudit.stats.anytime import FloatArray
from voxaudit.stats.multiplicity import benjamini_hochberg


@dataclass(frozen=True)
class World:
    """Two groups of speakers and several cells, errors as in a mixed-effects Poisson model.

    `ratios` are the second group's error rates over the first's, one a cell; the first group's are drawn from `rates`.
    A speaker's log rate has the standard deviation `spreads` of the group, most of it common to all cells. Numbers of
    utterances are geometric with mean `utterances`, words a Poisson number a piece, the second group saying `longer`
    times as much.
    """

    ratios: Sequence[float]
    speakers: int = 60
    spreads: tuple[float, float] = (0.6, 0.6)
    rates: tuple[float, float] = (0.05, 0.35)
    utterances: float = 9.0
    words: float = 9.0
    longer: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """One simulated audit: verdicts by cell, and trials heard by cell and in each cell's grid.

    `full` is the verdict of a test of all speakers at once, `patient` that of the same e-values where no cell is given
    up before its speakers are all heard.
    """

    shown: list[bool]
    alike: list[bool]
    full: list[bool]
    patient: list[bool]
    trials: FloatArray
    grid: float
    walk: Walk
    truth: FloatArray


def simulate(
    world: World, goal: Goal, generator: np.random.Generator, *, per_speaker: int | None = None
) -> Outcome:
    """Simulate one audit, sequentially and in full.

    The full grid's verdict is Welch's test on the linear form of the ratio of sums, adjusted by Benjamini and Hochberg
    where the goal controls the share of false claims.
    """
    n, cells = world.speakers, len(world.ratios)
    second = np.arange(2 * n) >= n
    said = 1 + generator.geometric(1.0 / max(world.utterances - 1.0, 1.0), 2 * n)
    speaker = np.repeat(np.arange(2 * n), said)
    longer = np.where(second[speaker], world.longer, 1.0)
    words = 1.0 + generator.poisson(world.words * longer)
    common, own = generator.standard_normal(2 * n), generator.standard_normal((cells, 2 * n))
    spread = np.where(second, world.spreads[1], world.spreads[0])
    base = generator.uniform(*world.rates, cells)
    rate = base[:, None] * np.exp(spread * (0.8 * common + 0.6 * own) - spread**2 / 2.0)
    rate = rate * np.where(second, np.array(world.ratios)[:, None], 1.0)
    errors = generator.poisson(rate[:, speaker] * words).astype(np.float64)
    totals = np.add.reduceat(words, np.concatenate([[0], np.cumsum(said)[:-1]]))
    heard = said if per_speaker is None else np.minimum(said, per_speaker)
    place = np.arange(len(speaker)) - np.repeat(np.cumsum(said) - said, said)
    taken = place < heard[speaker]
    share = said / heard
    some_errors = np.stack([np.bincount(speaker[taken], row[taken], 2 * n) for row in errors]) * share
    some_words = np.bincount(speaker[taken], words[taken], 2 * n) * share
    order = Order(
        "group",
        ("first", "second"),
        tuple(map(str, range(2 * n))),
        (tuple(range(n)), tuple(range(n, 2 * n))),
        tuple(("",) * int(count) for count in heard),
        tuple(int(count) for count in said),
        totals,
    )

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        cell, who = np.array(wanted).T
        return some_errors[cell, who], some_words[who]

    walked = walk(cells, order, goal, hear)
    all_errors: FloatArray = np.stack([np.bincount(speaker, row, 2 * n) for row in errors], dtype=np.float64)
    stops = walked.gap_stops[:, 0] if goal.decide else np.full(cells, "")
    patient = stops
    if goal.decide and goal.give_up:
        patient = walk(cells, order, replace(goal, give_up=False), hear).gap_stops[:, 0]
    return Outcome(
        [bool(stop) for stop in stops == SHOWN],
        [bool(stop) for stop in stops == ALIKE],
        _full(all_errors, totals, second, goal),
        [bool(stop) for stop in patient == SHOWN],
        (walked.heard * heard).sum(axis=1).astype(np.float64),
        float(said.sum()),
        walked,
        np.stack([base, base * np.array(world.ratios)], axis=1),
    )


def _full(errors: FloatArray, words: FloatArray, second: Mask, goal: Goal) -> list[bool]:
    """Return whether each cell's gap is shown by a test of all speakers at once."""
    from voxaudit.stats.ttests import welch

    def summary(own: Mask) -> tuple[int, FloatArray, FloatArray]:
        e, w = errors[:, own], words[own]
        rate = e.sum(axis=1) / w.sum()
        linear = (e - rate[:, None] * w) / w.mean()
        return e.shape[1], rate, linear.var(axis=1, ddof=1)

    p = welch(*summary(second), *summary(~second)).p.tolist()
    adjusted = benjamini_hochberg(p) if goal.fdr else p
    return [value is not None and value <= goal.alpha for value in adjusted]
