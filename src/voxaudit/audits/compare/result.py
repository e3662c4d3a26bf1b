"""What a comparison found: one slice a row, and what the two sides did not share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["worse", "better", "tie", "undecided"]
"""worse, better: shown for the whole family of slices. tie: within the noise. undecided: too few speakers to ever
show a change."""


@dataclass(frozen=True)
class Slice:
    """A part of the trials that both sides have. Rates, their difference and the noise band are fractions.

    `difference` is new minus base; `low` and `high` bound it (95 %, speakers resampled, this slice alone); `noise` is
    the half width of the band in which the differences of all slices together stay when nothing changes.
    `p` is two-sided and adjusted for all slices; None where undecided.
    """

    recognizer: str
    scenario: str | None
    attribute: str | None
    group: str | None
    trials: int
    speakers: int
    words: int
    wer_base: float | None
    wer_new: float | None
    difference: float | None
    low: float | None
    high: float | None
    noise: float | None
    p: float | None
    verdict: Verdict

    @property
    def label(self) -> str:
        """The slice in words."""
        parts = [] if self.scenario is None else [self.scenario]
        if self.attribute is not None:
            parts.append(f"{self.attribute} {'(missing)' if self.group is None else self.group}")
        return ", ".join(parts) or "all trials"

    @property
    def spoken(self) -> str:
        """The slice in a sentence: `native (accent)`, as findings have groups."""
        parts = [] if self.scenario is None else [self.scenario]
        if self.attribute is not None:
            parts.append(f"{'missing' if self.group is None else self.group} ({self.attribute})")
        return ", ".join(parts) or "all trials"


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two runs. `recognizers` maps each of the base to its counterpart in the new run."""

    slices: tuple[Slice, ...]
    recognizers: Mapping[str, str]
    attributes: tuple[str, ...]
    alpha: float
    margin: float
    pairs: int
    only_base: int
    """Trials of the base that the new side does not have: not heard, failed, or without a reference."""
    only_new: int
    notes: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Slice, ...]:
        """The slices that are shown to be worse, the largest change first."""
        return self._with("worse")

    @property
    def improvements(self) -> tuple[Slice, ...]:
        """The slices that are shown to be better, the largest change first."""
        return self._with("better")

    def _with(self, verdict: Verdict) -> tuple[Slice, ...]:
        chosen = [one for one in self.slices if one.verdict == verdict]
        return tuple(sorted(chosen, key=lambda one: -abs(one.difference or 0.0)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "recognizers": dict(self.recognizers),
            "attributes": list(self.attributes),
            "alpha": self.alpha,
            "margin": self.margin,
            "pairs": self.pairs,
            "only_base": self.only_base,
            "only_new": self.only_new,
            "regressions": [one.label for one in self.regressions],
            "improvements": [one.label for one in self.improvements],
            "slices": [asdict(one) for one in self.slices],
            "notes": list(self.notes),
        }
