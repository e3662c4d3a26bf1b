"""Whisper through faster-whisper (CTranslate2): no torch, quantized weights, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import Transcriber, Transcript
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.segments import ONE_ANSWER, TASKS, english_only, read_segments
from voxaudit.recognize.settings import revision, setting, threads


@dataclass(frozen=True)
class FasterWhisper(LocalModel):
    description = "Whisper through faster-whisper: 99 languages, without torch, CPU or GPU."
    engine = "faster_whisper"
    requires = ("faster_whisper",)
    versions = ("faster-whisper", "ctranslate2")
    decoding = 1
    shortest = 0.1
    # One at a time: batches of several would be quantized together.

    model: str = setting(
        "base", help="fetched model, a folder, a name of the package's or hf:ORG/NAME", path=True
    )
    revision: str = revision()
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting("transcribe", help="transcribe, or translate into English", choices=TASKS)
    beam_size: int = setting(5, help="hypotheses searched at a time; 1 is greedy", at_least=1)
    words: bool = setting(False, help="word times, too (slower)")
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    compute_type: str = setting("int8", help="int8, float32; on a GPU int8_float16, float16")
    threads: int = threads()

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return english_only(self.model)

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
