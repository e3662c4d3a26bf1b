"""Transformations and thetas: how scenario ids and counted tables name the strength of a disturbance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

Settings = Mapping[str, Sequence[str]]
"""Transformation to its thetas."""


def split_scenario(scenario: str) -> tuple[str, str]:
    """Return (transformation, theta) of a scenario id.

    >>> split_scenario("clipping:theta=0.03"), split_scenario("gaussian_noise:2"), split_scenario("rir")
    (('clipping', '0.03'), ('gaussian_noise', '2'), ('rir', ''))
    """
    name, _, setting = scenario.partition(":")
    return name, plain_theta(setting)


def plain_theta(theta: str) -> str:
    """Return a theta in one spelling: `theta=0.60`, `0.60` and `0.6` are the same.

    Other settings keep their name, as `snr=2` is not severity 2.
    """
    setting = theta.strip().removeprefix("theta=")
    try:
        return f"{float(setting):.12g}"
    except ValueError:
        return setting


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
        theta = split_scenario(text.strip())[1]
        if colon and theta not in present[name]:
            raise VoxauditError(
                f"--exclude {one_line(text, 60)}: {name} has no theta '{theta}'. Thetas: {', '.join(present[name])}"
            )
        kept[name] = [other for other in kept[name] if colon and other != theta]
    return {transformation: thetas for transformation, thetas in kept.items() if thetas}
