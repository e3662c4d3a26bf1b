"""Any `torch.nn.Module` with a CTC head as a recognizer that can be attacked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from voxaudit.audits.attack.base import AttackError, Tensor, need_torch

BLANK = 0


@dataclass(frozen=True)
class CtcModule:
    """A module `(waveforms, lengths) -> (logits, frames)` whose class 0 is CTC's blank.

    `logits` are utterances x frames x (1 + tokens), `frames` how many of them belong to each utterance; `tokens[k]`
    is class k + 1: a character, or a word where `words` is set. Texts are lower- or upper-cased as the tokens are,
    and what has no token is left out.
    """

    module: Any
    tokens: Sequence[str]
    rate: int
    words: bool = False
    device: str = "cpu"

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the CTC loss of each utterance, -log P(text)."""
        logits, frames = self.module(waveforms, lengths)
        return ctc_losses(logits, frames, [self.encode(text) for text in texts], BLANK)

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return the greedy transcript of each utterance."""
        logits, frames = self.module(waveforms, lengths)
        between = " " if self.words else ""
        return greedy(logits, frames, lambda kept: between.join(self.tokens[k - 1] for k in kept), BLANK)

    def encode(self, text: str) -> list[int]:
        """Return the classes of a text."""
        cased = in_case(text, self.tokens)
        known = {token: number for number, token in enumerate(self.tokens, start=1)}
        return [known[part] for part in (cased.split() if self.words else cased) if part in known]


def in_case(text: str, tokens: Iterable[str]) -> str:
    """Return a text in the case that all tokens have, if it is one: vocabularies of letters often have only one."""
    joined = "".join(tokens)
    if joined == joined.upper():
        return text.upper()
    return text.lower() if joined == joined.lower() else text


def ctc_losses(logits: Tensor, frames: Tensor, labels: Sequence[Sequence[int]], blank: int) -> Tensor:
    """Return the CTC loss of each utterance: infinite where its text needs more frames than it has."""
    torch = need_torch()
    scores = logits.log_softmax(dim=-1).transpose(0, 1)
    lengths = torch.tensor([len(label) for label in labels], device=logits.device)
    flat = torch.tensor(
        [token for label in labels for token in label], dtype=torch.long, device=logits.device
    )
    return torch.nn.functional.ctc_loss(scores, flat, frames, lengths, blank=blank, reduction="none")


def greedy(logits: Tensor, frames: Tensor, spell: Callable[[list[int]], str], blank: int) -> list[str]:
    """Return the text of the best class in each frame, repeats merged and blanks left out."""
    if logits.dim() != 3:
        raise AttackError(f"a CTC head gives utterances x frames x classes, not {tuple(logits.shape)}")
    texts = []
    for best, count in zip(logits.argmax(dim=-1).tolist(), frames.tolist(), strict=True):
        kept = [
            token
            for number, token in enumerate(best[:count])
            if token != blank and (number == 0 or token != best[number - 1])
        ]
        texts.append(spell(kept))
    return texts
