"""sherpa-onnx's online models: partial texts chunk by chunk, a final one where the engine finds an end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Samples
from voxaudit.recognize.base import Transcriber
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import setting, threads
from voxaudit.recognize.sherpa_onnx import find_file
from voxaudit.recognize.streaming import Listener, LocalSession, Said, chunk_setting, pace_setting

RATE = 16_000
TAIL = 0.66
"""Seconds of silence after the audio, in which models that look ahead say their last words."""

KINDS: dict[str, tuple[str, ...]] = {
    "transducer": ("encoder", "decoder", "joiner"),
    "paraformer": ("encoder", "decoder"),
    **dict.fromkeys(("zipformer2_ctc", "wenet_ctc", "nemo_ctc", "t_one_ctc"), ("model",)),
}
"""The parts of each kind of online model: a file's name holds the part's name."""


@dataclass(frozen=True)
class SherpaOnnxStreaming(LocalModel):
    description = "sherpa-onnx's online models: partial and final texts with their times, any CPU."
    engine = "sherpa_onnx_streaming"
    extra = "sherpa-onnx"
    requires = ("sherpa_onnx",)
    versions = ("sherpa-onnx",)

    model: str = setting(help="folder of an online model: its .onnx files and tokens.txt", path=True)
    kind: str = setting("transducer", help=", ".join(KINDS), choices=tuple(KINDS))
    int8: bool = setting(False, help="take the *.int8.onnx files where there are both")
    endpoints: bool = setting(
        True, help="a text is final where the engine finds an end; else at the end only"
    )
    chunk: float = chunk_setting()
    pace: str = pace_setting()
    threads: int = threads()

    def source(self) -> tuple[Path, str]:
        """Return the folder, once all files are there, and its identity."""
        folder, identity = super().source()
        self.files(folder)
        return folder, identity

    def files(self, folder: Path) -> dict[str, Path]:
        """Return the files of the model's parts, by the name of the library's argument."""
        parts = {part: find_file(folder, part, int8=self.int8) for part in KINDS[self.kind]}
        return {**parts, "tokens": find_file(folder, "tokens", endings=("txt",))}

    def open(self, path: Path) -> Transcriber:
        """Load the model with the library's constructor for its kind."""
        import sherpa_onnx

        make = getattr(sherpa_onnx.OnlineRecognizer, f"from_{self.kind}")
        files = {name: str(file) for name, file in self.files(path).items()}
        options = {"num_threads": self.threads, "enable_endpoint_detection": self.endpoints}
        return Listener(partial(_Session, make(**files, **options)), self.chunk, self.pace)


class _Session(LocalSession):
    def __init__(self, recognizer: Any) -> None:
        super().__init__()
        self._recognizer, self._stream = recognizer, recognizer.create_stream()

    def send(self, samples: Samples) -> None:
        self._stream.accept_waveform(RATE, np.ascontiguousarray(samples, np.float32))
        self._decode()
        final = bool(self._recognizer.is_endpoint(self._stream))
        self._say(final)
        if final:
            self._recognizer.reset(self._stream)

    def end(self) -> None:
        self._stream.accept_waveform(RATE, np.zeros(round(TAIL * RATE), np.float32))
        self._stream.input_finished()
        self._decode()
        self._say(final=True)
        self.over = True

    def _decode(self) -> None:
        while self._recognizer.is_ready(self._stream):
            self._recognizer.decode_stream(self._stream)

    def _say(self, final: bool) -> None:
        self.waiting.append(Said(self._recognizer.get_result(self._stream).strip(), final))
