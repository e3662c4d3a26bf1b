"""What a scenario's name says: a transformation, and how strongly it was applied."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

ORIGINALS = ("clean", "original")
"""Names, in any case, of speech that was left as it is."""

Theta = float | str | None


@dataclass(frozen=True)
class Condition:
    """A scenario as the audit sorts it: `clipping:theta=0.03` is transformation `clipping` at theta 0.03."""

    id: str
    transformation: str
    theta: Theta


def parse_condition(scenario: str) -> Condition:
    """Return transformation and theta of a scenario's id; any text will do.

    The transformation is what stands before the first colon. Theta is the number after it, with or without a
    parameter's name; several parameters stay text.
    """
    name, _, setting = scenario.partition(":")
    return Condition(scenario, name.strip(), parse_theta(setting))


def parse_theta(setting: str | float | int | None) -> Theta:
    """Return a strength as a number where it is one, as text otherwise, None where there is none."""
    if setting is None:
        return None
    text = str(setting).strip()
    if "," not in text:
        text = text.rpartition("=")[2].strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text  # `nan` equals nothing, not even itself


def show_theta(theta: Theta) -> str:
    """Return theta as people write it; empty where there is none."""
    return "" if theta is None else f"{theta:.12g}" if isinstance(theta, float) else theta


def is_original(name: str) -> bool:
    """Say whether a scenario's or transformation's name stands for undisturbed speech."""
    return name.strip().lower() in ORIGINALS
