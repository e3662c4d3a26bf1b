"""The whole bank of Speech Robust Bench: utterances x 100 scenarios planned, perturbed and recorded.

The recognizer answers at once, so that the plan, the perturbations and the store are left. Beside it a plain loop in
one process that reads the same recordings and applies the same scenarios, and keeps nothing.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.instant_recognizer import Instant
from benchmarks.measure import Row, Settings, apart, compare, row_of

import voxaudit
from voxaudit.audio import Audio, read, write
from voxaudit.perturb import SUITES, parse_scenarios

SECONDS = 1.0
RATE = 16_000
RECORDINGS = 64


def make_corpus(folder: Path, utterances: int) -> Path:
    """Write a few recordings of shaped noise and a manifest that names them again and again."""
    generator = np.random.default_rng(0)
    (folder / "audio").mkdir(parents=True)
    for number in range(RECORDINGS):
        shape = np.convolve(generator.standard_normal(int(SECONDS * RATE)), np.ones(12) / 12, "same")
        write(folder / "audio" / f"{number}.wav", Audio((0.3 * shape).astype(np.float32), RATE))
    lines = ["id,path,speaker,text"]
    lines += [f"u{n},audio/{n % RECORDINGS}.wav,s{n % 200},one two" for n in range(utterances)]
    manifest = folder / "manifest.csv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def whole_bank(manifest: str) -> float:
    """Run the bank; return the peak MB of its largest worker."""
    with tempfile.TemporaryDirectory() as out:
        run = voxaudit.run_trials(
            voxaudit.read_corpus(manifest),
            {"instant": Instant()},
            ["srb"],
            out=out,
            workers=2,
            cache=False,
            progress=False,
        )
        if not run.failures.is_empty():
            raise RuntimeError("trials failed")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def plain_loop(manifest: str) -> None:
    """Apply every scenario to every utterance, one after the other."""
    scenarios = parse_scenarios(SUITES["srb"].scenarios)
    for utterance in voxaudit.read_corpus(manifest):
        recording = read(utterance.audio)
        for scenario in scenarios:
            scenario.apply(recording, seed=0, utterance=utterance.id)


def measure(settings: Settings) -> Iterator[Row]:
    # What two workers cost to start is the same for 50 utterances and for 200.
    for utterances, rounds in settings.pick([(2, 1)], [(50, 3), (200, 3)], [(50, 3), (2_000, 2)]):
        yield from _of(utterances, rounds)


def _of(utterances: int, rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        manifest = str(make_corpus(Path(folder), utterances))
        ours, theirs = apart(whole_bank, manifest=manifest), apart(plain_loop, manifest=manifest)
        trials = utterances * 101
        what = f"{trials:,} trials of 1 s, two workers"
        peers = {"a plain loop over the scenarios": theirs}
        yield from compare(
            *(what, "CPU ms per trial", ours, peers),
            rounds=rounds,
            scale=1e3 / trials,
            kind="floor",
            warm=False,
        )
        found = zip(ours.took, theirs.took, strict=True)
        wall = [(1e3 * one.wall / trials, 1e3 * other.wall / trials) for one, other in found]
        yield row_of(
            *(what, "wall ms per trial", [one for one, _ in wall], [other for _, other in wall]),
            peer="the same loop, one process",
        )
    yield row_of(what, "MB, the largest worker", [one.value for one in ours.took])
    yield row_of(what, "MB, the driver", [one.megabytes for one in ours.took])
