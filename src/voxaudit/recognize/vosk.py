"""Vosk: Kaldi recognizers for twenty-odd languages, small enough for a telephone, with word times and confidences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from voxaudit.audio import Audio, pcm16
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, Word
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import setting
from voxaudit.recognize.weights import weights_of

DECODING = 1
"""Raise when the same model and settings give other text than before: cached transcripts are then not used."""

RATE = 16_000
SHORTEST = 1_600
BLOCK = 4_000
"""Samples handed over at a time: after each the engine decides whether an utterance has ended."""


@dataclass(frozen=True)
class Vosk:
    """The recognizer `vosk`: its fields are its settings."""

    description: ClassVar[str] = (
        "Vosk: Kaldi recognizer with word times and confidences, many languages, any CPU."
    )
    extra: ClassVar[str] = "vosk"
    requires: ClassVar[tuple[str, ...]] = ("vosk",)
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1
    """1: a recognizer hears one utterance at a time."""

    model: str = setting("small-en-us", help="fetched model, or the folder of another", path=True)

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the model that is known here; empty (any) of a folder."""
        return ("en",) if self.model == "small-en-us" else ()

    def require(self) -> None:
        """Raise one line if the package or the model is missing."""
        self._folder()

    def fingerprint(self) -> dict[str, str]:
        """The package's version and the bytes of the model."""
        return {
            "engine": "vosk",
            "decoding": str(DECODING),
            "version": package_version("vosk"),
            "model": sha256(self._folder()),
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(load_model(self._folder()))

    def _folder(self) -> Path:
        require_packages(type(self))
        folder = weights_of("vosk", self.model)
        # The library would end the whole process on a folder that is not one of its models.
        if not any((folder / part).is_file() for part in ("am/final.mdl", "final.mdl")):
            raise RecognizerError(f"{folder}: no Vosk model there (am/final.mdl is missing)")
        return folder


def load_model(folder: Path) -> Any:
    """Return the library's model of a folder."""
    import vosk

    vosk.SetLogLevel(-1)
    try:
        return vosk.Model(str(folder))
    except Exception as error:
        raise RecognizerError(f"{folder}: vosk cannot load this model ({error})") from error


class _Model:
    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        import vosk

        # A new one each time, at 50 ms: it adapts to the speaker, and would carry that over to the next.
        recognizer = vosk.KaldiRecognizer(self._model, RATE)
        recognizer.SetWords(True)
        samples = pcm16(at_least(audio.samples, SHORTEST))
        blocks = (samples[first : first + BLOCK].tobytes() for first in range(0, len(samples), BLOCK))
        ended = [recognizer.Result() for block in blocks if recognizer.AcceptWaveform(block)]
        parts = [json.loads(part) for part in (*ended, recognizer.FinalResult())]
        words = tuple(
            Word(word["word"], word["start"], word["end"], min(1.0, word["conf"]))
            for part in parts
            for word in part.get("result", ())
        )
        return Transcript(" ".join(part["text"] for part in parts if part.get("text")), words)
