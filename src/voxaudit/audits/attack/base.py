"""What a recognizer must offer to be attacked by its gradient: a loss and transcripts of padded batches in torch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError, missing_extra, one_line

Tensor = Any
"""A torch tensor. Torch is imported only when an attack runs, so its types cannot be named here."""


class AttackError(VoxauditError):
    """An attack that cannot be made: what is missing, and what to do instead."""


@runtime_checkable
class Differentiable(Protocol):
    """A recognizer whose loss can be differentiated with respect to the audio.

    `waveforms` are float tensors (utterances x samples), zero after each utterance's `lengths`; an answer must not
    depend on that padding, nor on the other utterances of the batch. An attribute `device` says where the tensors
    are wanted ("cpu" without one).
    """

    @property
    def rate(self) -> int:
        """The sample rate in Hz of the waveforms."""

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the training loss of each utterance against its text: one number each, with a gradient."""

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return what is heard in each utterance."""


def need_torch() -> Any:
    """Import torch, or raise one line that says how to install it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise missing_extra("torch", "attack") from error


def pad(clips: Sequence[Samples], device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Return clips of unequal length as one float32 tensor with zeros behind them, and their lengths."""
    torch = need_torch()
    lengths = [len(clip) for clip in clips]
    batch = np.zeros((len(clips), max(lengths)), np.float32)
    for row, clip in zip(batch, clips, strict=True):
        row[: len(clip)] = clip
    return torch.from_numpy(batch).to(device), torch.tensor(lengths, device=device)


def device_of(model: Differentiable) -> str:
    """Return where a model wants its tensors."""
    return str(getattr(model, "device", "cpu"))


def hear(model: Differentiable, clips: Sequence[Samples], batch: int = 16) -> list[str]:
    """Return what a model hears in each clip, `batch` clips at a time."""
    torch = need_torch()
    texts: list[str] = []
    for first in range(0, len(clips), batch):
        some = clips[first : first + batch]
        with torch.no_grad():
            heard = list(model.transcribe(*pad(some, device_of(model))))
        if len(heard) != len(some) or not all(isinstance(text, str) for text in heard):
            raise AttackError(
                f"the recognizer's transcribe() must return {len(some)} texts for as many clips"
            )
        texts += heard
    return texts


def gradient(
    model: Differentiable, audio: Tensor, lengths: Tensor, texts: Sequence[str], wanted: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the losses of a batch and the gradient of their sum with respect to `wanted`, from which `audio` is made.

    A recognizer whose loss does not depend on the audio, or is not one number an utterance, raises one line.
    """
    torch = need_torch()
    losses = model.loss(audio, lengths, texts)
    if not isinstance(losses, torch.Tensor) or losses.shape != (len(texts),):
        shape = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
        raise AttackError(f"the recognizer's loss() must return {len(texts)} numbers, not {shape}")
    if not losses.requires_grad:
        raise AttackError(NO_GRADIENT)
    (slope,) = torch.autograd.grad(losses.sum(), wanted, allow_unused=True)
    if slope is None:
        raise AttackError(NO_GRADIENT)
    return losses.detach(), slope


NO_GRADIENT = (
    "the recognizer gives no gradient with respect to the audio (features made outside torch, or under no_grad)."
    " Make them in torch, or use --method blackbox"
)


def reason(error: BaseException) -> str:
    """Return one line that says why a model could not take some audio."""
    kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
    return kind + one_line(error, 200)
