"""Vosk while it listens: partial texts chunk by chunk, a final one at each pause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples, pcm16
from voxaudit.recognize.base import Transcriber, Word
from voxaudit.recognize.streaming import Listener, LocalSession, Said, chunk_setting, pace_setting
from voxaudit.recognize.vosk import Vosk


@dataclass(frozen=True)
class VoskStreaming(Vosk):
    description = "Vosk while it listens: partial and final texts with their times."
    engine = "vosk_streaming"

    chunk: float = chunk_setting()
    pace: str = pace_setting()

    def open(self, path: Path) -> Transcriber:
        """Load the model."""
        import vosk

        vosk.SetLogLevel(-1)
        return Listener(partial(_Session, vosk.Model(str(path)), self.rate), self.chunk, self.pace)


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
