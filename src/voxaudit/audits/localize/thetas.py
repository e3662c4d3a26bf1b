"""Transformations and thetas that are asked about: all but those a user leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.condition import parse_condition
from voxaudit.registry import suggest

Settings = Mapping[str, Sequence[str]]
"""Transformation to its thetas."""


def remaining(present: Settings, exclude: Iterable[str]) -> dict[str, list[str]]:
    """Return the transformations and thetas without those that `exclude` names (`TRANSFORMATION:THETA`).

    A transformation alone leaves out all of its thetas; case does not matter. Something that is not there raises one
    line.
    """
    kept = {transformation: list(thetas) for transformation, thetas in present.items()}
    for text in exclude:
        asked, colon, _ = text.strip().partition(":")
        name = next((own for own in present if own.lower() == asked.lower()), asked)
        if name not in present:
            raise VoxauditError(
                f"--exclude {one_line(text, 60)}: no transformation '{one_line(name, 40)}' there."
                f"{suggest(name, list(present))} Transformations: {', '.join(present)}"
            )
        _, theta = parse_condition(text).cell
        if colon and theta not in present[name]:
            raise VoxauditError(
                f"--exclude {one_line(text, 60)}: {name} has no theta '{theta}'. Thetas: {', '.join(present[name])}"
            )
        kept[name] = [other for other in kept[name] if colon and other != theta]
    return {transformation: thetas for transformation, thetas in kept.items() if thetas}
