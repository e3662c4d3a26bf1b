"""Scenarios: a perturbation at one setting, named by a stable string.

`clean`, `gaussian_noise:3` (severity 3 as the paper lists it) or `gaussian_noise:snr=12.5` (any setting).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.base import Perturbation, trial_generator
from voxaudit.perturb.suites import SLOTS, SUITES
from voxaudit.registry import Registry, suggest

if TYPE_CHECKING:
    from voxaudit.perturb.sources import Source

CLEAN = "clean"
"""The scenario in which the recording is left as it is: the yardstick of all others."""

PERTURBATIONS = Registry(
    "perturbation",
    {
        "gaussian_noise": "voxaudit.perturb.noise:GaussianNoise",
        "environment_ms_snsd": "voxaudit.perturb.recorded:EnvironmentMsSnsd",
        "environment_esc50": "voxaudit.perturb.recorded:EnvironmentEsc50",
        "environment_musan": "voxaudit.perturb.recorded:EnvironmentMusan",
        "environment_wham": "voxaudit.perturb.recorded:EnvironmentWham",
        "music": "voxaudit.perturb.recorded:Music",
        "crosstalk": "voxaudit.perturb.recorded:Crosstalk",
        "rir": "voxaudit.perturb.room:Rir",
        "real_rir": "voxaudit.perturb.room:RealRir",
        "echo": "voxaudit.perturb.effect:Echo",
        "bass": "voxaudit.perturb.filter:Bass",
        "treble": "voxaudit.perturb.filter:Treble",
        "phaser": "voxaudit.perturb.effect:Phaser",
        "tempo_up": "voxaudit.perturb.tempo:TempoUp",
        "tempo_down": "voxaudit.perturb.tempo:TempoDown",
        "speed_up": "voxaudit.perturb.time_pitch:SpeedUp",
        "speed_down": "voxaudit.perturb.time_pitch:SpeedDown",
        "pitch_up": "voxaudit.perturb.time_pitch:PitchUp",
        "pitch_down": "voxaudit.perturb.time_pitch:PitchDown",
        "chorus": "voxaudit.perturb.effect:Chorus",
        "tremolo": "voxaudit.perturb.effect:Tremolo",
        "resample": "voxaudit.perturb.time_pitch:Resample",
        "gain": "voxaudit.perturb.level:Gain",
        "lowpass": "voxaudit.perturb.filter:Lowpass",
        "highpass": "voxaudit.perturb.filter:Highpass",
        "amp": "voxaudit.perturb.level:Amp",
        "clipping": "voxaudit.perturb.level:Clipping",
        "clipping_peak": "voxaudit.perturb.level:ClippingPeak",
        "drop": "voxaudit.perturb.dropout:Drop",
        "frame": "voxaudit.perturb.dropout:Frame",
        "hp": "voxaudit.perturb.filter:Hp",
        "lp": "voxaudit.perturb.filter:Lp",
        "noise": "voxaudit.perturb.noise:Noise",
        "scale": "voxaudit.perturb.time_pitch:Scale",
        "telephone": "voxaudit.perturb.codec:Telephone",
        "mulaw": "voxaudit.perturb.codec:Mulaw",
        "alaw": "voxaudit.perturb.codec:Alaw",
        "gsm": "voxaudit.perturb.codec:Gsm",
        "opus": "voxaudit.perturb.codec:Opus",
        "mp3": "voxaudit.perturb.codec:Mp3",
        "packet_loss": "voxaudit.perturb.dropout:PacketLoss",
        "far_field": "voxaudit.perturb.level:FarField",
        "silence": "voxaudit.perturb.absence:Silence",
        "noise_only": "voxaudit.perturb.absence:NoiseOnly",
        "universal": "voxaudit.perturb.universal:Universal",
    },
    group="voxaudit.perturbations",
)


@dataclass(frozen=True)
class Scenario:
    """A perturbation at one setting; `perturbation` is None for `clean`."""

    id: str
    perturbation: Perturbation | None

    def apply(self, audio: Audio, *, seed: int, utterance: str) -> Audio:
        """Return the audio as this scenario disturbs it: the same bits for the same (seed, id, utterance)."""
        if self.perturbation is None or len(audio.samples) == 0:
            return audio
        generator = trial_generator(seed, self.id, utterance)
        perturbation = self.perturbation.for_utterance(utterance)
        return Audio(perturbation(audio.samples, audio.rate, generator), audio.rate)

    def achieved(self, audio: Audio, *, seed: int, utterance: str) -> dict[str, float]:
        """Return what was measured of the disturbance that `apply` gives, such as `{"snr_db": 20.0}`."""
        if self.perturbation is None or len(audio.samples) == 0:
            return {}
        generator = trial_generator(seed, self.id, utterance)
        perturbation = self.perturbation.for_utterance(utterance)
        return perturbation.measure(audio.samples, audio.rate, generator)

    def fingerprint(self, *, seed: int, utterance: str) -> str:
        """Return what, besides the recording, decides the audio that is heard.

        The seed and the utterance's id count only where the perturbation is random. Sources of noise and rooms
        count by their content.
        """
        if self.perturbation is None:
            return CLEAN
        text = f"{self.perturbation.for_utterance(utterance)!r} v{self.perturbation.version}"
        return f"{text} {self.id} {seed} {utterance}" if self.perturbation.random else text


class ScenariosOnDemand(Mapping[str, Scenario]):
    """Scenarios without number, made when they are asked for by their id: `clean` is all that can be listed."""

    def __iter__(self) -> Iterator[str]:
        yield CLEAN

    def __len__(self) -> int:
        return 1


def parse_scenario(text: str, sources: Mapping[str, Source] | None = None) -> Scenario:
    """Return the scenario that a string names; an unknown name or setting, or a slot, raises one line.

    `sources` says by perturbation where noise or rooms come from; without, they are built in. By a scenario's id it
    says where its audio is that somebody else made (`GivenAudio`).
    """
    text = text.strip()
    name, colon, setting = text.partition(":")
    if name == CLEAN and not colon:
        return Scenario(CLEAN, None)
    if sources and text in sources and (colon or text in SLOTS):
        from voxaudit.perturb.given import Given

        return Scenario(text, Given(sources[text]))  # type: ignore[arg-type]
    if text in SLOTS and name not in (sources or {}):
        raise VoxauditError(f"scenario '{text}' needs {SLOTS[text]}")
    text = one_line(text, 120)
    kind: type[Perturbation] = PERTURBATIONS.load(name)
    source = {"source": sources[name]} if sources and name in sources else {}
    if not source and any(
        field.metadata.get("source") and field.default is MISSING for field in fields(kind)
    ):
        raise VoxauditError(f"scenario '{text}' needs {SLOTS[f'{name}:1']}")
    if setting.isdecimal() and len(setting) < 10:
        severity = int(setting)
        if not 1 <= severity <= len(kind.severities):
            raise VoxauditError(f"scenario '{text}': {_choices(kind)}")
        return Scenario(f"{name}:{severity}", kind(**kind.severities[severity - 1], **source))
    values = _parameters(text, setting, kind)
    try:
        perturbation = kind(**values, **source)
    except ValueError as error:
        raise VoxauditError(f"scenario '{text}': {one_line(error)}") from error
    ordered = ",".join(f"{f.name}={values[f.name]:.12g}" for f in fields(kind) if f.name in values)
    return Scenario(f"{name}:{ordered}" if ordered else name, perturbation)


def parse_scenarios(
    texts: Iterable[str], sources: Mapping[str, Source] | None = None
) -> tuple[Scenario, ...]:
    """Return the scenarios of a list of ids and suite names, `clean` first, each once.

    Slots are left out unless a source fills them: `open_slots` says what they need.
    """
    chosen = {CLEAN: Scenario(CLEAN, None)}
    for id_ in written_out(texts):
        if id_ in SLOTS and not {id_, id_.partition(":")[0]} & set(sources or {}):
            continue
        _check_name(id_.strip())
        scenario = parse_scenario(id_, sources)
        chosen.setdefault(scenario.id, scenario)
    return tuple(chosen.values())


def open_slots(texts: Iterable[str], filled: Iterable[str] = ()) -> dict[str, str]:
    """Return {scenario id: what it needs} of the slots in a list of ids and suites that nothing fills."""
    have = set(filled)
    return {id_: SLOTS[id_] for id_ in written_out(texts) if id_ in SLOTS and id_ not in have}


def perturbation_names(texts: Iterable[str]) -> set[str]:
    """Return the names of the perturbations and slots in a list of ids and suites: what may need a source."""
    return {id_.partition(":")[0] for id_ in written_out(texts)}


def written_out(texts: Iterable[str]) -> list[str]:
    """Return a list of ids and suite names with the suites replaced by their ids."""
    return [id_ for text in texts for id_ in (SUITES[text].scenarios if text in SUITES else (text,))]


def parameters(kind: type[Perturbation]) -> list[Field[Any]]:
    """Return the fields that a scenario's id can set: all but the source."""
    return [field for field in fields(kind) if not field.metadata.get("source")]


