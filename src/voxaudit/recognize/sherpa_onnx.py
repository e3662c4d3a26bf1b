"""sherpa-onnx: recognizers of many kinds from ONNX files, offline or while they listen, on any CPU, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Samples
from voxaudit.recognize.base import RecognizerError, Transcriber
from voxaudit.recognize.files import sha256
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import longest, revision, setting, threads
from voxaudit.recognize.streaming import Listener, LocalSession, Said, chunk_setting, pace_setting

_CTC = (
    "dolphin_ctc fire_red_asr_ctc medasr_ctc nemo_ctc omnilingual_asr_ctc paraformer sense_voice tdnn_ctc"
    " telespeech_ctc wenet_ctc zipformer_ctc"
)
KINDS: dict[str, tuple[str, ...]] = {
    "transducer": ("encoder", "decoder", "joiner"),
    "moonshine": ("preprocess", "encode", "uncached_decode", "cached_decode"),
    "qwen3_asr": ("conv_frontend", "encoder", "decoder", "tokenizer"),
    "funasr_nano": ("encoder_adaptor", "llm", "embedding", "tokenizer"),
    **dict.fromkeys(
        ("whisper", "moonshine_v2", "fire_red_asr", "nemo_canary", "cohere_transcribe"),
        ("encoder", "decoder"),
    ),
    **dict.fromkeys(_CTC.split(), ("model",)),
}
"""The parts of each kind of model: a file's name holds the part's name, as in the releases of sherpa-onnx."""

_ARGUMENTS = {
    "preprocess": "preprocessor",
    "encode": "encoder",
    "uncached_decode": "uncached_decoder",
    "cached_decode": "cached_decoder",
}
_TOLD = ("whisper", "sense_voice", "nemo_canary", "cohere_transcribe", "funasr_nano")
"""Kinds that can be told the language of the speech."""


@dataclass(frozen=True)
class SherpaOnnx(LocalModel):
    description = (
        "sherpa-onnx: transducers, CTC, Whisper, Canary, Qwen3-ASR and more from ONNX files, any CPU."
    )
    engine = "sherpa_onnx"
    requires = ("sherpa_onnx",)
    decoding = 1
    aside = LocalModel.aside | {"int8"}  # which files: told by their bytes
    # One at a time: padding to the longest of a batch would change an answer.

    model: str = setting(
        help="folder of a model (its .onnx or .ort files and tokens.txt), or hf:csukuangfj/...", path=True
    )
    revision: str = revision()
    kind: str = setting("transducer", help=", ".join(KINDS), choices=tuple(KINDS))
    int8: bool = setting(False, help="take the *.int8.onnx files where there are both")
    language: str = setting("", help="language of the speech, such as en: " + ", ".join(_TOLD))
    decoding_method: str = setting("greedy_search", help="or modified_beam_search, for transducers")
    longest: float = longest()
    threads: int = threads()

    @property
    def takes_language(self) -> bool:
        """Whether models of this kind can be told what is spoken."""
        return self.kind in _TOLD

    def source(self) -> tuple[Path, str]:
        """Return the folder; the identity is that of the files in use, of which a folder may have more."""
        folder, identity = super().source()
        files = self.files(folder)
        return folder, sha256(*files.values()) if "@" not in identity else f"{identity} int8={self.int8}"

    def files(self, folder: Path) -> dict[str, Path]:
        """Return the files of the model's parts, by the name of the library's argument."""
        files = {_ARGUMENTS.get(part, part): self._part(folder, part) for part in KINDS[self.kind]}
        if self.kind == "paraformer":
            files = {"paraformer": files["model"]}
        if "tokenizer" not in files:
            files["tokens"] = find_file(folder, "tokens", endings=("txt",))
        return files

    def open(self, path: Path) -> Transcriber:
        """Load the model with the library's constructor for its kind."""
        import sherpa_onnx

        make = getattr(sherpa_onnx.OfflineRecognizer, f"from_{self.kind}")
        options: dict[str, Any] = {"num_threads": self.threads, "decoding_method": self.decoding_method}
        if self.language and self.kind == "nemo_canary":
            options |= {"src_lang": self.language, "tgt_lang": self.language}
        elif self.language:
            options["language"] = self.language
        unknown = [name for name in options if name not in inspect.signature(make).parameters]
        if unknown:
            raise RecognizerError(f"recognizer 'sherpa_onnx': {self.kind} has no {unknown[0]}")
        recognizer: Any = make(**{name: str(file) for name, file in self.files(path).items()}, **options)

        def hear(samples: Samples) -> str:
            stream = recognizer.create_stream()
            stream.accept_waveform(self.rate, samples)
            recognizer.decode_stream(stream)
            return str(stream.result.text)

        return self.one_by_one(hear)

    def _part(self, folder: Path, part: str) -> Path:
        if part == "tokenizer":  # a folder beside the models, as of a language model
            return _one(folder, sorted({file.parent for file in folder.glob("*/vocab.json")}), "*/vocab.json")
        return find_file(folder, part, int8=self.int8)


def find_file(
    folder: Path, part: str, *, int8: bool = False, endings: Sequence[str] = ("onnx", "ort")
) -> Path:
    """Return the one file of a part of a model, by its name; none or several raise one line."""
    found = sorted(file for ending in endings for file in folder.glob(f"*{part}*.{ending}"))
    if part == "cached_decode":
        found = [file for file in found if "uncached_decode" not in file.name]
    both = [file for file in found if (".int8." in file.name) is int8]
    return _one(folder, both or found, f"*{part}*.{endings[0]}")


def _one(folder: Path, files: Sequence[Path], pattern: str) -> Path:
    if len(files) != 1:
        raise RecognizerError(
            f"{folder}: {len(files)} files {pattern} there; recognizer 'sherpa_onnx' needs one"
            " (is `kind` right? keep one model per folder)"
        )
    return files[0]


# Online models: partial texts chunk by chunk, a final one where the engine finds an end.

TAIL = 0.66
"""Seconds of silence after the audio, in which models that look ahead say their last words."""

ONLINE_KINDS: dict[str, tuple[str, ...]] = {
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
    kind: str = setting("transducer", help=", ".join(ONLINE_KINDS), choices=tuple(ONLINE_KINDS))
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
        parts = {part: find_file(folder, part, int8=self.int8) for part in ONLINE_KINDS[self.kind]}
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
        self._stream.accept_waveform(SherpaOnnxStreaming.rate, np.ascontiguousarray(samples, np.float32))
        self._decode()
        final = bool(self._recognizer.is_endpoint(self._stream))
        self._say(final)
        if final:
            self._recognizer.reset(self._stream)

    def end(self) -> None:
        self._stream.accept_waveform(
            SherpaOnnxStreaming.rate, np.zeros(round(TAIL * SherpaOnnxStreaming.rate), np.float32)
        )
        self._stream.input_finished()
        self._decode()
        self._say(final=True)
        self.over = True

    def _decode(self) -> None:
        while self._recognizer.is_ready(self._stream):
            self._recognizer.decode_stream(self._stream)

    def _say(self, final: bool) -> None:
        self.waiting.append(Said(self._recognizer.get_result(self._stream).strip(), final))
