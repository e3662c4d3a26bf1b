"""Whisper through faster-whisper (CTranslate2): no torch, quantized weights, on CPU or GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, Word
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import check_settings, setting, threads
from voxaudit.recognize.weights import KNOWN, weights_of
from voxaudit.registry import suggest

DECODING = 1
"""Raise when the same model and settings give other text than before: cached transcripts are then not used."""

RATE = 16_000
SHORTEST = 1_600


@dataclass(frozen=True)
class FasterWhisper:
    """The recognizer `faster_whisper`: its fields are its settings."""

    description: ClassVar[str] = "Whisper through faster-whisper: 99 languages, without torch, CPU or GPU."
    extra: ClassVar[str] = "faster-whisper"
    requires: ClassVar[tuple[str, ...]] = ("faster_whisper",)
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1
    """1: batches of several would be quantized together."""

    model: str = setting(
        "base", help="fetched model, a folder, or a name in the Hugging Face cache", path=True
    )
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting(
        "transcribe", help="transcribe, or translate into English", choices=("transcribe", "translate")
    )
    beam_size: int = setting(5, help="hypotheses searched at a time; 1 is greedy", least=1)
    words: bool = setting(False, help="word times, too (slower)")
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    compute_type: str = setting("int8", help="int8, float32; on a GPU int8_float16, float16")
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "faster_whisper")

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models for English alone, whose names end in `.en`; empty (any) of the others."""
        return ("en",) if self.model.removesuffix(".pt").endswith(".en") else ()

    def require(self) -> None:
        """Raise one line if the package or the model is missing."""
        self._source()

    def fingerprint(self) -> dict[str, str]:
        """The versions, the model's bytes (or its commit) and every setting but threads."""
        sent = ("language", "task", "beam_size", "words", "compute_type")
        return {
            "engine": "faster_whisper",
            "decoding": str(DECODING),
            "version": package_version("faster-whisper"),
            "ctranslate2": package_version("ctranslate2"),
            "model": self._source()[1],
            "device": self.device.partition(":")[0],
            **{name: str(getattr(self, name)) for name in sent},
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(self, self._source()[0])

    def _source(self) -> tuple[Path, str]:
        require_packages(type(self))
        own = {known.setting for known in KNOWN.values() if known.engine == "faster_whisper"}
        if self.model in own or Path(self.model).exists():
            folder = weights_of("faster_whisper", self.model)
            return folder, sha256(folder)
        from faster_whisper.utils import _MODELS

        from voxaudit.recognize.weights.hub import model_folder

        if "/" not in self.model and self.model not in _MODELS:
            raise RecognizerError(
                f"recognizer 'faster_whisper': no folder '{one_line(self.model, 120)}', and no model of that name."
                f"{suggest(self.model, list(_MODELS))} Names: {', '.join(_MODELS)}"
            )
        return model_folder("faster_whisper", _MODELS.get(self.model, self.model))


class _Model:
    def __init__(self, settings: FasterWhisper, folder: Path) -> None:
        from faster_whisper import WhisperModel

        device, _, index = settings.device.partition(":")
        try:
            self._model: Any = WhisperModel(
                str(folder),
                device=device,
                device_index=int(index or 0),
                compute_type=settings.compute_type,
                cpu_threads=settings.threads,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise RecognizerError(f"{folder}: faster-whisper cannot load this ({one_line(error)})") from error
        self._settings = settings

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        chosen = self._settings
        samples = np.ascontiguousarray(at_least(audio.samples, SHORTEST), np.float32)
        try:
            # One temperature: the fall-back to higher ones draws at random. Nothing is conditioned on earlier
            # text, so that one misheard stretch does not spoil the next.
            found, _ = self._model.transcribe(
                samples,
                language=chosen.language or None,
                task=chosen.task,
                beam_size=chosen.beam_size,
                temperature=0.0,
                condition_on_previous_text=False,
                word_timestamps=chosen.words,
            )
            segments = list(found)
        except ValueError as error:  # such as a language that the model does not have
            raise VoxauditError(f"recognizer 'faster_whisper': {one_line(error, 160)}") from error
        words = tuple(
            Word(word.word.strip(), float(word.start), float(word.end), float(word.probability))
            for segment in segments
            for word in segment.words or ()
        )
        tokens = [max(1, len(segment.tokens)) for segment in segments]
        total = sum(segment.avg_logprob * count for segment, count in zip(segments, tokens, strict=True))
        confidence = math.exp(total / sum(tokens)) if tokens else None
        return Transcript("".join(segment.text for segment in segments).strip(), words, confidence)
