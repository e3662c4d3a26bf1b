"""What a scenario does, in words: nobody is born knowing what `rir:2` is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from voxaudit.corpus.roles import ROLES, role_of
from voxaudit.errors import VoxauditError
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.scenario import CLEAN, PERTURBATIONS, parameters
from voxaudit.perturb.scenario_id import ScenarioId, read_scenario_id
from voxaudit.perturb.suites import SLOTS

_PAPER = re.compile(r" \([^()]*\)$")
"""Where a perturbation comes from, behind what it does."""


def in_words(scenario: str) -> str:
    """Return what a scenario does, its setting filled in; empty for one of a perturbation that nobody knows.

    >>> in_words("gaussian_noise:2")
    'White Gaussian noise at 20 dB: a hissing line or a cheap microphone.'
    """
    words = in_short(scenario)
    return f"{words}." if words else ""


def in_short(scenario: str) -> str:
    """Return what a scenario does, without a full stop; the perturbation's name where it does not say."""
    if scenario == CLEAN:
        return "The recording as it is"
    role = role_of(scenario)
    if role:
        return f"{ROLES[role][:1].upper()}{ROLES[role][1:]}"
    read = read_scenario_id(scenario)
    kind = known_perturbation(read.perturbation)
    if kind is None:
        return ""
    return _PAPER.sub("", _filled(kind, _values(kind, read), read.perturbation, "{}"))


def aside(scenario: str) -> str:
    """Return ` (what it does)` to follow a scenario's name in a sentence, or nothing."""
    words = in_short(scenario)
    if not words or scenario == CLEAN or words == read_scenario_id(scenario).perturbation:
        return ""
    first = words.split(maxsplit=1)[0]
    acronym = len(first) > 1 and not first[1:].islower()  # MP3, GSM
    return f" ({words if acronym else words[0].lower() + words[1:]})"


def describe_perturbation(name: str, kind: type[Perturbation]) -> str:
    """Return what a perturbation does at any setting, its parameters by name, and where it comes from.

    >>> from voxaudit.perturb.noise import Noise
    >>> describe_perturbation("noise", Noise)
    'White Gaussian noise at `theta` dB SNR, power over the whole clip (AequeVox).'
    """
    return f"{_filled(kind, {}, name, '`{}`')}."


def describe_scenarios() -> list[dict[str, Any]]:
    """Return every scenario that can be named: its id, family and setting, and what it does.

    `NAME:parameter=VALUE` stands for settings of one's own. Those that need something first come last.
    """
    rows = [_row(CLEAN, "as it is", "", "The recording as it is; always heard.")]
    for name in PERTURBATIONS.names():
        kind = PERTURBATIONS.load(name)
        about = (kind.family, describe_perturbation(name, kind))
        for number, setting in enumerate(kind.severities, start=1):
            if f"{name}:{number}" not in SLOTS:  # below, with what it needs
                rows.append(_row(f"{name}:{number}", about[0], _settings(setting), about[1]))
        free = parameters(kind)
        if not kind.severities and all(field.default is not MISSING for field in free):
            rows.append(_row(name, about[0], _settings({one.name: one.default for one in free}), about[1]))
        if free:
            needed = [field.name for field in free if field.default is MISSING] or [free[0].name]
            more = ", ".join(field.name for field in free if field.name not in needed)
            own = ",".join(f"{parameter}=VALUE" for parameter in needed)
            rows.append(_row(f"{name}:{own}", about[0], f"any; also {more}" if more else "any", about[1]))
    return rows + [_row(id_, "slot", "", f"Needs {why}.") for id_, why in SLOTS.items()]


def _row(id_: str, family: str, setting: str, what: str) -> dict[str, Any]:
    return {"scenario": id_, "family": family, "setting": setting, "what": what}


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value:g}" for key, value in values.items())


def known_perturbation(name: str) -> type[Perturbation] | None:
    """Return the perturbation called `name`; None where there is no such, or its package cannot be imported."""
    try:
        kind: type[Perturbation] = PERTURBATIONS.load(name)
    except (VoxauditError, ImportError, AttributeError):
        return None
    return kind


@dataclass(frozen=True)
class _Parameter:
    """A parameter in a template: its value in the format asked for, or its name where the value is not known."""

    name: str
    value: float | None
    unknown: str

    @property
    def inverse(self) -> _Parameter:
        """1 / value."""
        return _Parameter(f"1/{self.name}", 1.0 / self.value if self.value else None, self.unknown)

    def __format__(self, specification: str) -> str:
        return self.unknown.format(self.name) if self.value is None else format(self.value, specification)


def _filled(kind: type[Perturbation], values: Mapping[str, float], name: str, unknown: str) -> str:
    named = {
        field.name: _Parameter(field.name, values.get(field.name), unknown) for field in parameters(kind)
    }
    try:
        return kind.does.format(**named) or name
    except (LookupError, ValueError, AttributeError):  # an installed package's template may be wrong
        return name


def _values(kind: type[Perturbation], read: ScenarioId) -> Mapping[str, float]:
    """Return the parameters of a setting: a severity's, or `a=1,b=2`, over the defaults."""
    values = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    if read.severity is not None and 1 <= read.severity <= len(kind.severities):
        values |= kind.severities[read.severity - 1]
    values |= read.values
    return {key: float(value) for key, value in values.items() if isinstance(value, int | float)}
