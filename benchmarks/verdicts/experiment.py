"""What an experiment is: made-up audits in, claims out; and how often a verdict was claimed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from benchmarks.verdicts.world import SETTINGS, Setting

from voxaudit.stats.proportions import wilson, wilson_of

Claims = Mapping[str, Sequence[bool | None]]
"""What an audit said, by verdict: one entry a question, None where it refused to answer."""

Audit = Callable[[np.random.Generator, Setting, float], Claims]
"""One made-up audit: a generator, the speakers of two groups and what is planted."""


HOLM = "p after Holm's correction below 0.05"


@dataclass(frozen=True)
class Verdict:
    """A sentence that the tool can print, and how often it may be wrong.

    `over` says what `nominal` bounds: the chance that an audit without anything to find makes `any` such claim, or
    the share of `each` question that is answered by one (no correction for asking several).
    """

    id: str
    says: str
    by: str
    nominal: float
    over: Literal["any", "each"]
    exception: str = ""
    """Why the rate lies above nominal in some settings: known, measured and written down."""
    up_to: float = 0.0
    """The rate that it was measured to reach there."""


@dataclass(frozen=True)
class Experiment:
    """Verdicts that one kind of audit gives, what is planted, and how much of it is nothing (`null`)."""

    name: str
    audit: Audit
    verdicts: tuple[Verdict, ...]
    planted: str
    effects: tuple[float, ...]
    null: float = 1.0
    settings: tuple[str, ...] = ("8 + 8", "16 + 16", "40 + 40", "8 + 40")
    power_at: str = "16 + 16"
    units: str = "speakers"
    weight: float = 1.0
    """Slow audits are repeated less often."""


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
        return Tally(*(int(a) + int(b) for a, b in zip(vars(self).values(), more, strict=True)))

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

    def excess(self, verdict: Verdict, *, documented: bool = False) -> float:
        """Return by how many Monte Carlo standard errors the rate lies above nominal; below, it is negative.

        With `documented`, above what is written down where that is more.
        """
        level = max(verdict.nominal, verdict.up_to) if documented else verdict.nominal
        error = math.sqrt(level * (1.0 - level) / max(self.audits, 1))
        if verdict.over == "each":
            error = max(self.each_error(), error / math.sqrt(max(self.questions, 1.0)))
        return (self.rate(verdict)[0] - level) / error


def rate_text(tally: Tally, verdict: Verdict) -> str:
    """Return a rate beside what is promised, for messages."""
    rate, low, high = tally.rate(verdict)
    return f"{100 * rate:.1f} % ({100 * low:.1f} to {100 * high:.1f}), nominal {100 * verdict.nominal:g} %"


def repeat(
    experiment: Experiment,
    setting: str,
    effect: float,
    audits: int,
    start: Mapping[str, Tally] | None = None,
    seed: int = 1,
) -> dict[str, Tally]:
    """Return the tallies of an experiment's verdicts after so many audits, going on from `start`.

    Every audit has a generator of its own, so going on gives what doing all at once would have given.
    """
    tallies = {one.id: (start or {}).get(one.id, Tally()) for one in experiment.verdicts}
    if len({one.audits for one in tallies.values()}) > 1:  # a verdict is new: all from the beginning
        tallies = dict.fromkeys(tallies, Tally())
    key = zlib.crc32(f"{experiment.name}/{setting}/{effect:g}".encode())
    for number in range(next(iter(tallies.values())).audits, audits):
        claims = experiment.audit(np.random.default_rng([seed, key, number]), SETTINGS[setting], effect)
        tallies = {name: tally.plus(claims.get(name, ())) for name, tally in tallies.items()}
    return tallies
