"""What an attack costs beside the model: PGD per iteration against a bare forward and backward pass, and memory.

    pip install 'voxaudit[attack]'
    python benchmarks/attack.py                    about two minutes, one thread
    python benchmarks/attack.py --json results.json

The model is a random CTC network on 16 kHz audio (seven convolutions that reduce 320 times, as Wav2Vec2 has them, then
six of width 384): what it hears does not matter here. The bare pass computes the loss of a batch and its gradient with
respect to the audio, nothing else. Both are timed in turns in one run, in CPU seconds of this process; the
median of the ratios is given. PGD is timed whole: projection, masks, exact bounds on the final audio, and with and
without a look at the transcripts every ten steps (a look is one more forward pass). No utterance stops early.
Memory is the peak of a process of its own for every batch size, less that of a process that only loads the model.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from voxaudit.audits.attack.base import gradient, pad
from voxaudit.audits.attack.ctc import CtcModule
from voxaudit.audits.attack.pgd import Pgd, pgd

RATE = 16_000
TEXT = "the quick brown fox"
SECONDS = 4.0


class Network(torch.nn.Module):
    def __init__(self, width: int = 384) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        for number, (kernel, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))):
            layers += [torch.nn.Conv1d(128 if number else 1, 128, kernel, stride), torch.nn.GELU()]
        layers += [torch.nn.Conv1d(128, width, 1)]
        for _ in range(6):
            layers += [torch.nn.Conv1d(width, width, 5, padding=2), torch.nn.GELU()]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Conv1d(width, 28, 1))

    def forward(self, waveforms: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self.layers(waveforms[:, None]).transpose(1, 2)
        return logits, (lengths // 320 - 1).clamp(min=1, max=logits.shape[1])


def model() -> CtcModule:
    torch.manual_seed(0)
    return CtcModule(Network().eval().requires_grad_(False), "abcdefghijklmnopqrstuvwxyz ", RATE)


def clips(batch: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    lengths = np.linspace(0.75, 1.0, batch) * SECONDS * RATE
    return [(0.1 * generator.standard_normal(int(length))).astype(np.float32) for length in lengths]


def bare(victim: CtcModule, heard: list[np.ndarray], steps: int) -> None:
    audio, lengths = pad(heard)
    texts = [TEXT] * len(heard)
    for _ in range(steps):
        gradient(victim, audio.requires_grad_(True), lengths, texts, audio)


def attack(victim: CtcModule, heard: list[np.ndarray], steps: int, check: int) -> None:
    # Nobody is ever misled enough, so that no utterance leaves the batch.
    settings = Pgd(30.0, steps=steps, check=check, enough=1e9, batch=len(heard))
    pgd(victim, heard, [TEXT] * len(heard), settings)


def cpu_seconds(function: Any, *arguments: Any) -> float:
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def overhead(batch: int, steps: int, rounds: int) -> dict[str, Any]:
    victim, heard = model(), clips(batch)
    bare(victim, heard, 2)
    rows = []
    for _ in range(rounds):
        plain = cpu_seconds(bare, victim, heard, steps)
        rows.append((plain, *(cpu_seconds(attack, victim, heard, steps, check) / plain for check in (0, 10))))
    return {
        "batch": batch,
        "steps": steps,
        "bare_milliseconds": 1000 * statistics.median(row[0] for row in rows) / steps,
        "pgd_over_bare": statistics.median(row[1] for row in rows),
        "pgd_with_looks_over_bare": statistics.median(row[2] for row in rows),
    }


def peak_megabytes(batch: int) -> float:
    """Return the peak memory of a process that attacks a batch (0: only loads the model)."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak", str(batch)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.peak is not None:
        victim = model()
        if args.peak:
            attack(victim, clips(args.peak), 1, 0)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    times = [overhead(batch, args.steps, args.rounds) for batch in (1, 4)]
    for row in times:
        print(
            f"batch {row['batch']}: bare pass {row['bare_milliseconds']:.0f} ms; PGD {row['pgd_over_bare']:.3f} times"
            f" that an iteration, {row['pgd_with_looks_over_bare']:.3f} with a look every ten steps"
        )
    base = peak_megabytes(0)
    memory = {batch: peak_megabytes(batch) - base for batch in (1, 2, 4, 8, 16)}
    for batch, megabytes in memory.items():
        print(f"batch {batch}: {megabytes:.0f} MB above the model, {megabytes / batch:.0f} MB an utterance")
    if args.json:
        args.json.write_text(json.dumps({"times": times, "megabytes": memory}, indent=2) + "\n")


if __name__ == "__main__":
    main()
