"""What a scenario does, in words: nobody is born knowing what `rir:2` is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields

from voxaudit.audits.robustness.settings import describe
from voxaudit.corpus.roles import ROLES
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN, PERTURBATIONS, Perturbation
from voxaudit.perturb.scenario_id import ScenarioId, read_scenario_id

_PAPER = re.compile(r"\s*\((?:SRB|AequeVox)[^)]*\)|\s*\([^)]* in SRB\)")
_INVERSE = re.compile(r"`1/(\w+)`")
_NAMED = re.compile(r"`(\w+)(?: \+ (\d+))?`|(?<=[\[ -])(theta)(?=[,\]])")
_SENTENCE = re.compile(r"(?<!\.)\. ")
"""The end of a sentence; three dots are none."""
_UNIT = r"`{}` (dB|Hz|ms|%|kbit/s|metres|seconds|dBFS)(?!\w)"


def in_words(scenario: str) -> str:
    """Return what a scenario does, its setting filled in; empty for one of a perturbation that nobody knows.

    `gaussian_noise:2` is `White Gaussian noise at 20 dB: a hissing line or a cheap microphone.`
    """
    if scenario == CLEAN:
        return "The recording as it is."
    role = next((role for role in ROLES if scenario == role or scenario.startswith(f"{role}_")), None)
    if role is not None:
        return f"{ROLES[role][:1].upper()}{ROLES[role][1:]}."
    read = read_scenario_id(scenario)
    kind = _kind(read.perturbation)
    if kind is None:
        return ""
    values = _values(kind, read)

    def filled(found: re.Match[str]) -> str:
        parameter = found[1] or found[3]
        if parameter not in values:
            return parameter
        value = f"{values[parameter] + float(found[2] or 0):g}"
        return f"{value} {parameter}" if parameter == "semitones" else value

    def inverted(found: re.Match[str]) -> str:
        value = values.get(found[1])
        return f"{1 / value:.3g} times" if value else found[1]

    return _PAPER.sub("", _NAMED.sub(filled, _INVERSE.sub(inverted, _first_line(kind))))


def in_short(scenario: str) -> str:
    """Return the first sentence of what a scenario does, without its full stop."""
    return _SENTENCE.split(in_words(scenario), maxsplit=1)[0].rstrip(".")


def aside(scenario: str) -> str:
    """Return ` (what it does)` to follow a scenario's name in a sentence, or nothing."""
    words = in_short(scenario)
    if not words or scenario == CLEAN:
        return ""
    first = words.split(maxsplit=1)[0]
    acronym = len(first) > 1 and not first[1:].islower()  # MP3, GSM
    return f" ({words if acronym else words[0].lower() + words[1:]})"


def unit_of(scenario: str) -> str:
    """Return the unit of the value that a scenario's setting changes, such as `dB`; empty where it has none."""
    setting, kind = describe(scenario), _kind(read_scenario_id(scenario).perturbation)
    if kind is None or setting.parameter is None:
        return ""
    found = re.search(_UNIT.format(re.escape(setting.parameter)), _first_line(kind))
    return found[1] if found else ""


def _first_line(kind: type[Perturbation]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _kind(name: str) -> type[Perturbation] | None:
    try:
        kind: type[Perturbation] = PERTURBATIONS.load(name)
    except (VoxauditError, ImportError, AttributeError):
        return None
    return kind


def _values(kind: type[Perturbation], read: ScenarioId) -> Mapping[str, float]:
    """Return the parameters of a setting: a severity's, or `a=1,b=2`, over the defaults."""
    values = {one.name: one.default for one in fields(kind) if one.default is not MISSING}
    if read.severity is not None and 1 <= read.severity <= len(kind.severities):
        values |= kind.severities[read.severity - 1]
    values |= read.values
    return {key: float(value) for key, value in values.items() if isinstance(value, int | float)}
