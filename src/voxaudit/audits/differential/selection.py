"""Which scenarios are asked about: all, all but some, or those that people still understand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.audits.differential.ratings import Ratings
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import ScenarioId, read_scenario_id
from voxaudit.registry import suggest


def select(
    scenarios: Sequence[ScenarioId],
    exclude: Iterable[str] = (),
    minimum: float | None = None,
    ratings: Ratings | None = None,
) -> tuple[list[int], Mapping[str, int]]:
    """Return the places of the scenarios that are asked about, and how many were left out for which reason.

    `exclude` holds scenarios, or perturbations alone; case does not matter. With `minimum`, only
    scenarios rated at least so comprehensible stay, and those without a rating go.
    """
    excluded: set[int] = set()
    for text in exclude:
        wanted = read_scenario_id(text)
        hits = {place for place, scenario in enumerate(scenarios) if _matches(scenario, wanted)}
        if not hits:
            known = sorted({":".join(c.cell).rstrip(":") for c in scenarios})
            raise VoxauditError(
                f"nothing to exclude is called '{one_line(text, 80)}'.{suggest(text, known)}"
                f" Write a scenario or a perturbation; there: {one_line(', '.join(known), 600)}"
            )
        excluded |= hits
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


def _matches(scenario: ScenarioId, wanted: ScenarioId) -> bool:
    same = scenario.perturbation.lower() == wanted.perturbation.lower()
    return same and (wanted.setting is None or scenario.setting == wanted.setting)
