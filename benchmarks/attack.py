"""Attacks: PGD per iteration beside a bare forward and backward pass of the same model, and memory.

The model is a random CTC network on 16 kHz audio (seven convolutions that reduce 320 times, as Wav2Vec2 has them, then
six of width 384): what it hears does not matter here. The bare pass computes the loss of a batch and its gradient with
respect to the audio, nothing else. PGD is timed whole: projection, masks, exact bounds on the final audio, and with and
without a look at the transcripts every ten steps (a look is one more forward pass). No utterance stops early.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.measure import Row, Settings, absent, alone, compare, named, row_of, skipped

if TYPE_CHECKING:
    from voxaudit.recognize.attack import CtcModule

RATE = 16_000
TEXT = "the quick brown fox"
SECONDS = 4.0


def model() -> CtcModule:
    """Return a random network, one thread."""
    import torch

    from voxaudit.recognize.attack import CtcModule

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers: list[Any] = []
    for number, (kernel, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))):
        layers += [torch.nn.Conv1d(128 if number else 1, 128, kernel, stride), torch.nn.GELU()]
    layers += [torch.nn.Conv1d(128, 384, 1)]
    for _ in range(6):
        layers += [torch.nn.Conv1d(384, 384, 5, padding=2), torch.nn.GELU()]

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(*layers, torch.nn.Conv1d(384, 28, 1))

        def forward(self, waveforms: Any, lengths: Any) -> tuple[Any, Any]:
            logits = self.layers(waveforms[:, None]).transpose(1, 2)
            return logits, (lengths // 320 - 1).clamp(min=1, max=logits.shape[1])

    return CtcModule(Network().eval().requires_grad_(False), "abcdefghijklmnopqrstuvwxyz ", RATE)


def clips(batch: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    lengths = np.linspace(0.75, 1.0, batch) * SECONDS * RATE
    return [(0.1 * generator.standard_normal(int(length))).astype(np.float32) for length in lengths]


def bare(victim: CtcModule, heard: list[np.ndarray], steps: int) -> None:
    from voxaudit.recognize.attack.models import gradient, pad

    audio, lengths = pad(heard)
    texts = [TEXT] * len(heard)
    for _ in range(steps):
        gradient(victim, audio.requires_grad_(True), lengths, texts, audio)


def attack(victim: CtcModule, heard: list[np.ndarray], steps: int, check: int) -> None:
    from voxaudit.audits.attack.result import mistakes
    from voxaudit.recognize.attack.gradient import Pgd, pgd

    # Nobody is ever misled enough, so that no utterance leaves the batch.
    settings = Pgd(30.0, steps=steps, check=check, enough=1e9, batch=len(heard))
    pgd(victim, heard, [TEXT] * len(heard), settings, judge=mistakes)


def attack_batch(batch: int) -> None:
    attack(model(), clips(batch), 1, 0)


def load_model() -> None:
    model()


def measure(settings: Settings) -> Iterator[Row]:
    unit = "CPU ms per iteration"
    if missing := absent("torch"):
        yield skipped("PGD", unit, "a bare forward and backward pass", missing)
        return
    victim, steps = model(), settings.pick(2, 10, 30)
    for batch in settings.pick((1,), (1, 4)):
        heard = clips(batch)
        bare(victim, heard, 1)  # what is done only once
        attack(victim, heard, 1, 1)
        for check in (0, 10):
            yield from compare(
                f"PGD, batch of {batch}{', a look every ten steps' if check else ''}",
                unit,
                partial(attack, victim, heard, steps, check),
                {f"a bare pass, {named('torch')}": partial(bare, victim, heard, steps)},
                rounds=settings.pick(1, 3),
                scale=1e3 / steps,
                kind="floor",
                warm=False,
            )
    base = alone(load_model).megabytes
    for batch in settings.pick((1,), (1, 4, 16)):
        yield row_of(
            f"PGD, batch of {batch}",
            "MB above the model",
            [alone(attack_batch, batch=batch).megabytes - base],
        )
