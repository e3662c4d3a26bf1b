"""Scenarios taken apart: perturbation, severity and what it means, and the category in Speech Robust Bench."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from voxaudit.corpus.roles import ROLES, role_of
from voxaudit.errors import VoxauditError
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.describe import known_perturbation
from voxaudit.perturb.scenario import CLEAN, parse_scenario
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.perturb.suites import AEQUEVOX

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "white noise": ("gaussian_noise",),
    "environmental noise": (
        *("environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
        *("music", "crosstalk"),
    ),
    "spatial acoustics": ("rir", "real_rir", "echo"),
    "special effects": (
        *("bass", "treble", "phaser", "tempo_up", "tempo_down", "speed_up", "speed_down"),
        *("pitch_up", "pitch_down", "chorus", "tremolo"),
    ),
    "audio processing": ("resample", "gain", "lowpass", "highpass"),
    "accented speech": ("accented",),
    "synthetic speech": ("synthetic",),
    "near-field conversation": ("near_field",),
    "far-field conversation": ("far_field",),
    "utterance-specific attack": ("pgd",),
    "utterance-agnostic attack": ("universal",),
}
"""The columns of SRB's Table 1 and the perturbations of its Table 2, or the roles of natural speech, in each."""

ATTACKS = frozenset({"pgd", "universal", "blackbox", "pgd_linf", "pgd_targeted", "pgd_linf_targeted"})
"""Made against one recognizer, so their audio has no difficulty that all share: plain WERD (SRB section 3.2)."""

OTHER = "other"
"""The category of perturbations that neither SRB nor the registry knows."""

ALL, ATTACKED = "all", "attacks"
"""Names of the mean over categories: without attacks, and of attacks alone, as in SRB's Table 1."""

T = TypeVar("T")

_CATEGORY = {name: category for category, names in CATEGORIES.items() for name in names}


@dataclass(frozen=True)
class Setting:
    """A scenario taken apart.

    `severity` is SRB's 1 to 4; `parameter`, `value` and `unit` say what that means (`snr`, 10.0, dB). `harsher` is +1
    where a larger value disturbs more, -1 where a smaller one does, and 0 where that is not known. `speech` is False
    where nothing is left of what was said.
    """

    scenario: str
    perturbation: str
    category: str
    severity: int | None = None
    parameter: str | None = None
    value: float | None = None
    unit: str = ""
    harsher: int = 0
    attack: bool = False
    speech: bool = True
    random: bool = True


def describe(scenario: str) -> Setting:
    """Return what a scenario id says; any string is one, also of a perturbation nobody knows."""
    read = read_scenario_id(scenario)
    name, severity, values = read.perturbation, read.severity, read.values
    if scenario == CLEAN:
        return Setting(scenario, CLEAN, CLEAN, random=False)
    role = role_of(scenario)
    kind = None if role else known_perturbation(name)
    main, harsher = _main_parameter(name, kind)
    if severity is not None and kind is not None and 1 <= severity <= len(kind.severities):
        values = dict(kind.severities[severity - 1])
    parameter = main if main in values else next(iter(values), None) if len(values) == 1 else None
    return Setting(
        scenario=scenario,
        perturbation=name,
        category=_category(name, role, kind),
        severity=severity,
        parameter=parameter,
        value=None if parameter is None else float(values[parameter]),
        unit="" if kind is None or parameter is None else kind.units.get(parameter, ""),
        harsher=harsher if parameter == main else 0,
        attack=name in ATTACKS,
        speech=kind is None or kind.speech,
        random=not role and (kind is None or kind.random),
    )


def describe_all(scenarios: Iterable[str]) -> dict[str, Setting]:
    """Return the settings of scenarios by id."""
    return {scenario: describe(scenario) for scenario in scenarios}


def by_harshness(settings: Iterable[Setting]) -> list[Setting]:
    """Return the settings of one perturbation from the mildest to the harshest; empty where no order is known."""
    some = list(settings)
    if all(setting.severity is not None for setting in some):
        return sorted(some, key=lambda setting: setting.severity or 0)
    if all(setting.value is not None and setting.harsher for setting in some):
        return sorted(some, key=lambda setting: setting.harsher * (setting.value or 0.0))
    return []


def changes_timing(scenario: str) -> bool:
    """Say whether a scenario changes when what is said; a role (natural speech) and what nobody knows do not."""
    try:
        perturbation = parse_scenario(scenario).perturbation
    except VoxauditError:
        return False
    return perturbation is not None and perturbation.map_time(1.0) != 1.0


def in_steps(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Return the settings of every perturbation from mild to harsh; those without an order stand alone, by their id."""
    grouped: dict[str, list[Setting]] = {}
    for setting in settings:
        grouped.setdefault(setting.perturbation, []).append(setting)
    steps: dict[str, list[Setting]] = {}
    for name, some in grouped.items():
        ordered = by_harshness(some)
        steps |= {name: ordered} if ordered else {one.scenario: [one] for one in some}
    return steps


def group_scenarios(names: Iterable[str], settings: Mapping[str, Setting]) -> dict[str, dict[str, list[str]]]:
    """Return {category: {perturbation: [scenario]}} of scenarios other than clean."""
    tree: dict[str, dict[str, list[str]]] = {}
    for name in names:
        if name != CLEAN:
            setting = settings[name]
            tree.setdefault(setting.category, {}).setdefault(setting.perturbation, []).append(name)
    return tree


def climb(
    values: Mapping[str, T], settings: Mapping[str, Setting], mean: Callable[[str, str, list[T]], T]
) -> list[tuple[str, str, T]]:
    """Return (level, name, mean) of all levels above the scenarios; `mean` gets level, name and the parts.

    Averaged over severities, then perturbations, then categories: the paper's category columns are means over all
    perturbations and severities, and its AVG is the mean of the columns (Table 1). Attacks are averaged apart.
    """
    perturbations, categories = [], []
    attacked: dict[bool, list[T]] = {False: [], True: []}
    for category, members in group_scenarios(values, settings).items():
        inside = [
            ("perturbation", p, mean("perturbation", p, [values[s] for s in members[p]])) for p in members
        ]
        whole = mean("category", category, [part for *_, part in inside])
        perturbations += inside
        categories.append(("category", category, whole))
        attacked[all(settings[s].attack for some in members.values() for s in some)].append(whole)
    overall = [
        ("overall", name, mean("overall", name, attacked[attack]))
        for attack, name in ((False, ALL), (True, ATTACKED))
        if attacked[attack]
    ]
    return [*perturbations, *categories, *overall]


def _category(name: str, role: str, kind: type[Perturbation] | None) -> str:
    if role:
        return _CATEGORY[role]
    if name in _CATEGORY and name not in ROLES:
        return _CATEGORY[name]
    return kind.family if kind is not None else OTHER


def _main_parameter(name: str, kind: type[Perturbation] | None) -> tuple[str | None, int]:
    """Return the parameter that the severities change, and whether more (+1) or less (-1) of it is harsher."""
    if kind is not None and len(kind.severities) > 1:
        first, last = kind.severities[0], kind.severities[-1]
        for key in first:
            if last.get(key) != first[key]:
                return key, 1 if last[key] > first[key] else -1
    if name in AEQUEVOX:
        thetas = AEQUEVOX[name]
        return "theta", 1 if thetas[-1] > thetas[0] else -1
    return None, 0
