"""Axes of harm: which parameter of a perturbation makes it worse, from where to where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field

from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario import PERTURBATIONS, Scenario, ScenariosOnDemand, parameters, parse_scenario
from voxaudit.perturb.sources import Source
from voxaudit.registry import suggest

_AT_AN_SNR = (
    *("gaussian_noise", "environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
    *("music", "crosstalk"),
)

RANGES: dict[str, tuple[str, float, float, bool, str]] = {
    **dict.fromkeys(_AT_AN_SNR, ("snr", 40.0, -10.0, False, "dB")),
    "noise": ("theta", 40.0, -10.0, False, "dB"),
    "lowpass": ("frequency", 7500.0, 150.0, True, "Hz"),
    "highpass": ("frequency", 50.0, 6000.0, True, "Hz"),
    "lp": ("theta", 7500.0, 150.0, True, "Hz"),
    "hp": ("theta", 50.0, 6000.0, True, "Hz"),
    "gain": ("factor", 1.0, 1000.0, True, "times"),
    "amp": ("theta", 1.0, 0.0003, True, "times"),
    "clipping": ("theta", 1.0, 0.0003, True, "of full scale"),
    "drop": ("theta", 0.0, 50.0, False, "%"),
    "packet_loss": ("loss", 0.0, 70.0, False, "%"),
    "tempo_up": ("factor", 1.01, 4.0, True, "times"),
    "tempo_down": ("factor", 0.99, 0.2, True, "times"),
    "speed_up": ("factor", 1.0, 4.0, True, "times"),
    "speed_down": ("factor", 1.0, 0.2, True, "times"),
    "pitch_up": ("semitones", 0.0, 24.0, False, "semitones"),
    "pitch_down": ("semitones", 0.0, 24.0, False, "semitones"),
    "scale": ("theta", 1.0, 0.2, True, "times"),
    "resample": ("factor", 1.0, 0.02, True, "of the rate"),
    "rir": ("rt60", 0.1, 5.0, True, "s"),
    "far_field": ("distance", 0.5, 200.0, True, "m"),
    "opus": ("kbps", 24.0, 6.0, True, "kbit/s"),
    "mp3": ("kbps", 64.0, 16.0, True, "kbit/s"),
    "bass": ("gain", 0.0, 60.0, False, "dB"),
    "treble": ("gain", 0.0, 60.0, False, "dB"),
    "tremolo": ("depth", 0.0, 100.0, False, "%"),
}
"""By perturbation: the parameter that harms, its mild and harsh end, whether it is told in ratios, and its unit."""


@dataclass(frozen=True)
class Axis:
    """One parameter of a perturbation from `mild` (0 on the axis) to `harsh` (1); on a `log` axis steps are ratios."""

    perturbation: str
    parameter: str
    mild: float
    harsh: float
    log: bool
    unit: str = ""
    fixed: str = ""

    def value(self, place: float) -> float:
        """Return the parameter's value at a place on the axis."""
        if self.log:
            return float(math.exp((1.0 - place) * math.log(self.mild) + place * math.log(self.harsh)))
        return (1.0 - place) * self.mild + place * self.harsh

    def scenario(self, place: float) -> str:
        """Return the id of the scenario at a place on the axis."""
        settings = ",".join(filter(None, (self.fixed, f"{self.parameter}={self.value(place):.4g}")))
        return f"{self.perturbation}:{settings}"

    def text(self, place: float) -> str:
        """Return a place on the axis as people read it, such as `7.1 dB`."""
        return f"{self.number(self.value(place))} {self.unit}".strip()

    def number(self, value: float) -> str:
        """Return a value of the parameter with one decimal, or on a log axis with three figures."""
        if not self.log:
            return f"{value:.1f}"
        return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.3g}"

    def difference(self, places: float) -> float:
        """Return a difference of places as a difference of values, or on a log axis as the ratio of values."""
        if self.log:
            return float(math.exp(places * math.log(self.harsh / self.mild)))
        return places * (self.harsh - self.mild)


def find_axis(
    perturbation: str,
    parameter: str | None = None,
    *,
    ends: tuple[float, float] | None = None,
    sources: Mapping[str, Source] | None = None,
) -> Axis:
    """Return the axis of a perturbation, written as a name or with other settings fixed (`packet_loss:burst=2`).

    `ends` are the mild and the harsh end of the parameter; without, they are those of `RANGES`.
    """
    name, _, fixed = perturbation.partition(":")
    kind = PERTURBATIONS.load(name)
    known = [one.name for one in parameters(kind)]
    usual = RANGES.get(name)
    if parameter is None:
        needed = [one.name for one in parameters(kind) if one.default is MISSING]
        parameter = usual[0] if usual else needed[0] if len(needed) == 1 else None
    if parameter is None or parameter not in known:
        what = "name a parameter" if parameter is None else f"{name} has no parameter '{parameter}'"
        hint = "" if parameter is None else suggest(parameter, known)
        raise VoxauditError(
            f"{what}.{hint} Parameters of {name}: {', '.join(known) or 'none'}", see=("parameter",)
        )
    if not kind.speech:
        raise VoxauditError(f"{name} leaves no speech, so there is no word to get wrong")
    log, unit = (usual[3], usual[4]) if usual and usual[0] == parameter else (False, "")
    if ends is None:
        if not usual or usual[0] != parameter:
            raise VoxauditError(
                f"no usual range for {parameter} of {name}. Give the mild and the harsh end", see=("ends",)
            )
        ends = usual[1], usual[2]
    if ends[0] == ends[1]:
        raise VoxauditError(
            f"the mild and the harsh end of {parameter} are the same ({ends[0]:g})", see=("ends",)
        )
    log = log and min(ends) > 0.0
    axis = Axis(name, parameter, *ends, log, unit, fixed)
    for place in (0.0, 1.0):
        parse_scenario(axis.scenario(place), sources)  # a setting that cannot be is told now
    return axis


@dataclass(frozen=True)
class EverySetting(ScenariosOnDemand):
    """`clean` and every setting of a perturbation as a scenario, made when it is asked for."""

    sources: Mapping[str, Source] = field(default_factory=dict)

    def __getitem__(self, id_: str) -> Scenario:
        return parse_scenario(id_, self.sources)
