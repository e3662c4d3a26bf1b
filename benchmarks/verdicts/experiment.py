"""What an experiment is: made-up audits in, claims out; and how often a verdict was claimed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.verdicts.world import SETTINGS, Setting
from voxaudit.stats.proportions import wilson_of

Claims = Mapping[str, Sequence[bool | None]]
"""What an audit said, by verdict: one entry a question, None where it refused to answer."""

Audit = Callable[[np.random.Generator, Setting, float], Claims]
"""One made-up audit: a generator, the speakers of two groups and what is planted."""


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
    """Why the rate may lie above nominal: known, measured and written down."""


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
    units: str = "speakers a group"


@dataclass(frozen=True)
class Rate:
    """How often something was claimed in `audits` made-up audits; limits are 95 % Monte Carlo intervals.

    `any_` is the share of audits with a claim (Wilson's interval), `each` the share of answered questions (from the
    spread between audits: questions of one audit are not independent). `answered` are audits with any answer.
    """

    audits: int
    answered: int
    questions: float
    any_: float
    any_low: float
    any_high: float
    each: float
    each_low: float
    each_high: float
    each_error: float

    def judged(self, verdict: Verdict) -> tuple[float, float, float]:
        """Return the rate that the nominal level speaks of, with its limits."""
        if verdict.over == "any":
            return self.any_, self.any_low, self.any_high
        return self.each, self.each_low, self.each_high

    def excess(self, verdict: Verdict) -> float:
        """Return by how many Monte Carlo standard errors the rate lies above nominal; below, it is negative."""
        rate = self.judged(verdict)[0]
        error = math.sqrt(verdict.nominal * (1.0 - verdict.nominal) / self.audits)
        if verdict.over == "each":
            error = max(self.each_error, error / math.sqrt(max(self.questions, 1.0)))
        return (rate - verdict.nominal) / error

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name.rstrip("_"): round(value, 5) for name, value in vars(self).items()}


def rate_of(claims: Sequence[Sequence[bool | None]]) -> Rate:
    """Return how often the questions of some audits were answered by a claim."""
    answers = [[bool(one) for one in own if one is not None] for own in claims]
    audits, answered = len(answers), [own for own in answers if own]
    found = sum(any(own) for own in answered)
    low, high = wilson_of(found, audits)
    # The ratio of sums: questions claimed over questions answered, its error by the linear form.
    said = np.array([sum(own) for own in answered], dtype=float)
    asked = np.array([len(own) for own in answered], dtype=float)
    each = said.sum() / asked.sum() if len(asked) else 0.0
    error = 0.0
    if len(asked) > 1:
        error = float(np.std(said - each * asked, ddof=1) / asked.mean() / math.sqrt(len(asked)))
    total = float(asked.mean()) if len(asked) else 0.0
    limits = max(0.0, each - 1.96 * error), min(1.0, each + 1.96 * error)
    return Rate(audits, len(answered), total, found / audits, low, high, float(each), *limits, error)


def repeat(
    experiment: Experiment, setting: str, effect: float, audits: int, seed: int = 1
) -> dict[str, Rate]:
    """Return the rates of all verdicts of an experiment over so many audits."""
    key = zlib.crc32(f"{experiment.name}/{setting}/{effect:g}".encode())
    runs = [
        experiment.audit(np.random.default_rng([seed, key, number]), SETTINGS[setting], effect)
        for number in range(audits)
    ]
    return {one.id: rate_of([run.get(one.id, ()) for run in runs]) for one in experiment.verdicts}