def takes_source(kind: type[Perturbation]) -> bool:
    """Return whether a perturbation takes its noise or rooms from a source."""
    return any(field.metadata.get("source") for field in fields(kind))


def source_of(perturbation: Perturbation) -> Source | None:
    """Return where a perturbation takes its noise or rooms from; None for most."""
    return getattr(perturbation, "source", None) if takes_source(type(perturbation)) else None


def _check_name(name: str) -> None:
    """Refuse a plain name in a list that is neither a perturbation nor a suite: either may be meant."""
    if not name or ":" in name or name == CLEAN or name in SLOTS:
        return
    names = PERTURBATIONS.names()
    if name not in names:
        raise VoxauditError(
            f"Unknown perturbation or suite '{one_line(name, 80)}'.{suggest(name, [*SUITES, *names])}"
            f" Suites: {', '.join(SUITES)}. Perturbations: {', '.join(names)}"
        )


def _parameters(text: str, setting: str, kind: type[Perturbation]) -> dict[str, float]:
    known = {field.name: field for field in parameters(kind)}
    values: dict[str, float] = {}
    for part in filter(None, setting.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise VoxauditError(f"scenario '{text}': {_choices(kind)}")
        if key not in known:
            raise VoxauditError(
                f"scenario '{text}': {kind.name} has no parameter '{one_line(key, 40)}'.{suggest(key, list(known))}"
                f" {_choices(kind)}"
            )
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise VoxauditError(
                f"scenario '{text}': {key} must be a finite number, not '{one_line(value, 40)}'"
            )
        values[key] = number
    if any(name not in values and field.default is MISSING for name, field in known.items()):
        raise VoxauditError(f"scenario '{text}': {_choices(kind)}")
    return values


def _choices(kind: type[Perturbation]) -> str:
    example = ",".join(f"{field.name}=VALUE" for field in parameters(kind))
    by_value = f"{kind.name}:{example}"
    if not kind.severities:
        return f"write {by_value}"
    return f"write {kind.name}:1 to {kind.name}:{len(kind.severities)}, or {by_value}"
