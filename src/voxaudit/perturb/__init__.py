"""Perturbations, scenarios and suites: speech disturbed in a known way."""

from voxaudit.perturb.base import Perturbation, trial_generator
from voxaudit.perturb.scenario import (
    CLEAN,
    PERTURBATIONS,
    Scenario,
    open_slots,
    parse_scenario,
    parse_scenarios,
)
from voxaudit.perturb.suites import SUITES, Suite

__all__ = [
    "CLEAN",
    "PERTURBATIONS",
    "SUITES",
    "Perturbation",
    "Scenario",
    "Suite",
    "open_slots",
    "parse_scenario",
    "parse_scenarios",
    "trial_generator",
]
