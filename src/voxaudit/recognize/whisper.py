"""Whisper as OpenAI published it, with torch: the reference that other builds are measured against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcriber, Transcript
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.segments import ONE_ANSWER, TASKS, english_only, read_segments
from voxaudit.recognize.settings import setting, threads


@dataclass(frozen=True)
class Whisper(LocalModel):
    """The recognizer `whisper`: its fields are its settings."""

    description: ClassVar[str] = "Whisper as OpenAI published it (openai-whisper), with torch."
    engine: ClassVar[str] = "whisper"
    extra: ClassVar[str] = "whisper"
    requires: ClassVar[tuple[str, ...]] = ("whisper", "torch")
    versions: ClassVar[tuple[str, ...]] = ("openai-whisper", "torch")
    decoding: ClassVar[int] = 1
    shortest: ClassVar[float] = 0.1
    one_file: ClassVar[str] = "*.pt"

    model: str = setting("tiny.en", help="fetched model, a .pt file, or hf:ORG/NAME with one", path=True)
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting("transcribe", help="transcribe, or translate into English", choices=TASKS)
    beam_size: int = setting(1, help="hypotheses searched at a time; 1 is greedy", least=1)
    words: bool = setting(False, help="word times, too (slower)")
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return english_only(self.model)

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        return _Model(self, path)


class _Model:
    def __init__(self, settings: Whisper, file: Path) -> None:
        import torch
        import whisper

        torch.set_num_threads(settings.threads)
        self.model: Any = whisper.load_model(str(file), device=settings.device)
        self._settings = settings
        self._options: dict[str, Any] = {
            "language": settings.language or None,
            "task": settings.task,
            "beam_size": settings.beam_size if settings.beam_size > 1 else None,
            "word_timestamps": settings.words,
            "fp16": settings.device != "cpu",
            **ONE_ANSWER,
        }

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        heard = (
            self.model.transcribe(piece, **self._options)
            for audio in batch
            for piece in self._settings.pieces(audio)
        )
        return [read_segments(answer["text"], answer["segments"]) for answer in heard]
