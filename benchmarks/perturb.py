"""Speed of the perturbations beside the sox program, libsox in this process, and audiomentations, in one run.

    python benchmarks/perturb.py                       about two minutes, on generated clips
    python benchmarks/perturb.py --audio FOLDER        on recordings
    python benchmarks/perturb.py --json results.json

Seconds of audio per CPU second, one thread, each scenario on the same clips. The sox program reads and writes files of
32-bit floats and is charged its own CPU time; libsox (soxbindings) and audiomentations get arrays, as we do. Every
figure is the best of some rounds in which the contestants take turns. First calls, in which loops are compiled or
loaded and tables made, are counted apart. A peer that is not installed is left out.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import json
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

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

Call = Callable[[int], object]
"""Perturbs the clip of that number."""


def audiomentations_peer(perturbation: Perturbation, rate: int) -> Callable[[np.ndarray], object] | None:
    """Return the transform that comes nearest, at the same setting; its filters at their cheapest, 12 dB an octave."""
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


def cpu(call: Callable[[], object], *, children: bool) -> float:
    """Return the CPU seconds of a call, in this process or in those that it starts."""
    who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    before = resource.getrusage(who)
    call()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best_times(calls: dict[str, Call], clips: int, rounds: int) -> tuple[dict[str, float], float]:
    """Return each contestant's CPU seconds for all clips, best of the rounds; and that of our first call."""
    first = cpu(lambda: calls["voxaudit"](0), children=False)
    for name, call in calls.items():
        if name != "voxaudit":
            call(0)
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            # Where a pass is short the clock is too coarse: repeat it, except for the processes.
            started = time.perf_counter()
            call(0)
            once = (time.perf_counter() - started) * clips
            repeats = 1 if name == "sox" else max(1, round(0.05 / max(once, 1e-6)))

            def many(call: Call = call, repeats: int = repeats) -> None:
                for _ in range(repeats):
                    for place in range(clips):
                        call(place)

            best[name] = min(best[name], cpu(many, children=name == "sox") / repeats)
    return best, first


def generated(count: int = 12, rate: int = 16000) -> list[Audio]:
    """Return clips of 3 to 8 s with the spectrum and the pauses of speech, roughly; seeded."""
    generator = np.random.default_rng(1)
    clips = []
    for seconds in np.linspace(3.0, 8.0, count):
        noise = generator.standard_normal(int(seconds * rate))
        coloured = np.convolve(noise, 0.8 ** np.arange(30), "same")
        syllables = np.clip(np.sin(2 * np.pi * 4.0 * np.arange(len(noise)) / rate) + 0.3, 0, None)
        clips.append(Audio((0.04 * coloured * syllables).astype(np.float32), rate))
    return clips


