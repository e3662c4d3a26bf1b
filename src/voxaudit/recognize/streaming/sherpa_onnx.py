"""sherpa-onnx's online models: partial texts chunk by chunk, a final one where the engine finds an end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.settings import check_settings, setting, threads
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
class SherpaOnnxStreaming:
    """The recognizer `sherpa_onnx_streaming`: its fields are its settings."""

    description: ClassVar[str] = (
        "sherpa-onnx's online models: partial and final texts with their times, any CPU."
    )
    extra: ClassVar[str] = "sherpa-onnx"
    requires: ClassVar[tuple[str, ...]] = ("sherpa_onnx",)
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1

    model: str = setting(help="folder of an online model: its .onnx files and tokens.txt", path=True)
    kind: str = setting("transducer", help=", ".join(KINDS), choices=tuple(KINDS))
    int8: bool = setting(False, help="take the *.int8.onnx files where there are both")
    endpoints: bool = setting(
        True, help="a text is final where the engine finds an end; else at the end only"
    )
    chunk: float = chunk_setting()
    pace: str = pace_setting()
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "sherpa_onnx_streaming")

    def require(self) -> None:
        """Raise one line if the package or a file is missing."""
        self._files()

    def fingerprint(self) -> dict[str, str]:
        """The package's version, the files' bytes and every setting but threads."""
        return {
            "engine": "sherpa_onnx_streaming",
            "version": package_version("sherpa-onnx"),
            "model": sha256(*self._files().values()),
            **{name: str(getattr(self, name)) for name in ("kind", "endpoints", "chunk", "pace")},
        }

    def load(self) -> Transcriber:
        """Load the model."""
        import sherpa_onnx

        make = getattr(sherpa_onnx.OnlineRecognizer, f"from_{self.kind}")
        options = {"num_threads": self.threads, "enable_endpoint_detection": self.endpoints}
        try:
            recognizer = make(**{name: str(path) for name, path in self._files().items()}, **options)
        except (RuntimeError, ValueError) as error:
            raise RecognizerError(
                f"{self.model}: sherpa-onnx cannot load this ({one_line(error)})"
            ) from error
        return Listener(partial(_Session, recognizer), self.chunk, self.pace)

    def _files(self) -> dict[str, Path]:
        require_packages(type(self))
        folder = Path(self.model)
        if not folder.is_dir():
            raise RecognizerError(
                f"recognizer 'sherpa_onnx_streaming': no folder '{one_line(self.model, 120)}'"
            )
        files = {part: find_file(folder, part, int8=self.int8) for part in KINDS[self.kind]}
        return {**files, "tokens": find_file(folder, "tokens", endings=("txt",))}


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
