"""What an experiment is: made-up audits in, claims out; and how often a verdict was claimed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from benchmarks.verdicts.world import HARD, KIND, SIZES, Setting, crossed, setting

from voxaudit.stats.proportions import wilson, wilson_of

Claims = Mapping[str, Sequence[bool | None]]
"""What an audit said, by verdict: one entry a question, None where it refused to answer."""

Audit = Callable[[np.random.Generator, Setting, float], Claims]
"""One made-up audit: a generator, the speakers of two groups and what is planted."""

Numbered = Mapping[int, np.random.Generator]
"""Generators of audits by their numbers."""

Batch = Callable[[Numbered, Setting, float], Sequence[Claims]]
"""Many made-up audits at once: the same data and the same decisions, without the tables and sentences around them."""

HOLM = "p after Holm's correction below 0.05"
FIRST_SCREEN, OTHERS = 2000, 400
"""Audits a cell where nothing is to be found: of verdicts that a report begins with, and of the others."""
POWER = 400
"""Audits a cell where something is planted."""
POWER_AT = setting(KIND, "16 + 16")


@dataclass(frozen=True)
class Known:
    """Worlds (with sizes, or whatever their size) in which a rate lies above nominal, how far it was measured to go,
    and why.
    """

    places: tuple[str, ...]
    up_to: float
    why: str

    def speaks_of(self, where: Setting) -> bool:
        """Say whether a setting is among the places."""
        return where.world in self.places or where.name in self.places


@dataclass(frozen=True)
class Verdict:
    """A sentence that the tool can print, and how often it may be wrong.

    `over` says what `nominal` bounds: the chance that an audit without anything to find makes `any` such claim, or
    the share of `each` question that is answered by one (no correction for asking several). `known` are the exceptions:
    measured and written down. `beside` are simple tests of the same question, by name.
    """

    id: str
    says: str
    by: str
    nominal: float
    over: Literal["any", "each"]
    known: tuple[Known, ...] = ()
    beside: tuple[str, ...] = ()

    def promised(self, where: Setting) -> float:
        """Return the rate that a setting may have: nominal, or what is written down as an exception."""
        return max([self.nominal, *(one.up_to for one in self.known if one.speaks_of(where))])

    def others(self) -> tuple[Verdict, ...]:
        """Return the simple tests beside it, as verdicts of the same kind."""
        return tuple(
            Verdict(f"{self.id} | {name}", name, name, self.nominal, self.over) for name in self.beside
        )


@dataclass(frozen=True)
class Experiment:
    """Verdicts that one kind of audit gives, what is planted, and how much of it is nothing (`null`).

    `worlds` are crossed with `sizes`. Power is measured at `power_at`, with every effect.
    """

    name: str
    audit: Audit
    verdicts: tuple[Verdict, ...]
    planted: str
    effects: tuple[float, ...]
    null: float = 1.0
    worlds: tuple[str, ...] = HARD
    sizes: tuple[str, ...] = SIZES
    power_at: Setting = POWER_AT
    also: tuple[tuple[Setting, tuple[float, ...]], ...] = ()
    """Further settings for power and what is planted there: nothing (`null`) where groups are as they are."""
    units: str = "speakers"
    audits: int = OTHERS
    batch: Batch | None = None

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Where false alarms are counted."""
        return crossed(self.worlds, self.sizes)

    @property
    def all_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, and the simple tests beside them."""
        return tuple(each for one in self.verdicts for each in (one, *one.others()))

    def cells(self) -> tuple[tuple[Setting, float, int], ...]:
        """Return all that is to be measured: setting, what is planted, how many audits."""
        nothing = [(where, self.null, self.audits) for where in self.settings]
        planted = [(where, effect, POWER) for where, effects in self.powers for effect in effects]
        return (*nothing, *planted)

    @property
    def powers(self) -> tuple[tuple[Setting, tuple[float, ...]], ...]:
        """Where power is measured, and with what."""
        return ((self.power_at, self.effects), *self.also)


@dataclass(frozen=True)
class Tally:
    """Sums over made-up audits: how many, how many answered anything, how many claimed anything; then claims `said`
    and questions `asked` in the answered ones, with their squares and product. They add up.
    """

    audits: int = 0
    answered: int = 0
    any_: int = 0
    said: int = 0
    asked: int = 0
    said_said: int = 0
    said_asked: int = 0
    asked_asked: int = 0

    def plus(self, claims: Sequence[bool | None]) -> Tally:
        """Return the sums with one more audit."""
        answers = [bool(one) for one in claims if one is not None]
        said, asked = sum(answers), len(answers)
        more = (1, asked > 0, said > 0, said, asked, said * said, said * asked, asked * asked)
        return self.and_(Tally(*map(int, more)))

    def and_(self, other: Tally) -> Tally:
        """Return the sums over both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def questions(self) -> float:
        """Questions an audit answers."""
        return self.asked / self.answered if self.answered else 0.0

    def any_rate(self) -> tuple[float, float, float]:
        """Return the share of audits with a claim, and its 95 % Monte Carlo interval (Wilson)."""
        return self.any_ / max(self.audits, 1), *wilson_of(self.any_, self.audits)

    def each_error(self) -> float:
        """Return the Monte Carlo standard error of the share of questions: those of an audit are not independent."""
        if self.answered < 2:
            return 0.0
        rate = self.said / self.asked
        squares = self.said_said - 2.0 * rate * self.said_asked + rate**2 * self.asked_asked
        return math.sqrt(max(squares, 0.0) / (self.answered - 1) / self.answered) / self.questions

    def each_rate(self) -> tuple[float, float, float]:
        """Return the share of answered questions that were claims, and its 95 % Monte Carlo interval.

        Wilson's for as many independent questions as have the same standard error; audits where there is none.
        """
        if not self.asked:
            return 0.0, 0.0, 1.0
        rate, error = self.said / self.asked, self.each_error()
        count = rate * (1.0 - rate) / error**2 if error > 0.0 else float(self.answered)
        low, high = wilson(np.array(rate * count), np.array(count))
        return rate, float(low), float(high)

    def rate(self, verdict: Verdict) -> tuple[float, float, float]:
        """Return the rate that the nominal level speaks of, with its limits."""
        return self.any_rate() if verdict.over == "any" else self.each_rate()

    def excess(self, verdict: Verdict, level: float | None = None) -> float:
        """Return by how many Monte Carlo standard errors the rate lies above nominal; below, it is negative.

        With `level`, above that one.
        """
        level = verdict.nominal if level is None else level
        error = math.sqrt(level * (1.0 - level) / max(self.audits, 1))
        if verdict.over == "each":
            error = max(self.each_error(), error / math.sqrt(max(self.questions, 1.0)))
        return (self.rate(verdict)[0] - level) / error