def recordings(folder: Path, count: int = 12) -> list[Audio]:
    """Return recordings spread over the folder, in 16 bits as most are."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in {".wav", ".flac"})
    if not files:
        sys.exit(f"{folder}: no .wav or .flac files")
    clips = [
        soundfile.read(file, dtype="float32", always_2d=True) for file in files[:: -(-len(files) // count)]
    ]
    return [Audio(np.ascontiguousarray(samples[:, 0]), rate) for samples, rate in clips]


def scenarios(wanted: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield every perturbation with its severities, or its thetas where it has none."""
    thetas = SUITES["aequevox"].scenarios
    for name in PERTURBATIONS.names():
        if wanted and name not in wanted:
            continue
        try:
            kind = PERTURBATIONS.load(name)
        except (ImportError, VoxauditError):
            continue
        found = [f"{name}:{n + 1}" for n in range(len(kind.severities))]
        yield name, found or [id_ for id_ in thetas if id_.startswith(f"{name}:")]


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def compare(clips: list[Audio], wanted: list[str], rounds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for every perturbation that some peer has too."""
    program = SoxProgram(folder, clips) if shutil.which("sox") else None
    bindings, transforms = installed("soxbindings"), installed("audiomentations")
    audio_seconds = sum(len(clip.samples) / clip.rate for clip in clips)
    draw = np.random.default_rng(1)
    for name, ids in scenarios(wanted):
        sums: dict[str, float] = {}
        first = 0.0
        paired = 0.0
        for id_ in ids:
            scenario = parse_scenario(id_)
            calls: dict[str, Call] = {
                "voxaudit": lambda place, p=scenario.perturbation: p(
                    clips[place].samples, clips[place].rate, draw
                )
            }
            if name in SOX and program:
                calls["sox"] = program.call(SOX[name](scenario.perturbation))
            if name in SOX and bindings:
                calls["libsox"] = libsox_call(clips, SOX[name](scenario.perturbation))
            if transforms and (peer := audiomentations_peer(scenario.perturbation, clips[0].rate)):
                calls["audiomentations"] = lambda place, peer=peer: peer(clips[place].samples)
            if len(calls) == 1:
                continue
            times, once = best_times(calls, len(clips), rounds)
            first += once
            for contestant, seconds in times.items():
                sums[contestant] = sums.get(contestant, 0.0) + seconds
            if "audiomentations" in calls:
                paired += times["voxaudit"]
        if sums:
            done = audio_seconds * len(ids)
            ratios = {peer: sums[peer] / sums["voxaudit"] for peer in ("sox", "libsox") if peer in sums}
            if "audiomentations" in sums:  # over the settings that it allows
                ratios["audiomentations"] = sums["audiomentations"] / paired
            yield {
                "perturbation": name,
                "audio_seconds": done,
                "cpu_seconds": sums,
                "ratios": ratios,
                "first_calls_seconds": first,
            }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audio", type=Path, metavar="FOLDER", help="recordings; generated clips without it")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these perturbations")
    parser.add_argument("--rounds", type=int, default=3, help="take the best of so many rounds (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # audiomentations warns of clips whose level it changes
    clips = recordings(args.audio) if args.audio else generated()
    versions = {
        name: installed(name) for name in ("soxbindings", "audiomentations", "numba", "numpy", "scipy")
    }
    lengths = [len(clip.samples) / clip.rate for clip in clips]
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {v}" for name, v in versions.items()))
    print(
        f"{len(clips)} clips of {min(lengths):.1f} to {max(lengths):.1f} s at {clips[0].rate} Hz, one thread"
    )
    print(f"{'':16}{'times real time':>16}{'ratio to':>12}{'':>10}{'':>18}{'first calls':>13}")
    print(f"{'':16}{'voxaudit':>16}{'sox':>12}{'libsox':>10}{'audiomentations':>18}{'CPU s':>13}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in compare(clips, args.only, args.rounds, Path(folder)):
            rows.append(row)
            print(line(row), flush=True)
    both = [row for row in rows if row["perturbation"] in SOX]
    total = {}
    if both:
        peers = [
            peer for peer in ("voxaudit", "sox", "libsox") if all(peer in row["cpu_seconds"] for row in both)
        ]
        seconds = {peer: sum(row["cpu_seconds"][peer] for row in both) for peer in peers}
        total = {
            "perturbation": "the SoX effects",
            "audio_seconds": sum(row["audio_seconds"] for row in both),
            "cpu_seconds": seconds,
            "ratios": {peer: seconds[peer] / seconds["voxaudit"] for peer in peers if peer != "voxaudit"},
            "first_calls_seconds": sum(row["first_calls_seconds"] for row in both),
        }
        print(line(total))
    if args.json:
        args.json.write_text(
            json.dumps({"versions": versions, "rows": rows, "sox_effects": total}, indent=2) + "\n"
        )
    return 0


def line(row: dict[str, Any]) -> str:
    ratios = [f"{row['ratios'][peer]:.1f}" if peer in row["ratios"] else "-" for peer in ("sox", "libsox")]
    peer = f"{row['ratios']['audiomentations']:.1f}" if "audiomentations" in row["ratios"] else "-"
    speed = row["audio_seconds"] / row["cpu_seconds"]["voxaudit"]
    return (
        f"{row['perturbation']:16}{speed:>16,.0f}{ratios[0]:>12}{ratios[1]:>10}{peer:>18}"
        f"{row['first_calls_seconds']:>13.2f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
