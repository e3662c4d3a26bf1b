"""Which scenarios are asked about: all, all but some, or those that people still understand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.audits.differential.ratings import Ratings
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import ScenarioId, places_excluded


def select(
    scenarios: Sequence[ScenarioId],
    exclude: Iterable[str] = (),
    minimum: float | None = None,
    ratings: Ratings | None = None,
) -> tuple[list[int], Mapping[str, int]]:
    """Return the places of the scenarios that are asked about, and how many were left out for which reason.

    `exclude` holds scenarios, or perturbations alone (see `places_excluded`). With `minimum`, only scenarios rated at
    least so comprehensible stay, and those without a rating go.
    """
    excluded = places_excluded([(one.perturbation, one.setting) for one in scenarios], exclude)
    left_out = {"scenarios excluded by name": len(excluded)} if excluded else {}
    kept: list[int] = []
    for place, scenario in enumerate(scenarios):
        if place in excluded:
            continue
        reason = None
        if minimum is not None and ratings is not None:
            rating = ratings.of(scenario.perturbation, scenario.setting)
            if rating is None:
                reason = "scenarios without a comprehensibility rating"
            elif rating < minimum:
                reason = f"scenarios rated under {minimum:g}"
        if reason is None:
            kept.append(place)
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    if not kept:
        why = "; ".join(f"{count} {reason}" for reason, count in left_out.items()) or "there are none"
        raise VoxauditError(
            f"no disturbed scenario is left to compare ({why}). Change --exclude, --min-comprehensibility or --ratings"
        )
    return kept, left_out
