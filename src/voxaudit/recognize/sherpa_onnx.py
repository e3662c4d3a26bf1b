"""sherpa-onnx: offline recognizers of many kinds from ONNX files, on any CPU, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import check_settings, setting, threads
from voxaudit.recognize.split import split_at_pauses

DECODING = 1
"""Raise when the same model and settings give other text than before: cached transcripts are then not used."""

RATE = 16_000
SHORTEST = 3_200

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
class SherpaOnnx:
    """The recognizer `sherpa_onnx`: its fields are its settings."""

    description: ClassVar[str] = (
        "sherpa-onnx: transducers, CTC, Whisper, Canary, Qwen3-ASR and more from ONNX files, any CPU."
    )
    extra: ClassVar[str] = "sherpa-onnx"
    requires: ClassVar[tuple[str, ...]] = ("sherpa_onnx",)
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE
    batch_size: ClassVar[int] = 1
    """1: padding to the longest of a batch would change an answer."""

    model: str = setting(help="folder of a model: its .onnx or .ort files and tokens.txt", path=True)
    kind: str = setting("transducer", help=", ".join(KINDS), choices=tuple(KINDS))
    int8: bool = setting(False, help="take the *.int8.onnx files where there are both")
    language: str = setting("", help="language of the speech, such as en: " + ", ".join(_TOLD))
    decoding_method: str = setting("greedy_search", help="or modified_beam_search, for transducers")
    longest: float = setting(
        30.0, help="longer audio is cut at pauses into pieces of at most so many seconds", least=1
    )
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "sherpa_onnx")

    @property
    def takes_language(self) -> bool:
        """Whether models of this kind can be told what is spoken."""
        return self.kind in _TOLD

    def require(self) -> None:
        """Raise one line if the package or a file is missing."""
        self._files()

    def fingerprint(self) -> dict[str, str]:
        """The package's version, the files' bytes and every setting but threads."""
        chosen = ("kind", "language", "decoding_method", "longest")
        return {
            "engine": "sherpa_onnx",
            "decoding": str(DECODING),
            "version": package_version("sherpa-onnx"),
            "model": sha256(*self._files().values()),
            **{name: str(getattr(self, name)) for name in chosen},
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(self, self._files())

    def _files(self) -> dict[str, Path]:
        require_packages(type(self))
        folder = Path(self.model)
        if not folder.is_dir():
            raise RecognizerError(f"recognizer 'sherpa_onnx': no folder '{one_line(self.model, 120)}'")
        files = {_ARGUMENTS.get(part, part): self._part(folder, part) for part in KINDS[self.kind]}
        if self.kind == "paraformer":
            files = {"paraformer": files["model"]}
        if "tokenizer" not in files:
            files["tokens"] = _one(folder, sorted(folder.glob("*tokens.txt")), "tokens.txt")
        return files

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
            " (is `kind` right? keep one model a folder)"
        )
    return files[0]


class _Model:
    def __init__(self, settings: SherpaOnnx, files: dict[str, Path]) -> None:
        import sherpa_onnx

        make = getattr(sherpa_onnx.OfflineRecognizer, f"from_{settings.kind}")
        options: dict[str, Any] = {
            "num_threads": settings.threads,
            "decoding_method": settings.decoding_method,
        }
        if settings.language and settings.kind == "nemo_canary":
            options |= {"src_lang": settings.language, "tgt_lang": settings.language}
        elif settings.language:
            options["language"] = settings.language
        unknown = [name for name in options if name not in inspect.signature(make).parameters]
        if unknown:
            raise RecognizerError(f"recognizer 'sherpa_onnx': {settings.kind} has no {unknown[0]}")
        try:
            self._recognizer: Any = make(**{name: str(path) for name, path in files.items()}, **options)
        except (RuntimeError, ValueError) as error:
            raise RecognizerError(
                f"{settings.model}: sherpa-onnx cannot load this ({one_line(error)})"
            ) from error
        self._longest = settings.longest

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        texts = []
        for piece in split_at_pauses(audio.samples, RATE, self._longest):
            stream = self._recognizer.create_stream()
            stream.accept_waveform(RATE, np.ascontiguousarray(at_least(piece, SHORTEST), np.float32))
            self._recognizer.decode_stream(stream)
            texts.append(stream.result.text.strip())
        return Transcript(" ".join(filter(None, texts)))
