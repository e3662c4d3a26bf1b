"""Vosk: Kaldi recognizers for twenty-odd languages, small enough for a telephone, with word times and confidences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples, pcm16
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, Word
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import setting
from voxaudit.recognize.streaming import Listener, LocalSession, Said, chunk_setting, pace_setting

BLOCK = 4_000
"""Samples handed over at a time: after each the engine decides whether an utterance has ended."""


@dataclass(frozen=True)
class Vosk(LocalModel):
    description = "Vosk: Kaldi recognizer with word times and confidences, many languages, any CPU."
    engine = "vosk"
    requires = ("vosk",)
    decoding = 1
    shortest = 0.1

    model: str = setting(
        "small-en-us", help="fetched model, the folder of another, or hf:ORG/NAME", path=True
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the model that is known here; empty (any) of a folder."""
        return ("en",) if self.model == "small-en-us" else ()

    def source(self) -> tuple[Path, str]:
        """Return where the model is, and its identity."""
        folder, identity = super().source()
        # The library would end the whole process on a folder that is not one of its models.
        if not any((folder / part).is_file() for part in ("am/final.mdl", "final.mdl")):
            raise RecognizerError(f"{folder}: no Vosk model there (am/final.mdl is missing)")
        return folder, identity

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        import vosk

        model = load_model(path)

        def hear(samples: Samples) -> Transcript:
            # A new one each time, at 50 ms: it adapts to the speaker, and would carry that over to the next.
            recognizer = vosk.KaldiRecognizer(model, self.rate)
            recognizer.SetWords(True)
            sound = pcm16(samples)
            blocks = (sound[first : first + BLOCK].tobytes() for first in range(0, len(sound), BLOCK))
            ended = [recognizer.Result() for block in blocks if recognizer.AcceptWaveform(block)]
            parts = [read_said(json.loads(part)) for part in (*ended, recognizer.FinalResult())]
            words = tuple(word for part in parts for word in part.words)
            return Transcript(" ".join(part.text for part in parts if part.text), words)

        return self.one_by_one(hear)


def load_model(folder: Path) -> Any:
    """Return the library's model of a folder."""
    import vosk

    vosk.SetLogLevel(-1)
    return vosk.Model(str(folder))


@dataclass(frozen=True)
class VoskStreaming(Vosk):
    description = "Vosk while it listens: partial and final texts with their times."
    engine = "vosk_streaming"

    chunk: float = chunk_setting()
    pace: str = pace_setting()

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        return Listener(partial(_Session, load_model(path), self.rate), self.chunk, self.pace)


class _Session(LocalSession):
    def __init__(self, model: Any, rate: int) -> None:
        import vosk

        super().__init__()
        self._recognizer = vosk.KaldiRecognizer(model, rate)
        self._recognizer.SetWords(True)

    def send(self, samples: Samples) -> None:
        ended = self._recognizer.AcceptWaveform(pcm16(samples).tobytes())
        answer = self._recognizer.Result() if ended else self._recognizer.PartialResult()
        self.waiting.append(read_said(json.loads(answer)))

    def end(self) -> None:
        self.waiting.append(read_said(json.loads(self._recognizer.FinalResult())))
        self.over = True


def read_said(document: Mapping[str, Any]) -> Said:
    """Return what an answer of Vosk, or of its server, says.

    >>> read_said({"partial": "good"})
    Said(text='good', final=False, words=())
    """
    if "partial" in document:
        return Said(document["partial"], final=False)
    words = tuple(
        Word(word["word"], word["start"], word["end"], min(1.0, word["conf"]))
        for word in document.get("result", ())
    )
    return Said(document.get("text", ""), final=True, words=words)
