"""Perturbations and settings that are asked about: all but those a user leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.registry import suggest

Settings = Mapping[str, Sequence[str]]
"""Perturbation to its settings."""


def remaining(present: Settings, exclude: Iterable[str]) -> dict[str, list[str]]:
    """Return the perturbations and settings without those that `exclude` names (`scale:0.6`).

    A perturbation alone leaves out all of its settings; case does not matter. Something that is not there raises one
    line.
    """
    kept = {perturbation: list(settings) for perturbation, settings in present.items()}
    for text in exclude:
        asked, colon, _ = text.strip().partition(":")
        name = next((own for own in present if own.lower() == asked.lower()), asked)
        if name not in present:
            raise VoxauditError(
                f"--exclude {one_line(text, 60)}: no perturbation '{one_line(name, 40)}' there."
                f"{suggest(name, list(present))} Perturbations: {', '.join(present)}"
            )
        _, setting = read_scenario_id(text).cell
        if colon and setting not in present[name]:
            raise VoxauditError(
                f"--exclude {one_line(text, 60)}: {name} has no setting '{setting}'."
                f" Settings: {', '.join(present[name])}"
            )
        kept[name] = [other for other in kept[name] if colon and other != setting]
    return {perturbation: settings for perturbation, settings in kept.items() if settings}
