"""Moonshine, run directly from its ONNX files: a small neural recognizer for English on any CPU.

Its files are fetched (`voxaudit models fetch moonshine-tiny`, or `moonshine-base`). Those of tiny-en also come inside
the package `moonshine-voice` 0.1.0, which is never imported (it wants a sound card).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Audio, Samples
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript
from voxaudit.recognize.files import package_folder, package_version, require_packages, sha256
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import setting, threads
from voxaudit.recognize.weights.fetch import model_source

RATE = 16_000
LONGEST = 30.0
BEGIN, END = 1, 2
SPARE_TOKENS = 8


@dataclass(frozen=True)
class Moonshine(LocalModel):
    description = "Moonshine tiny-en or base: small neural recognizer, English, any CPU."
    engine = "moonshine"
    requires = ("onnxruntime",)
    decoding = 1
    shortest = 0.1
    # One at a time: activations are quantized over the whole batch, so company would change an answer.

    model: str = setting(
        "tiny-en",
        help="tiny-en or base, once fetched, or a folder with the files",
        path=True,
    )
    threads: int = threads()
    tokens_per_second: float = setting(
        13.0, help="where a repeating answer is cut, per second of audio", above=0
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the models that are known here; empty (any) of a folder."""
        return ("en",) if self.model in ("tiny-en", "base") else ()

    def source(self) -> tuple[Path, str]:
        """Return the folder of the files, which may be inside a package, and their identity."""
        require_packages(type(self))
        folder = Path(self.model)
        if not folder.is_dir():
            package = package_folder("moonshine_voice")
            inside = None if package is None else package / "assets" / self.model
            folder = (
                model_source("moonshine", self.model)[0] if inside is None or not inside.is_dir() else inside
            )
        return folder, sha256(*_files(folder))

    def fingerprint(self) -> dict[str, str]:
        """The three model files, the runtime's version and what limits decoding. Threads change nothing."""
        return {
            "engine": self.engine,
            "decoding": str(self.decoding),
            "model": self.source()[1],
            "onnxruntime": package_version("onnxruntime"),
            "tokens_per_second": repr(self.tokens_per_second),
        }

    def open(self, path: Path) -> Transcriber:
        """Load encoder, decoder and vocabulary."""
        encoder, decoder, vocabulary = _files(path)
        return _Model(self, encoder, decoder, read_vocabulary(vocabulary))


def _files(folder: Path) -> list[Path]:
    return [_find(folder, name) for name in ("encoder_model", "decoder_model_merged", "tokenizer")]


def _find(folder: Path, name: str) -> Path:
    for ending in (".bin",) if name == "tokenizer" else (".ort", ".onnx"):
        if (folder / (name + ending)).is_file():
            return folder / (name + ending)
    raise RecognizerError(
        f"{folder}: no {name} file there; a Moonshine model has encoder, decoder and tokenizer.bin"
    )


def read_vocabulary(path: Path) -> list[bytes]:
    """Return the pieces of text by token number: each is stored as one byte of length, then its UTF-8 bytes."""
    data = path.read_bytes()
    pieces, position = [], 0
    while position < len(data):
        end = position + 1 + data[position]
        if data[position] > 127 or end > len(data):
            raise RecognizerError(f"{path}: not a vocabulary this version can read (at byte {position})")
        pieces.append(data[position + 1 : end])
        position = end
    return pieces


def spell(tokens: Sequence[int], vocabulary: Sequence[bytes]) -> str:
    """Return the text of tokens: control tokens are left out, U+2581 stands for a space."""
    pieces = (vocabulary[token] for token in tokens if token > END)
    joined = b"".join(piece for piece in pieces if not piece.startswith(b"<<ST_"))
    return joined.decode("utf-8", "replace").replace("\u2581", " ").strip()


class _Model:
    def __init__(self, settings: Moonshine, encoder: Path, decoder: Path, vocabulary: list[bytes]) -> None:
        self._encoder = _session(encoder, settings.threads)
        self._decoder = _session(decoder, settings.threads)
        self._vocabulary = vocabulary
        self._settings = settings
        inputs = {value.name: value.shape for value in self._decoder.get_inputs()}
        self._outputs = [value.name for value in self._decoder.get_outputs()]
        self._pasts = [name.replace("present", "past_key_values") for name in self._outputs[1:]]
        self._empty = {
            name: np.zeros((1, inputs[name][1], 0, inputs[name][3]), np.float32) for name in self._pasts
        }
        # The encoder's keys and values stay the same from the second step on: not asked for, they are not copied.
        self._step_outputs = [name for name in self._outputs if ".encoder." not in name]
        self._step_pasts = [name for name in self._pasts if ".encoder." not in name]
        self._masked = "encoder_attention_mask" in inputs
        self._encoder_masked = "attention_mask" in {value.name for value in self._encoder.get_inputs()}

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        texts, tokens, logprob = [], 0, 0.0
        for piece in self._settings.pieces(audio, LONGEST):
            found, likelihood = self._decode(piece)
            texts.append(spell(found, self._vocabulary))
            tokens += len(found) + 1
            logprob += likelihood
        return Transcript(" ".join(filter(None, texts)), confidence=math.exp(logprob / tokens))

    def _decode(self, samples: Samples) -> tuple[list[int], float]:
        """Return the most likely next token, again and again, and the sum of their log probabilities."""
        signal = samples[np.newaxis]
        mask = {"attention_mask": np.ones(signal.shape, np.int64)} if self._encoder_masked else {}
        (hidden,) = self._encoder.run(None, {"input_values": signal, **mask})
        token = np.array([[BEGIN]], np.int64)
        feed: dict[str, Any] = {"input_ids": token, "encoder_hidden_states": hidden, **self._empty}
        feed["use_cache_branch"] = np.array([False])
        if self._masked:  # one 1 is spread over the whole length: there is no padding to hide
            feed["encoder_attention_mask"] = np.ones((1, 1), np.int64)
        logits, *present = self._decoder.run(self._outputs, feed)
        feed.update(zip(self._pasts, present, strict=True))
        feed["use_cache_branch"] = np.array([True])
        most = int(len(samples) / RATE * self._settings.tokens_per_second) + SPARE_TOKENS
        tokens: list[int] = []
        logprob = 0.0
        while True:
            scores = logits[0, -1]
            best = int(scores.argmax())
            logprob -= math.log(float(np.exp(scores - scores[best]).sum()))
            if best == END or len(tokens) == most:
                return tokens, logprob
            tokens.append(best)
            token[0, 0] = best
            logits, *present = self._decoder.run(self._step_outputs, feed)
            feed.update(zip(self._step_pasts, present, strict=True))


def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False  # every clip has its own shapes: patterns would only be collected
    options.log_severity_level = 4
    # Threads that wait actively take the cores of the other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RecognizerError(f"{path}: onnxruntime cannot load this model ({error})") from error
