"""Whisper in Python: OpenAI's own, the reference that others are measured against, faster-whisper, mlx-whisper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import Transcriber, Transcript, Word
from voxaudit.recognize.local import LocalModel, WithModel
from voxaudit.recognize.settings import revision, setting, threads

ONE_ANSWER = {"temperature": 0.0, "condition_on_previous_text": False}
"""One temperature: the fall-back to higher ones draws at random. Nothing is conditioned on earlier text, so that one
misheard stretch does not spoil the next."""


@dataclass(frozen=True)
class _Whisper(LocalModel):
    shortest = 0.1

    model: str = setting("", help="")
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting(
        "transcribe", help="transcribe, or translate into English", choices=("transcribe", "translate")
    )
    words: bool = setting(False, help="word times, too (slower)")

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return ("en",) if self.model.removesuffix(".pt").endswith(".en") else ()


@dataclass(frozen=True)
class Whisper(_Whisper):
    description = "Whisper as OpenAI published it (openai-whisper), with torch."
    engine = "whisper"
    requires = ("whisper", "torch")
    versions = ("openai-whisper", "torch")
    decoding = 1
    one_file = "*.pt"

    model: str = setting("tiny.en", help="fetched model, a .pt file, or hf:ORG/NAME with one", path=True)
    beam_size: int = setting(1, help="hypotheses searched at a time; 1 is greedy", at_least=1)
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

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


@dataclass(frozen=True)
class FasterWhisper(_Whisper):
    description = "Whisper through faster-whisper: 99 languages, without torch, CPU or GPU."
    engine = "faster_whisper"
    requires = ("faster_whisper",)
    versions = ("faster-whisper", "ctranslate2")
    decoding = 1
    # One at a time: batches of several would be quantized together.

    model: str = setting(
        "base", help="fetched model, a folder, a name of the package's or hf:ORG/NAME", path=True
    )
    revision: str = revision()
    beam_size: int = setting(5, help="hypotheses searched at a time; 1 is greedy", at_least=1)
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    compute_type: str = setting("int8", help="int8, float32; on a GPU int8_float16, float16")
    threads: int = threads()

    def names(self) -> Mapping[str, str]:
        """Return the package's own table."""
        from faster_whisper.utils import _MODELS

        return dict(_MODELS)

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        from faster_whisper import WhisperModel

        device, _, index = self.device.partition(":")
        model: Any = WhisperModel(
            str(path),
            device=device,
            device_index=int(index or 0),
            compute_type=self.compute_type,
            cpu_threads=self.threads,
            local_files_only=True,
        )

        def hear(samples: Samples) -> Transcript:
            try:
                found, _ = model.transcribe(
                    samples,
                    language=self.language or None,
                    task=self.task,
                    beam_size=self.beam_size,
                    word_timestamps=self.words,
                    **ONE_ANSWER,
                )
                segments = list(found)
            except ValueError as error:  # such as a language that the model does not have
                raise VoxauditError(f"recognizer 'faster_whisper': {one_line(error, 160)}") from error
            return read_segments("".join(segment.text for segment in segments), segments)

        return self.one_by_one(hear)


@dataclass(frozen=True)
class MlxWhisper(_Whisper):
    description = "Whisper through mlx-whisper: 99 languages, on Macs with Apple chips."
    engine = "mlx_whisper"
    requires = ("mlx_whisper",)
    versions = ("mlx-whisper", "mlx")

    model: str = setting("hf:mlx-community/whisper-tiny", help="a folder, or hf:ORG/NAME", path=True)
    revision: str = revision()

    def open(self, path: Path) -> Transcriber:
        """Return the function that hears; the package keeps the model it loads first."""
        import mlx_whisper

        def hear(samples: Samples) -> Transcript:
            answer = mlx_whisper.transcribe(
                samples,
                path_or_hf_repo=str(path),
                language=self.language or None,
                task=self.task,
                word_timestamps=self.words,
                **ONE_ANSWER,
            )
            return read_segments(answer["text"], answer["segments"])

        return self.one_by_one(hear)


def read_segments(text: str, segments: Iterable[Any]) -> Transcript:
    """Return the transcript; its confidence is the geometric mean of the tokens' probabilities.

    Segments and words are mappings (openai-whisper, mlx-whisper) or objects (faster-whisper) with the same names.
    """
    parts = [_plain(segment) for segment in segments]
    words = tuple(
        Word(word["word"].strip(), float(word["start"]), float(word["end"]), float(word["probability"]))
        for part in parts
        for word in map(_plain, part.get("words") or ())
    )
    tokens = [max(1, len(part["tokens"])) for part in parts]
    total = sum(part["avg_logprob"] * count for part, count in zip(parts, tokens, strict=True))
    return Transcript(text.strip(), words, math.exp(total / sum(tokens)) if tokens else None)


def _plain(part: Any) -> dict[str, Any]:
    return part if isinstance(part, dict) else vars(part)
