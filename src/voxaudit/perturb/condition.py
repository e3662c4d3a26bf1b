"""What a scenario's id says: a transformation, and how strongly it was applied. Any text is an id.

`parse_scenario` makes what voxaudit can play; this reads the ids of tables that came from anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite

ORIGINALS = ("clean", "original")
"""Names, in any case, of speech that was left as it is."""

Theta = float | str | None

_THETA = re.compile(r"\A(?:theta\s*=\s*)+", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
    """A scenario as audits sort it: `clipping:theta=0.03` is transformation `clipping` at theta 0.03."""

    id: str
    transformation: str
    theta: Theta

    @property
    def cell(self) -> tuple[str, str]:
        """Return (transformation, theta) as text: what tables of other people are sorted by."""
        return self.transformation, show_theta(self.theta)


def parse_condition(scenario: str) -> Condition:
    """Return transformation and theta of a scenario's id: what stands before the first colon, and after it.

    >>> parse_condition("gaussian_noise:2").theta, parse_condition("gaussian_noise:snr=2").theta
    (2.0, 'snr=2')
    """
    name, _, setting = scenario.partition(":")
    return Condition(scenario, name.strip(), parse_theta(setting))


def parse_theta(setting: str | float | int | None) -> Theta:
    """Return a strength as a number where it is one, as text otherwise, None where there is none.

    `theta=0.60`, `0.60` and `.6` are the same. Other settings keep their name, as `snr=2` is not severity 2.
    """
    text = "" if setting is None else str(setting).strip()
    if "," not in text:
        text = _THETA.sub("", text)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    # `nan` equals nothing, not even itself. Thetas that are shown alike are alike.
    return float(f"{number:.12g}") + 0.0 if isfinite(number) else text  # + 0.0: -0 is 0


def show_theta(theta: Theta) -> str:
    """Return theta as people write it; empty where there is none."""
    return "" if theta is None else f"{theta:.12g}" if isinstance(theta, float) else theta


def is_original(name: str) -> bool:
    """Say whether a scenario's or transformation's name stands for undisturbed speech."""
    return name.strip().lower() in ORIGINALS
