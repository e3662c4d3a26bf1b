"""NVIDIA NeMo: Parakeet, Canary and the other recognizers of `nemo.collections.asr`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcriber, Transcript, UtteranceError, counted
from voxaudit.recognize.local import LocalModel, WithModel
from voxaudit.recognize.settings import batch_seconds, revision, setting, threads


@dataclass(frozen=True)
class Nemo(LocalModel):
    description = "NVIDIA NeMo: Parakeet, Canary and others, a .nemo file or a name at the Hub."
    engine = "nemo"
    requires = ("nemo", "torch")
    versions = ("nemo_toolkit", "torch")
    one_file = "*.nemo"

    model: str = setting(help="a .nemo file, or hf:nvidia/parakeet-tdt-0.6b-v2", path=True)
    revision: str = revision()
    source_lang: str = setting("", help="Canary: language of the speech, such as en")
    target_lang: str = setting("", help="Canary: language of the text; the same to transcribe")
    pnc: str = setting("", help="Canary: yes or no, punctuation and capitals")
    batch: int = setting(
        1, help="utterances per call; more is faster on a GPU, and padding may change a text", at_least=1
    )
    batch_seconds: float = batch_seconds()
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def open(self, path: Path) -> Transcriber:
        """Restore the model from its file."""
        import torch
        from nemo.collections.asr.models import ASRModel
        from nemo.utils import logging

        torch.set_num_threads(self.threads)
        logging.setLevel(logging.ERROR)
        model: Any = ASRModel.restore_from(str(path), map_location=self.device).eval()
        told = {
            name: value for name in ("source_lang", "target_lang", "pnc") if (value := getattr(self, name))
        }

        def transcribe(batch: Sequence[Audio]) -> list[Transcript]:
            samples = [piece for audio in batch for piece in self.pieces(audio)]
            answers = model.transcribe(samples, batch_size=len(samples), verbose=False, **told)
            if isinstance(answers, tuple):  # transducers of older versions: (best, all)
                answers = answers[0]
            return [Transcript(_text(answer)) for answer in counted(answers, len(batch))]

        return WithModel(model, transcribe)


def _text(answer: Any) -> str:
    """Return the text of a `Hypothesis`, or of an older version's plain string."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise UtteranceError(f"NeMo returned {type(answer).__name__} instead of text")
    return text
