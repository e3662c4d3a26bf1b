"""Whisper as OpenAI published it, with torch: the reference that other builds are measured against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, Word
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import check_settings, setting, threads
from voxaudit.recognize.weights import weights_of

DECODING = 1
"""Raise when the same model and settings give other text than before: cached transcripts are then not used."""

RATE = 16_000
SHORTEST = 1_600


@dataclass(frozen=True)
class Whisper:
    """The recognizer `whisper`: its fields are its settings."""

    description: ClassVar[str] = "Whisper as OpenAI published it (openai-whisper), with torch."
    extra: ClassVar[str] = "whisper"
    requires: ClassVar[tuple[str, ...]] = ("whisper", "torch")
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1
    """1: the package hears one recording at a time."""

    model: str = setting("tiny.en", help="fetched model, or a .pt file", path=True)
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting(
        "transcribe", help="transcribe, or translate into English", choices=("transcribe", "translate")
    )
    beam_size: int = setting(1, help="hypotheses searched at a time; 1 is greedy", least=1)
    words: bool = setting(False, help="word times, too (slower)")
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "whisper")

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return ("en",) if self.model.removesuffix(".pt").endswith(".en") else ()

    def require(self) -> None:
        """Raise one line if the package or the model is missing."""
        self._file()

    def fingerprint(self) -> dict[str, str]:
        """The versions, the model's bytes and every setting but threads."""
        return {
            "engine": "whisper",
            "decoding": str(DECODING),
            "version": package_version("openai-whisper"),
            "torch": package_version("torch"),
            "model": sha256(self._file()),
            "device": self.device.partition(":")[0],
            **{name: str(getattr(self, name)) for name in ("language", "task", "beam_size", "words")},
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(self, self._file())

    def _file(self) -> Path:
        require_packages(type(self))
        path = weights_of("whisper", self.model)
        if path.is_dir():
            files = sorted(path.glob("*.pt"))
            if len(files) != 1:
                raise RecognizerError(f"{path}: {len(files)} .pt files there; name one of them")
            path = files[0]
        return path


class _Model:
    def __init__(self, settings: Whisper, file: Path) -> None:
        import torch
        import whisper

        torch.set_num_threads(settings.threads)
        try:
            self.model: Any = whisper.load_model(str(file), device=settings.device)
        except Exception as error:
            raise RecognizerError(f"{file}: whisper cannot load this model ({one_line(error)})") from error
        self._options: dict[str, Any] = {
            "language": settings.language or None,
            "task": settings.task,
            "beam_size": settings.beam_size if settings.beam_size > 1 else None,
            "word_timestamps": settings.words,
            "fp16": settings.device != "cpu",
            # One temperature: the fall-back to higher ones draws at random. Nothing is conditioned on earlier text.
            "temperature": 0.0,
            "condition_on_previous_text": False,
        }

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        samples = np.ascontiguousarray(at_least(audio.samples, SHORTEST), np.float32)
        answer = self.model.transcribe(samples, **self._options)
        segments = answer["segments"]
        words = tuple(
            Word(word["word"].strip(), float(word["start"]), float(word["end"]), float(word["probability"]))
            for segment in segments
            for word in segment.get("words", ())
        )
        tokens = [max(1, len(segment["tokens"])) for segment in segments]
        total = sum(s["avg_logprob"] * count for s, count in zip(segments, tokens, strict=True))
        confidence = math.exp(total / sum(tokens)) if tokens else None
        return Transcript(answer["text"].strip(), words, confidence)
