"""Perturbations and settings that are asked about: all but those a user leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.perturb.scenario_id import places_excluded

Settings = Mapping[str, Sequence[str]]
"""Perturbation to its settings."""


def remaining(present: Settings, exclude: Iterable[str]) -> dict[str, list[str]]:
    """Return the perturbations and settings without those that `exclude` names (see `places_excluded`)."""
    cells = [(perturbation, setting) for perturbation, settings in present.items() for setting in settings]
    excluded = places_excluded(cells, exclude)
    kept: dict[str, list[str]] = {}
    for place, (perturbation, setting) in enumerate(cells):
        if place not in excluded:
            kept.setdefault(perturbation, []).append(setting)
    return kept
