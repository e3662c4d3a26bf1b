"""SpeechBrain: recognizers saved with their `hyperparams.yaml` (EncoderASR, EncoderDecoderASR, WhisperASR)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples
from voxaudit.recognize.base import RecognizerError, Transcriber
from voxaudit.recognize.local import LocalModel, WithModel
from voxaudit.recognize.settings import revision, setting, threads

KINDS = ("EncoderASR", "EncoderDecoderASR", "WhisperASR")


@dataclass(frozen=True)
class SpeechBrain(LocalModel):
    description = (
        "SpeechBrain: a model with its hyperparams.yaml, which runs code: trust where it comes from."
    )
    engine = "speechbrain"
    requires = ("speechbrain", "torch")
    versions = ("speechbrain", "torch")
    # One at a time: most recipes normalize over the padded batch.

    model: str = setting(help="folder with hyperparams.yaml, or hf:speechbrain/asr-crdnn-...", path=True)
    revision: str = revision()
    kind: str = setting("EncoderDecoderASR", help=", ".join(KINDS), choices=KINDS)
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def open(self, path: Path) -> Transcriber:
        """Load the model as the kind that was chosen."""
        if not (path / "hyperparams.yaml").is_file():
            raise RecognizerError(f"{path}: no hyperparams.yaml there; not a SpeechBrain model")
        import torch
        from speechbrain.inference import ASR

        torch.set_num_threads(self.threads)
        # No savedir: files are read where they lie, nothing is linked or copied into the current folder.
        model: Any = getattr(ASR, self.kind).from_hparams(
            source=str(path.resolve()), savedir=None, run_opts={"device": self.device}
        )
        missing = set(model.MODULES_NEEDED) - set(model.mods.keys())
        if missing:  # the toolkit itself notices only when it hears
            raise ValueError(f"it is not a {self.kind}: no {', '.join(sorted(missing))} in it")
        model.eval()

        def hear(samples: Samples) -> str:
            with torch.inference_mode():
                heard = torch.from_numpy(samples.copy())[None]
                texts, _ = model.transcribe_batch(heard, torch.tensor([1.0]))
            return texts[0] if isinstance(texts[0], str) else " ".join(texts[0])

        return WithModel(model, self.one_by_one(hear))
