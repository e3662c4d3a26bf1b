"""Whisper as OpenAI published it, with torch: the reference that other builds are measured against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples
from voxaudit.recognize.base import Transcriber, Transcript
from voxaudit.recognize.local import LocalModel, WithModel
from voxaudit.recognize.segments import ONE_ANSWER, TASKS, english_only, read_segments
from voxaudit.recognize.settings import setting, threads


@dataclass(frozen=True)
class Whisper(LocalModel):
    description = "Whisper as OpenAI published it (openai-whisper), with torch."
    engine = "whisper"
    requires = ("whisper", "torch")
    versions = ("openai-whisper", "torch")
    decoding = 1
    shortest = 0.1
    one_file = "*.pt"

    model: str = setting("tiny.en", help="fetched model, a .pt file, or hf:ORG/NAME with one", path=True)
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting("transcribe", help="transcribe, or translate into English", choices=TASKS)
    beam_size: int = setting(1, help="hypotheses searched at a time; 1 is greedy", at_least=1)
    words: bool = setting(False, help="word times, too (slower)")
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return english_only(self.model)

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        import torch
        import whisper

        torch.set_num_threads(self.threads)
        model: Any = whisper.load_model(str(path), device=self.device)
        options: dict[str, Any] = {
            "language": self.language or None,
            "task": self.task,
            "beam_size": self.beam_size if self.beam_size > 1 else None,
            "word_timestamps": self.words,
            "fp16": self.device != "cpu",
            **ONE_ANSWER,
        }

        def hear(samples: Samples) -> Transcript:
            answer = model.transcribe(samples, **options)
            return read_segments(answer["text"], answer["segments"])

        return WithModel(model, self.one_by_one(hear))
