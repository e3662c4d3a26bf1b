"""What a disparity audit computes: plain frozen values, the detail behind its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from voxaudit.answer import Note, Refusal
from voxaudit.audits.disparity.explain import Explanation
from voxaudit.audits.disparity.gaps import Gap
from voxaudit.audits.disparity.trend import Slope
from voxaudit.stats.group_design import Group
from voxaudit.stats.ratio_bootstrap import RatioBootstrap
from voxaudit.stats.ratio_intervals import Interval
from voxaudit.stats.regression import LikelihoodRatio
from voxaudit.stats.robust import RobustTest


@dataclass(frozen=True)
class RatioTest(LikelihoodRatio):
    """A likelihood-ratio test of several coefficients, with p-values adjusted for the family it belongs to."""

    p_adjusted: float | None = None


@dataclass(frozen=True)
class Effect:
    """A typical speaker of one group against one of the reference group: the ratio of their error rates."""

    group: str
    estimate: float
    """Log of the ratio; minus infinity for a group without errors."""
    se: float | None
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    profile: Interval | None
    wald: Interval | None
    robust: Interval | None
    """From the speaker-cluster sandwich, t distribution."""
    baseline: RatioBootstrap | None
    p_adjusted: float | None = None
    """Holm's, of the larger of the likelihood's and the robust p-value: a gap has to convince both."""


@dataclass(frozen=True)
class Coefficient:
    """A term of the model other than the sensitive attribute, held fixed: a log-ratio."""

    term: str
    column: str | None
    level: str | None
    estimate: float
    se: float | None
    robust_se: float | None


@dataclass(frozen=True)
class Mode:
    """A speaker's own log-rate relative to the model, shrunk towards 0 by how little is known about it."""

    speaker: str
    mode: float
    sd: float


@dataclass(frozen=True)
class Fit:
    """The answer for one part of the table; `refusal` says why there is none."""

    by: dict[str, Any]
    attribute: str
    against: str
    groups: tuple[Group, ...]
    utterances: int
    speakers: int | None
    left_out: dict[str, int]
    """Utterances that were not used, by the reason."""
    refusal: Refusal | None = None
    effects: tuple[Effect, ...] = ()
    controls: tuple[Coefficient, ...] = ()
    """The intercept, then what was held fixed."""
    sigma: float | None = None
    se_log_sigma: float | None = None
    loglik: float | None = None
    lrt: RatioTest | None = None
    robust: RobustTest | None = None
    sigma_lrt: float | None = None
    """Twice the gain in log-likelihood by the speakers' random effect."""
    nodes: int | None = None
    prompt_sigma: float | None = None
    """Standard deviation of the texts' log rates, where several speakers read the same ones."""
    dispersion: dict[str, float | None] | None = None
    cautions: tuple[Note, ...] = ()
    modes: tuple[Mode, ...] = ()
    scenarios: tuple[str, ...] = ()
    """What it was heard under; empty where the table does not say."""
    far: tuple[str, ...] = ()
    """Speakers whose rates lie far outside those of the others, the farthest first."""


@dataclass(frozen=True)
class Disparity:
    """What the audit computed: the gaps between groups, how they change, and the model of typical speakers.

    There is one fit for every attribute and part of the table.
    """

    interval: str
    fits: tuple[Fit, ...]
    gaps: tuple[Gap, ...]
    changes: tuple[Gap, ...]
    explained: tuple[Explanation, ...] = ()
    slopes: tuple[Slope, ...] = ()
