"""Breaking points of groups: means over speakers with intervals, differences with tests, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from voxaudit.audits.breaking.axes import Axis
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.censored import censored_mean, interval, mean_resamples, permutation_p
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.psychometric import FloatArray
from voxaudit.wording import p_value


@dataclass(frozen=True)
class Point:
    """The breaking point of a group's speech: the parameter's value at which its errors reach `level`.

    `never` and `always` count speakers whose errors stay below the level at the harsh end, and reach it at the mild
    one. Limits end with the range. `refusal` says why there is no value.
    """

    recognizer: str
    group: str
    level: float
    value: float | None
    low: float | None
    high: float | None
    speakers: int
    never: int
    always: int
    refusal: str


@dataclass(frozen=True)
class Difference:
    """How much sooner one group breaks than another: a difference of values, or on a log axis their ratio.

    `p` is that of a permutation of speakers, `p_adjusted` Holm's over all comparisons; `shown` where it is below 0.05.
    """

    recognizer: str
    group: str
    against: str
    value: float
    low: float
    high: float
    p: float
    p_adjusted: float
    shown: bool


@dataclass(frozen=True)
class Breaking:
    """What was found. `speakers` has a row per recognizer and speaker: group, value (None off the axis), trials."""

    axis: Axis
    attribute: str | None
    points: tuple[Point, ...]
    differences: tuple[Difference, ...]
    speakers: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    trials: int
    heard: int

    @property
    def findings(self) -> dict[str, Any]:
        """The findings as plain values, as `--json` prints them."""
        return {
            "axis": asdict(self.axis),
            "attribute": self.attribute,
            "points": [asdict(point) for point in self.points],
            "differences": [asdict(one) for one in self.differences],
            "speakers": list(self.speakers),
            "warnings": list(self.warnings),
            "trials": self.trials,
            "heard_now": self.heard,
        }

    def sentences(self) -> list[str]:
        """Return the findings in words."""
        lines = [_point(point, self.axis) for point in self.points]
        for one in self.differences:
            size = f"{one.value:.2f} times ({one.low:.2f} to {one.high:.2f})"
            if not self.axis.log:
                size = f"{one.value:+.1f} {self.axis.unit} ({one.low:+.1f} to {one.high:+.1f})"
            shown = "shown" if one.shown else "not shown"
            lines.append(
                f"{one.recognizer}: {one.group} against {one.against}: {size},"
                f" {p_value(one.p_adjusted)}: a difference is {shown}."
            )
        return lines + [f"Warning: {warning}" for warning in self.warnings]


def summarize_groups(
    recognizer: str,
    axis: Axis,
    places: Mapping[str, FloatArray],
    levels: Mapping[str, float],
    refused: str,
    generator: np.random.Generator,
) -> tuple[list[Point], list[Difference]]:
    """Return the breaking points of the groups (`places` on the axis by group) and each pair's difference.

    p-values are not adjusted yet.
    """
    points, draws = [], {}
    for group, values in places.items():
        never, always = int((values >= 1.0).sum()), int((values <= 0.0).sum())
        why = refused or _why_not(len(values), never, always)
        numbers: tuple[float | None, float | None, float | None] = (None, None, None)
        if not why:
            draws[group] = mean_resamples(values, 0.0, 1.0, generator)
            # What lies off the axis was not heard: limits end with it.
            heard = np.clip(interval(draws[group], len(values)), 0.0, 1.0)
            low, high = sorted(axis.value(float(end)) for end in heard)
            middle = np.clip(censored_mean(values, 0.0, 1.0)[0], 0.0, 1.0)
            numbers = axis.value(float(middle)), low, high
        points.append(Point(recognizer, group, levels[group], *numbers, len(values), never, always, why))
    differences = []
    names = list(draws)
    for number, group in enumerate(names):
        for other in names[number + 1 :]:
            a, b = places[group], places[other]
            gap = float(censored_mean(a, 0.0, 1.0)[0] - censored_mean(b, 0.0, 1.0)[0])
            ends = interval(draws[group] - draws[other], min(len(a), len(b)))
            low, high = sorted(axis.difference(end) for end in ends)
            p = permutation_p(a, b, 0.0, 1.0, generator)
            differences.append(
                Difference(recognizer, group, other, axis.difference(gap), low, high, p, p, False)
            )
    return points, differences


def adjust(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return the differences with Holm's p-values over all of them."""
    adjusted = holm([one.p for one in differences])
    return tuple(
        Difference(**{**asdict(one), "p_adjusted": p, "shown": p is not None and p < 0.05})
        for one, p in zip(differences, adjusted, strict=True)
    )


def _why_not(speakers: int, never: int, always: int) -> str:
    if speakers < FEWEST_SPEAKERS:
        return f"{speakers} speaker{'' if speakers == 1 else 's'}, and at least {FEWEST_SPEAKERS} are needed"
    if 2 * never > speakers:
        return "does not break within the range"
    if 2 * always > speakers:
        return "is broken at the mild end already"
    return ""


def _point(point: Point, axis: Axis) -> str:
    level = f"{100 * point.level:.0f} % of the words wrong"
    start = f"{point.recognizer}: {point.group}:"
    beyond = f"{point.never} of {point.speakers} speakers never" if point.never else ""
    already = f"{point.always} of {point.speakers} at the mild end already" if point.always else ""
    aside = "; ".join(filter(None, (beyond, already)))
    aside = f" ({aside})" if aside else ""
    off = {point.low, point.high} & {axis.mild, axis.harsh}
    if point.value is not None and point.low is not None and point.high is not None:
        return (
            f"{start} {level} at {axis.number(point.value)} {axis.unit}"
            f" ({axis.number(point.low)} to {axis.number(point.high)}"
            f"{' or beyond' if off else ''}, {point.speakers} speakers){aside}."
        )
    if point.refusal.startswith("does not"):
        return f"{start} does not reach {level} as far as {axis.text(1.0)}{aside}."
    return f"{start} no breaking point: {point.refusal}{aside}."
