"""What a disparity audit answers: plain frozen values that turn into JSON as they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from voxaudit.stats.ratio_bootstrap import RatioBootstrap


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of a ratio and the p-value of the ratio 1 by the same method."""

    ci_low: float | None
    ci_high: float | None
    p: float | None
    se: float | None = None
    """Standard error of the log-ratio, where the method has one."""


@dataclass(frozen=True)
class RatioTest:
    """A likelihood-ratio test of several coefficients, with p-values adjusted for the family it belongs to."""

    chi2: float
    df: int
    p: float
    p_holm: float | None = None
    p_bh: float | None = None


@dataclass(frozen=True)
class FTest:
    """A speaker-robust test of several coefficients, with p-values adjusted for the family it belongs to."""

    f: float
    df: int
    df_speakers: float
    p: float
    p_holm: float | None = None
    p_bh: float | None = None


@dataclass(frozen=True)
class Group:
    """What was observed in one group."""

    group: str
    utterances: int
    speakers: int | None
    words: int
    errors: int
    wer: float


@dataclass(frozen=True)
class Effect:
    """One group against the reference group: the ratio of their error rates, all else being equal."""

    group: str
    estimate: float
    """Log of the ratio; minus infinity for a group without errors."""
    se: float | None
    ratio: float
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_holm: float | None
    p_bh: float | None
    verdict: str
    profile: Interval | None
    wald: Interval | None
    robust: Interval | None
    """From the speaker-cluster sandwich, t distribution."""
    baseline: RatioBootstrap | None


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
class Contrast:
    """How much more (or less) one scenario multiplies the errors of a group than those of the reference group."""

    group: str
    at: str
    estimate: float
    se: float | None
    ratio: float
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_holm: float | None
    p_bh: float | None


@dataclass(frozen=True)
class Interaction:
    """Does the column change the errors of some groups more than those of others?

    `contrasts` are ratios of ratios with speaker-robust intervals. `robust` is the test to read: it lets speakers
    react differently; `lrt` assumes that all speakers of a group react alike, and claims too much where they do not.
    """

    column: str
    reference: str
    contrasts: tuple[Contrast, ...]
    robust: FTest | None
    lrt: RatioTest
    verdict: str


@dataclass(frozen=True)
class Mode:
    """A speaker's own log-rate relative to the model, shrunk towards 0 by how little is known about it."""

    speaker: str
    mode: float
    sd: float


@dataclass(frozen=True)
class Fit:
    """The answer for one part of the table; `refusal` says in words why there is none."""

    by: dict[str, Any]
    attribute: str
    reference: str
    refusal: str | None
    groups: tuple[Group, ...]
    effects: tuple[Effect, ...]
    controls: tuple[Coefficient, ...]
    """The intercept, then what was held fixed."""
    sigma: float | None
    se_log_sigma: float | None
    loglik: float | None
    lrt: RatioTest | None
    robust: FTest | None
    sigma_lrt: float | None
    """Twice the gain in log-likelihood by the speakers' random effect."""
    nodes: int | None
    utterances: int
    speakers: int | None
    left_out: dict[str, int]
    """Utterances that were not used, by the reason."""
    dispersion: dict[str, float | None] | None
    interaction: Interaction | None
    warnings: tuple[str, ...]
    modes: tuple[Mode, ...] = ()


@dataclass(frozen=True)
class Disparity:
    """A disparity audit: one fit for every part of the table, and what was done about asking so often."""

    attribute: str
    reference: str
    interval: str
    by: tuple[str, ...]
    fits: tuple[Fit, ...]
    family: dict[str, int]
    """How many tests of each kind were adjusted together."""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data. Where the table was not split, the one fit's fields stand at the top as well."""
        document = asdict(self)
        return {**document["fits"][0], **document} if not self.by else document
