"""What a scenario's id says: a perturbation, and at which setting. Any text is an id.

`parse_scenario` makes what voxaudit can play; this reads the ids of tables that came from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

ORIGINALS = ("clean", "original")
"""Names, in any case, of speech that was left as it is."""

Setting = float | str | None

_THETA = re.compile(r"\A(?:theta\s*=\s*)+", re.IGNORECASE)


@dataclass(frozen=True)
class ScenarioId:
    """A scenario as audits sort it: `clipping:theta=0.03` is perturbation `clipping` at setting 0.03."""

    id: str
    perturbation: str
    setting: Setting

    @property
    def cell(self) -> tuple[str, str]:
        """Return (perturbation, setting) as text: what tables of other people are sorted by."""
        return self.perturbation, show_setting(self.setting)

    @property
    def severity(self) -> int | None:
        """Return the severity, where the setting is a whole number without a name: `gaussian_noise:2`."""
        text = self.id.partition(":")[2]
        return int(text) if text.isdecimal() and len(text) < 10 else None

    @property
    def values(self) -> dict[str, float]:
        """Return the named numbers of the setting: `rir:room=2,distance=3` has two."""
        values = {}
        for part in self.id.partition(":")[2].split(","):
            key, equals, text = part.partition("=")
            if equals:
                try:
                    value = float(text)
                except ValueError:
                    continue
                if isfinite(value):
                    values[key.strip()] = value
        return values


def read_scenario_id(scenario: str) -> ScenarioId:
    """Return perturbation and setting of a scenario's id: what stands before the first colon, and after it.

    >>> read_scenario_id("gaussian_noise:2").setting, read_scenario_id("gaussian_noise:snr=2").setting
    (2.0, 'snr=2')
    """
    name, _, setting = scenario.partition(":")
    return ScenarioId(scenario, name.strip(), read_setting(setting))


def read_setting(text: str | float | int | None) -> Setting:
    """Return a setting as a number where it is one, as text otherwise, None where there is none.

    `theta=0.60`, `0.60` and `.6` are the same. Other settings keep their name, as `snr=2` is not severity 2.
    """
    text = "" if text is None else str(text).strip()
    if "," not in text:
        text = _THETA.sub("", text)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    # `nan` equals nothing, not even itself. Settings that are shown alike are alike.
    return float(f"{number:.12g}") + 0.0 if isfinite(number) else text  # + 0.0: -0 is 0


def show_setting(setting: Setting) -> str:
    """Return a setting as people write it; empty where there is none."""
    return "" if setting is None else f"{setting:.12g}" if isinstance(setting, float) else setting


def is_original(name: str) -> bool:
    """Say whether a scenario's or perturbation's name stands for undisturbed speech."""
    return name.strip().lower() in ORIGINALS


def places_excluded(cells: Sequence[tuple[str, Setting]], exclude: Iterable[str]) -> set[int]:
    """Return the places of the (perturbation, setting) that `exclude` names: scenarios, or perturbations alone.

    A perturbation alone is all of its settings; case does not matter, and settings are read as `read_setting` does.
    Something that is not there raises one line.
    """
    known = [(name.strip(), read_setting(setting)) for name, setting in cells]
    excluded: set[int] = set()
    for text in exclude:
        wanted = read_scenario_id(text)
        own = [place for place, (name, _) in enumerate(known) if name.lower() == wanted.perturbation.lower()]
        hits = {place for place in own if wanted.setting is None or known[place][1] == wanted.setting}
        if not hits:
            raise VoxauditError(
                f"nothing to exclude is called '{one_line(text, 80)}'"
                + _instead(wanted.perturbation, known, own)
            )
        excluded |= hits
    return excluded


def _instead(asked: str, known: Sequence[tuple[str, Setting]], own: Sequence[int]) -> str:
    """Say what could have been meant: a setting of the perturbation, where that is there, or another one."""
    if own:
        settings = dict.fromkeys(show_setting(known[place][1]) or "(none)" for place in own)
        return f": {known[own[0]][0]} has no such setting. Settings: {one_line(', '.join(settings), 600)}"
    names = list(dict.fromkeys(name for name, _ in known))
    return f".{suggest(asked, names)} Perturbations: {one_line(', '.join(names), 600)}"
