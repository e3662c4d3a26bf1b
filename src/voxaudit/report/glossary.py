"""The units of settings; what a scenario does, in words, is in `voxaudit.perturb.describe`."""

from __future__ import annotations

from voxaudit.audits.robustness.settings import describe
from voxaudit.perturb.describe import aside, in_short, in_words, known_perturbation
from voxaudit.perturb.scenario_id import read_scenario_id

__all__ = ["aside", "in_short", "in_words", "unit_of"]


def unit_of(scenario: str) -> str:
    """Return the unit of the value that a scenario's setting changes, such as `dB`; empty where it has none."""
    setting, kind = describe(scenario), known_perturbation(read_scenario_id(scenario).perturbation)
    if kind is None or setting.parameter is None:
        return ""
    return kind.units.get(setting.parameter, "")
