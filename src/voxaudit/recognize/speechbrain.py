"""SpeechBrain: recognizers saved with their `hyperparams.yaml` (EncoderASR, EncoderDecoderASR, WhisperASR)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript
from voxaudit.recognize.files import package_version, require_packages
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import check_settings, setting, threads
from voxaudit.recognize.weights.hub import model_folder

RATE = 16_000
SHORTEST = 3_200
KINDS = ("EncoderASR", "EncoderDecoderASR", "WhisperASR")


@dataclass(frozen=True)
class SpeechBrain:
    """The recognizer `speechbrain`: its fields are its settings."""

    description: ClassVar[str] = (
        "SpeechBrain: a saved recognizer with its hyperparams.yaml, which runs code: trust where it comes from."
    )
    extra: ClassVar[str] = "speechbrain"
    requires: ClassVar[tuple[str, ...]] = ("speechbrain", "torch")
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1
    """1: most recipes normalize over the padded batch."""

    model: str = setting(help="folder with hyperparams.yaml, or a name in the Hugging Face cache", path=True)
    kind: str = setting("EncoderDecoderASR", help=", ".join(KINDS), choices=KINDS)
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "speechbrain")

    def require(self) -> None:
        """Raise one line if the package or the model is missing."""
        self._source()

    def fingerprint(self) -> dict[str, str]:
        """The versions, the folder's bytes (or the commit) and the kind."""
        return {
            "engine": "speechbrain",
            "version": package_version("speechbrain"),
            "torch": package_version("torch"),
            "model": self._source()[1],
            "kind": self.kind,
            "device": self.device.partition(":")[0],
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(self, self._source()[0])

    def _source(self) -> tuple[Path, str]:
        require_packages(type(self))
        folder, identity = model_folder("speechbrain", self.model)
        if not (folder / "hyperparams.yaml").is_file():
            raise RecognizerError(f"{folder}: no hyperparams.yaml there; that is no SpeechBrain model")
        return folder, identity


class _Model:
    def __init__(self, settings: SpeechBrain, folder: Path) -> None:
        import torch
        from speechbrain.inference import ASR

        torch.set_num_threads(settings.threads)
        self._torch = torch
        try:
            # No savedir: files are read where they lie, nothing is linked or copied into the current folder.
            self.model: Any = getattr(ASR, settings.kind).from_hparams(
                source=str(folder.resolve()), savedir=None, run_opts={"device": settings.device}
            )
        except Exception as error:
            raise RecognizerError(
                f"{folder}: SpeechBrain cannot load this as {settings.kind} ({one_line(error)})"
            ) from error
        missing = set(self.model.MODULES_NEEDED) - set(self.model.mods.keys())
        if missing:  # the toolkit itself notices only when it hears
            raise RecognizerError(
                f"{folder}: SpeechBrain cannot load this as {settings.kind} (no {', '.join(sorted(missing))} in it)"
            )
        self.model.eval()

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        torch = self._torch
        samples = np.ascontiguousarray(at_least(audio.samples, SHORTEST), np.float32)
        with torch.inference_mode():
            texts, _ = self.model.transcribe_batch(
                torch.from_numpy(samples.copy())[None], torch.tensor([1.0])
            )
        return Transcript(texts[0] if isinstance(texts[0], str) else " ".join(texts[0]))
