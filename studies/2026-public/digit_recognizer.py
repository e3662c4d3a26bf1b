"""A small CTC recognizer of spoken digits, trained in a minute on a CPU: something real to attack."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch

from voxaudit.audio import read
from voxaudit.recognize.attack import CtcModule
from voxaudit.recognize.attack.models import hear

RATE = 8000
TOKENS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class DigitNet(torch.nn.Module):
    """Log-mel in torch, six convolutions, words. What it hears does not depend on padding."""

    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.register_buffer("mel", mel_filters(40, 256, RATE))
        # Channels in, stride, dilation.
        layers = [(40, 1, 1), (channels, 2, 1), (channels, 1, 1), *((channels, 1, d) for d in (1, 2, 4))]
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv1d(i, channels, 5, stride=s, dilation=d, padding=2 * d) for i, s, d in layers
        )
        self.scales = torch.nn.ModuleList(torch.nn.BatchNorm1d(channels) for _ in layers)
        self.head = torch.nn.Linear(channels, 1 + len(TOKENS))

    def forward(self, waveforms: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits and how many frames belong to each recording."""
        spectrum = torch.stft(
            waveforms, 256, 80, window=self.window, center=True, pad_mode="constant", return_complex=True
        )
        power = spectrum.real**2 + spectrum.imag**2
        x = torch.log(torch.einsum("mf,bft->bmt", self.mel, power) + 1e-4)
        frames = lengths // 80 + 1
        x = (x + 3.0) / 4.0
        for number, (convolution, scale) in enumerate(zip(self.convolutions, self.scales, strict=True)):
            y = scale(convolution(x * self._mask(x, frames))).relu()
            x = y if number < 3 else x + y
            if convolution.stride[0] == 2:
                frames = (frames + 1) // 2
        return self.head(x.transpose(1, 2)), frames

    @staticmethod
    def _mask(x: torch.Tensor, frames: torch.Tensor) -> torch.Tensor:
        return (torch.arange(x.shape[2], device=x.device)[None] < frames[:, None])[:, None].to(x.dtype)


def mel_filters(count: int, size: int, rate: int) -> torch.Tensor:
    """Return triangular filters, evenly spaced on the mel scale."""
    hertz = np.linspace(0.0, rate / 2, size // 2 + 1)
    mel = 2595.0 * np.log10(1.0 + hertz / 700.0)
    edges = np.linspace(mel[1], mel[-1], count + 2)
    up = (mel[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - mel[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.tensor(np.maximum(0.0, np.minimum(up, down)), dtype=torch.float32)


def load_digits(folder: Path) -> list[tuple[np.ndarray, str, str, int]]:
    """Return (samples, word, speaker, number of the recording)."""
    with (folder / "manifest.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        (
            read(folder / row["path"]).samples,
            row["text"],
            row["speaker"],
            int(Path(row["path"]).stem.rpartition("_")[2]),
        )
        for row in rows
    ]


def train(
    clips: list[np.ndarray], texts: list[str], *, epochs: int = 45, channels: int = 64, seed: int = 0
) -> CtcModule:
    """Return a recognizer trained with changed levels, shifts and white noise at 15 to 40 dB."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    net = DigitNet(channels)
    model = CtcModule(net, TOKENS, RATE, words=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    batches = (len(clips) + 15) // 16
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=epochs * batches)
    for _ in range(epochs):
        order = generator.permutation(len(clips))
        for first in range(0, len(order), 16):
            chosen = order[first : first + 16]
            changed = [disturb(clips[k], generator) for k in chosen]
            width = max(map(len, changed))
            batch = torch.from_numpy(np.stack([np.pad(x, (0, width - len(x))) for x in changed]))
            lengths = torch.tensor([len(x) for x in changed])
            loss = model.loss(batch, lengths, [texts[k] for k in chosen]).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            schedule.step()
    net.eval()
    net.requires_grad_(False)
    return model


def disturb(clip: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a recording at another level, shifted, with white noise."""
    before, after = generator.integers(0, 1200, 2)
    x = np.pad(clip * 10.0 ** generator.uniform(-0.4, 0.4), (before, after))
    noise = (
        generator.standard_normal(len(x)) * np.sqrt(np.mean(x**2)) * 10.0 ** (-generator.uniform(15, 40) / 20)
    )
    return (x + noise).astype(np.float32)


HELD_OUT = 5
"""The first recordings of every digit and speaker are for testing only."""

WEIGHTS = Path(__file__).parent / "runs"
SIZES = {"digits-8": 8, "digits-16": 16, "digits-64": 64}
"""Channels of the networks, by the recognizer's name."""


def keep_weights(folder: Path) -> None:
    """Train on the last three of eight recordings of each digit by every speaker, once, and keep the weights."""
    torch.set_num_threads(1)
    training = [one for one in load_digits(folder) if one[3] >= HELD_OUT]
    for name, channels in SIZES.items():
        if not (WEIGHTS / f"{name}.pt").exists():
            model = train([one[0] for one in training], [one[1] for one in training], channels=channels)
            WEIGHTS.mkdir(exist_ok=True)
            torch.save(model.module.state_dict(), WEIGHTS / f"{name}.pt")


class Digits:
    """A recognizer of the study, with the weights that were kept."""

    name = "digits-64"

    def __init__(self) -> None:
        torch.set_num_threads(1)
        net = DigitNet(SIZES[self.name])
        net.load_state_dict(torch.load(WEIGHTS / f"{self.name}.pt", weights_only=True))
        net.eval()
        net.requires_grad_(False)
        self.model = CtcModule(net, TOKENS, RATE, words=True)

    def __call__(self, samples: list[np.ndarray], rates: list[int]) -> list[str]:
        """Return the digit heard in each recording."""
        return hear(self.model, samples)


class Digits16(Digits):
    """The same with a quarter of the channels."""

    name = "digits-16"


class Digits8(Digits):
    """The same with an eighth of the channels."""

    name = "digits-8"
