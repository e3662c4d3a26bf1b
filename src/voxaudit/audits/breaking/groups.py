"""Breaking points of groups: means over speakers with intervals, and differences with tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from voxaudit.audits.breaking.axes import Axis
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.censored import censored_mean, interval, mean_resamples, permutation_p
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.psychometric import FloatArray

NO_HARM, NEVER, ALWAYS = "no_harm", "never", "always"
"""Why a group has no value besides too few speakers: the harsh end is no harder than the mild one; more than half of
the speakers stay below the level at the harsh end; or have reached it at the mild one."""


@dataclass(frozen=True)
class Point:
    """The breaking point of a group's speech: the parameter's value at which its errors reach `level`.

    `never` and `always` count speakers whose errors stay below the level at the harsh end, and reach it at the mild
    one. Limits end with the range. `why_not` is a code where there is no value.
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
    why_not: str | None


@dataclass(frozen=True)
class Difference:
    """How far the breaking points of two groups are apart: a difference of values, or on a log axis their ratio.

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
    speakers: int
    speakers_against: int


def summarize_groups(
    recognizer: str,
    axis: Axis,
    places: Mapping[str, FloatArray],
    levels: Mapping[str, float],
    harmful: bool,
    generator: np.random.Generator,
) -> tuple[list[Point], list[Difference]]:
    """Return the breaking points of the groups (`places` on the axis by group) and each pair's difference.

    Where the range is not `harmful` there are none. p-values are not adjusted yet.
    """
    points, draws = [], {}
    for group, values in places.items():
        never, always = int((values >= 1.0).sum()), int((values <= 0.0).sum())
        why = _why_not(len(values), never, always) if harmful else NO_HARM
        numbers: tuple[float | None, float | None, float | None] = (None, None, None)
        if why is None:
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
            value = axis.difference(gap)
            differences.append(
                Difference(recognizer, group, other, value, low, high, p, p, False, len(a), len(b))
            )
    return points, differences


def adjust(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return the differences with Holm's p-values over all of them."""
    adjusted = holm([one.p for one in differences])
    return tuple(
        replace(one, p_adjusted=one.p if p is None else p, shown=p is not None and p < 0.05)
        for one, p in zip(differences, adjusted, strict=True)
    )


def _why_not(speakers: int, never: int, always: int) -> str | None:
    if speakers < FEWEST_SPEAKERS:
        return "too_few_speakers"
    if 2 * never > speakers:
        return NEVER
    return ALWAYS if 2 * always > speakers else None
