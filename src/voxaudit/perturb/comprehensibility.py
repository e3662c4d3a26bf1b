"""How well people understand speech under a scenario: ratings, and the scenarios that are left by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import polars as pl

from voxaudit.errors import VoxauditError
from voxaudit.perturb.describe import known_perturbation
from voxaudit.perturb.scenario_id import ScenarioId, places_excluded, read_setting
from voxaudit.tables import own_names, read_table, require_columns


@dataclass(frozen=True)
class Ratings:
    """Mean ratings, 1 (nothing understood) to 10; perturbations in lower case."""

    means: Mapping[tuple[str, float | str | None], float]

    def of(self, perturbation: str, setting: float | str | None) -> float | None:
        """Return the mean rating of a scenario, or None where nobody rated it."""
        return self.means.get((perturbation.lower(), setting))


def read_ratings(path: str | Path) -> Ratings:
    """Read ratings from a table with the columns perturbation, setting, rating; several of one cell are averaged."""
    table = own_names(read_table(path))
    require_columns(table, ("perturbation", "setting", "rating"), path)
    rating = table["rating"].cast(pl.Float64, strict=False)
    bad = (rating.is_null() | rating.is_nan()).arg_true()
    if len(bad):
        raise VoxauditError(
            f"{path}, row {bad[0] + 1}, column rating: '{table['rating'][bad[0]]}' is not a number"
        )
    cells: dict[tuple[str, float | str | None], list[float]] = {}
    for perturbation, setting, value in zip(table["perturbation"], table["setting"], rating, strict=True):
        cells.setdefault((str(perturbation).strip().lower(), read_setting(setting)), []).append(value)
    return Ratings({cell: sum(values) / len(values) for cell, values in cells.items()})


def published_ratings() -> Ratings:
    """Return the mean ratings of the 197 participants of Rajan et al. (2022), Table 10, and of Amp 2.0."""
    with as_file(files(__package__).joinpath("comprehensibility.csv")) as path:
        return read_ratings(path)


def select(
    scenarios: Sequence[ScenarioId],
    exclude: Iterable[str] = (),
    minimum: float | None = None,
    ratings: Ratings | None = None,
) -> tuple[list[int], Mapping[str, int]]:
    """Return the places of the scenarios that are asked about, and how many were left out for which reason.

    `exclude` holds scenarios, or perturbations alone (see `places_excluded`). With `minimum`, only scenarios rated at
    least so comprehensible stay, and those without a rating go. Scenarios in which nobody speaks (`silence`,
    `noise_only`) go always: what recognizers write there is invented, and the audit `hallucination` counts it.
    """
    excluded = places_excluded([(one.perturbation, one.setting) for one in scenarios], exclude)
    left_out = {"scenarios excluded by name": len(excluded)} if excluded else {}
    kept: list[int] = []
    for place, scenario in enumerate(scenarios):
        if place in excluded:
            continue
        kind = known_perturbation(scenario.perturbation)
        reason = "scenarios in which nobody speaks" if kind is not None and not kind.speech else None
        if reason is None and minimum is not None and ratings is not None:
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
            f"no disturbed scenario is left to compare ({why})",
            see=("exclude", "min_comprehensibility", "ratings"),
        )
    return kept, left_out
