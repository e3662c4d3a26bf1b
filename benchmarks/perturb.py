"""The perturbations: the ten effects of SoX beside libsox and the sox program, and others beside audiomentations.

One thread, each on the same clips at all its severities that the peer allows. The sox program reads and writes files of
32-bit floats and is charged its own CPU time; libsox (soxbindings) and audiomentations get arrays, as we do. First
calls, in which loops are compiled or loaded and tables made, are not counted.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from benchmarks.measure import Missing, Row, Settings, absent, compare, named, race, row_of, skipped
from benchmarks.speech import clips as recordings

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import PERTURBATIONS, SUITES, parse_scenario
from voxaudit.perturb.base import Perturbation

SOX: dict[str, Callable[[Any], list[Any]]] = {
    "echo": lambda p: ["echo", 0.8, 0.9, p.delay, 0.3],
    "bass": lambda p: ["bass", p.gain],
    "treble": lambda p: ["treble", p.gain],
    "phaser": lambda p: ["phaser", 0.6, 0.8, 3, p.decay, 2, "-t"],
    "tempo_up": lambda p: ["tempo", p.factor, 30],
    "tempo_down": lambda p: ["tempo", p.factor, 30],
    "chorus": lambda p: [
        *("chorus", 0.9, 0.9),
        *(p.delay, 0.4, 0.25, 2, "-t"),
        *(p.delay + 10, 0.3, 0.4, 2, "-s"),
    ],
    "tremolo": lambda p: ["tremolo", 20, p.depth],
    "lowpass": lambda p: ["sinc", f"0-{p.frequency}"],
    "highpass": lambda p: ["sinc", p.frequency],
}
"""The ten effects that Speech Robust Bench takes from SoX, with its arguments."""

UNIT = "CPU ms per minute of audio"

OTHERWISE = {
    **dict.fromkeys(("lowpass", "highpass"), "ours as steep as SoX, theirs 12 dB per octave"),
    **dict.fromkeys(("tempo_up", "tempo_down"), "ours stretches of sound as in SoX, theirs Signalsmith's"),
    **dict.fromkeys(("pitch_up", "pitch_down"), "ours torchaudio's phase vocoder, theirs Signalsmith's"),
    **dict.fromkeys(("speed_up", "speed_down", "resample"), "ours torchaudio's windowed sinc, theirs soxr"),
}
"""Where the nearest transform of audiomentations is not the same by definition: how the two differ."""

Call = Callable[[int], object]
"""Perturbs the clip of that number."""


def audiomentations_peer(perturbation: Perturbation, rate: int) -> Callable[[np.ndarray], object] | None:
    """Return the transform that comes nearest, at the same setting; its filters at their cheapest, 12 dB per octave."""
    import audiomentations as a

    p: Any = perturbation

    def fixed(kind: Any, names: str, value: float, **others: Any) -> Any:
        return kind(**{f"min_{names}": value, f"max_{names}": value}, p=1.0, **others)

    def resampled(*rates: float) -> Any:
        return a.Compose([fixed(a.Resample, "sample_rate", int(to)) for to in rates])

    def amplified(factor: float) -> Any:  # its Gain alone would leave samples beyond full scale
        return a.Compose(
            [fixed(a.Gain, "gain_db", 20 * np.log10(factor)), a.Clip(a_min=-1.0, a_max=1.0, p=1.0)]
        )

    def filtered(kind: Any, frequency: float) -> Any:
        return fixed(kind, "cutoff_freq", frequency, min_rolloff=12, max_rolloff=12)

    def shelf(kind: Any) -> Any:
        return fixed(kind, "gain_db", p.gain, min_center_freq=p.frequency, max_center_freq=p.frequency)

    peers: dict[str, Callable[[], Any]] = {
        "gaussian_noise": lambda: fixed(a.AddGaussianSNR, "snr_db", p.snr),
        "noise": lambda: fixed(a.AddGaussianSNR, "snr_db", p.theta),
        "gain": lambda: amplified(p.factor),
        "amp": lambda: amplified(p.theta),
        "clipping": lambda: a.Clip(a_min=-p.theta, a_max=p.theta, p=1.0),
        "lowpass": lambda: filtered(a.LowPassFilter, p.frequency),
        "highpass": lambda: filtered(a.HighPassFilter, p.frequency),
        "lp": lambda: filtered(a.LowPassFilter, p.theta),
        "hp": lambda: filtered(a.HighPassFilter, p.theta),
        "bass": lambda: shelf(a.LowShelfFilter),
        "treble": lambda: shelf(a.HighShelfFilter),
        "tempo_up": lambda: fixed(a.TimeStretch, "rate", p.factor, leave_length_unchanged=False),
        "tempo_down": lambda: fixed(a.TimeStretch, "rate", p.factor, leave_length_unchanged=False),
        "pitch_up": lambda: fixed(a.PitchShift, "semitones", p.semitones),
        "pitch_down": lambda: fixed(a.PitchShift, "semitones", -p.semitones),
        "speed_up": lambda: resampled(rate / p.factor),
        "speed_down": lambda: resampled(rate / p.factor),
        "resample": lambda: resampled(rate * p.factor, rate),
    }
    if perturbation.name not in peers:
        return None
    try:
        transform = peers[perturbation.name]()
    except ValueError:  # a setting beyond what it allows
        return None
    return lambda samples: transform(samples, sample_rate=rate)


class SoxProgram:
    """The sox program on files, one process a clip."""

    def __init__(self, folder: Path, clips: list[Audio]) -> None:
        self.out = folder / "out.wav"
        self.files = [folder / f"{place}.wav" for place in range(len(clips))]
        for file, clip in zip(self.files, clips, strict=True):
            soundfile.write(file, clip.samples, clip.rate, subtype="FLOAT")

    def call(self, arguments: list[Any]) -> Call:
        wanted = [str(argument) for argument in arguments]
        floats = ["-e", "floating-point", "-b", "32"]

        def run(place: int) -> object:
            command = [
                "sox",
                "-V1",
                "-D",
                "--single-threaded",
                str(self.files[place]),
                *floats,
                str(self.out),
            ]
            return subprocess.run([*command, *wanted], check=True)

        return run


def libsox_call(clips: list[Audio], arguments: list[Any]) -> Call:
    """Return libsox on arrays, kept open between the calls."""
    import soxbindings

    if not soxbindings.effects.SOX_INITIALIZED:
        soxbindings.initialize_sox()
        soxbindings.effects.SOX_INITIALIZED = True
    effect = soxbindings.SoxEffect()
    effect.effect_name, *effect.effect_args = [str(argument) for argument in arguments]

    def run(place: int) -> object:
        clip = clips[place]
        return soxbindings.build_flow_effects(
            clip.samples, clip.rate, [effect], in_precision=32, out_precision=32
        )

    return run


def generated(count: int = 12, rate: int = 16000) -> list[Audio]:
    """Return clips of 3 to 8 s with the spectrum and the pauses of speech, roughly; seeded."""
    generator = np.random.default_rng(1)
    clips = []
    for seconds in np.linspace(3.0, 8.0, count):
        noise = generator.standard_normal(int(seconds * rate))
        colored = np.convolve(noise, 0.8 ** np.arange(30), "same")
        syllables = np.clip(np.sin(2 * np.pi * 4.0 * np.arange(len(noise)) / rate) + 0.3, 0, None)
        clips.append(Audio((0.04 * colored * syllables).astype(np.float32), rate))
    return clips


def settings_of(name: str) -> list[Perturbation]:
    """Return a perturbation at all its severities, or at its thetas where it has none; none if it needs material."""
    try:
        kind = PERTURBATIONS.load(name)
        ids = [f"{name}:{n + 1}" for n in range(len(kind.severities))]
        ids = ids or [one for one in SUITES["aequevox"].scenarios if one.startswith(f"{name}:")]
        return [scenario.perturbation for id_ in ids if (scenario := parse_scenario(id_)).perturbation]
    except (ImportError, VoxauditError):
        return []


def transformed(peer: Callable[[np.ndarray], object], clips: list[Audio], place: int) -> object:
    return peer(clips[place].samples)


def each(calls: Sequence[Call], clips: int) -> Callable[[], None]:
    """Return a call that does all of some calls on all clips."""

    def run() -> None:
        for call in calls:
            for place in range(clips):
                call(place)

    return run


def measure(settings: Settings) -> Iterator[Row]:
    warnings.simplefilter("ignore")  # audiomentations warns of clips whose level it changes
    count = settings.pick(2, 12)
    clips = recordings(settings.audio, count) if settings.audio else generated(count)
    seconds = sum(clip.duration for clip in clips)
    rounds = settings.pick(1, 4, 8)
    draw = np.random.default_rng(1)

    def ours(parts: list[Perturbation]) -> Callable[[], None]:
        def call(one: Perturbation) -> Call:
            return lambda place: one(clips[place].samples, clips[place].rate, draw)

        return each([call(one) for one in parts], len(clips))

    with tempfile.TemporaryDirectory() as folder:
        program = SoxProgram(Path(folder), clips) if shutil.which("sox") else None
        yield from sox_effects(clips, program, ours, rounds, seconds)
    if missing := absent("audiomentations"):
        yield skipped("noise, level, filters, tempo, pitch, speed", UNIT, "audiomentations", missing)
        return
    for name in settings.pick(("gain", "tempo_up"), PERTURBATIONS.names()):
        pairs = [
            (one, peer) for one in settings_of(name) if (peer := audiomentations_peer(one, clips[0].rate))
        ]
        if pairs:
            theirs = [partial(transformed, peer, clips) for _, peer in pairs]
            yield from compare(
                *(
                    name,
                    UNIT,
                    ours([one for one, _ in pairs]),
                    {named("audiomentations"): each(theirs, len(clips))},
                ),
                rounds=rounds,
                scale=6e4 / seconds / len(pairs),
                note=OTHERWISE.get(name, ""),
            )


def sox_effects(
    clips: list[Audio],
    program: SoxProgram | None,
    ours: Callable[[list[Perturbation]], Callable[[], None]],
    rounds: int,
    seconds: float,
) -> Iterator[Row]:
    """Yield the effects one by one beside libsox, then all of them beside libsox and beside the program."""
    libsox, sox = f"libsox ({named('soxbindings')})", "the sox program"
    missing = {libsox: absent("soxbindings"), sox: None if program else Missing("sox is not installed")}
    sums: dict[str, np.ndarray] = {}
    for name, arguments in SOX.items():
        parts = settings_of(name)
        calls: dict[str, Callable[[], None]] = {"": ours(parts)}
        if missing[libsox] is None:
            calls[libsox] = each([libsox_call(clips, arguments(one)) for one in parts], len(clips))
        if program is not None:
            calls[sox] = each([program.call(arguments(one)) for one in parts], len(clips))
        found = {
            peer: np.array([6e4 * one.cpu / seconds / len(parts) for one in each_])
            for peer, each_ in race(calls, rounds).items()
        }
        for peer, values in found.items():
            sums[peer] = sums.get(peer, 0) + values / len(SOX)
        if libsox in found:
            yield row_of(name, UNIT, found[""].tolist(), found[libsox].tolist(), peer=libsox)
    for peer, why in missing.items():
        what = "the ten effects of SoX together"
        if why is not None:
            yield skipped(what, UNIT, peer, why)
        else:
            yield row_of(what, UNIT, sums[""].tolist(), sums[peer].tolist(), peer=peer)