def rate_text(tally: Tally, verdict: Verdict) -> str:
    """Return a rate beside what is promised, for messages."""
    rate, low, high = tally.rate(verdict)
    return f"{100 * rate:.1f} % ({100 * low:.1f} to {100 * high:.1f}), nominal {100 * verdict.nominal:g} %"


def generators(
    experiment: Experiment, where: Setting, effect: float, numbers: Sequence[int], seed: int = 1
) -> dict[int, np.random.Generator]:
    """Return the generators of numbered audits: fixed by the names of experiment and setting, and the number."""
    key = zlib.crc32(f"{experiment.name}/{where.name}/{effect:g}".encode())
    return {number: np.random.default_rng([seed, key, number]) for number in numbers}


def repeat(
    experiment: Experiment, where: Setting, effect: float, start: int, stop: int, seed: int = 1
) -> dict[str, Tally]:
    """Return the sums over the audits numbered from `start` to before `stop`.

    Every audit has a generator of its own, so parts add up to what doing all at once would have given.
    """
    own = generators(experiment, where, effect, range(start, stop), seed)
    if experiment.batch is not None:
        claimed = experiment.batch(own, where, effect)
    else:
        claimed = [experiment.audit(one, where, effect) for one in own.values()]
    tallies = {one.id: Tally() for one in experiment.all_verdicts}
    for claims in claimed:
        tallies = {name: tally.plus(claims.get(name, ())) for name, tally in tallies.items()}
    return tallies
