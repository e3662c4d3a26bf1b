"""Recognizers behind one protocol: settings in, a function from audio to transcripts out, loaded only when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import (
    AnswersById,
    MissingModelError,
    Recognizer,
    RecognizerError,
    Transcriber,
    Transcript,
    UtteranceError,
    Word,
    as_transcript,
    as_transcripts,
)
from voxaudit.recognize.files import installed
from voxaudit.recognize.settings import anchor, build, describe_settings, setting, settings_of, split_spec
from voxaudit.registry import Registry

__all__ = [
    "ENGINES",
    "AnswersById",
    "Engine",
    "MissingModelError",
    "Recognizer",
    "RecognizerError",
    "Transcriber",
    "Transcript",
    "UtteranceError",
    "Word",
    "anchor",
    "as_transcript",
    "as_transcripts",
    "describe_engines",
    "make_recognizer",
    "parse_spec",
    "require",
    "setting",
    "settings_of",
]

ENGINES = Registry(
    "recognizer",
    {
        "moonshine": "voxaudit.recognize.moonshine:Moonshine",
        "pocketsphinx": "voxaudit.recognize.pocketsphinx:PocketSphinx",
        "vosk": "voxaudit.recognize.vosk:Vosk",
        "faster_whisper": "voxaudit.recognize.whisper:FasterWhisper",
        "whisper": "voxaudit.recognize.whisper:Whisper",
        "whisper_cpp": "voxaudit.recognize.whisper_cpp:WhisperCpp",
        "transformers": "voxaudit.recognize.transformers:Transformers",
        "sherpa_onnx": "voxaudit.recognize.sherpa_onnx:SherpaOnnx",
        "speechbrain": "voxaudit.recognize.speechbrain:SpeechBrain",
        "nemo": "voxaudit.recognize.nemo:Nemo",
        "onnx_asr": "voxaudit.recognize.onnx_asr:OnnxAsr",
        "funasr": "voxaudit.recognize.funasr:FunASR",
        "mlx_whisper": "voxaudit.recognize.whisper:MlxWhisper",
        "command": "voxaudit.recognize.command:Command",
        "python": "voxaudit.recognize.python:PythonFunction",
        "openai": "voxaudit.recognize.services.openai:OpenAI",
        "google": "voxaudit.recognize.services.google:Google",
        "azure": "voxaudit.recognize.services.azure:Azure",
        "watson": "voxaudit.recognize.services.watson:Watson",
        "aws": "voxaudit.recognize.services.aws:AWS",
        "deepgram": "voxaudit.recognize.services.deepgram:Deepgram",
        "assemblyai": "voxaudit.recognize.services.assemblyai:AssemblyAI",
        "elevenlabs": "voxaudit.recognize.services.elevenlabs:ElevenLabs",
        "speechmatics": "voxaudit.recognize.services.speechmatics:Speechmatics",
        "gladia": "voxaudit.recognize.services.gladia:Gladia",
        "revai": "voxaudit.recognize.services.revai:RevAI",
        "vosk_streaming": "voxaudit.recognize.vosk:VoskStreaming",
        "sherpa_onnx_streaming": "voxaudit.recognize.sherpa_onnx:SherpaOnnxStreaming",
        "vosk_server": "voxaudit.recognize.streaming.websocket:VoskServer",
        "deepgram_streaming": "voxaudit.recognize.streaming.websocket:DeepgramStreaming",
        "transcripts": "voxaudit.recognize.transcripts:TranscriptFile",
    },
    "voxaudit.recognizers",
)
"""The engines by name. An installed package adds its own through the entry-point group `voxaudit.recognizers`."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What can be said about an engine without loading it; `settings` maps each to its help."""

    name: str
    description: str
    installed: bool
    extra: str
    settings: dict[str, str]


def make_recognizer(
    spec: str | Mapping[str, Any] | Recognizer | Callable[..., Any], **settings: Any
) -> Recognizer:
    """Return the recognizer that `spec` means, with `settings` on top of its own. Nothing heavy is loaded.

    `spec` is text (`moonshine:threads=2`), a mapping with `engine` and settings (a section of `audit.toml`),
    a recognizer, or a Python function `(samples, rate) -> text`.
    """
    if isinstance(spec, str):
        engine, own = parse_spec(spec)
        return _build(engine, {**own, **settings})
    if isinstance(spec, Mapping):
        own = dict(spec)
        engine = own.pop("engine", "")
        if not isinstance(engine, str) or not engine:
            raise RecognizerError(f"a recognizer needs an engine. Available: {', '.join(ENGINES.names())}")
        return _build(engine, {**own, **settings})
    if isinstance(spec, type) and hasattr(spec, "fingerprint"):
        return _recognizer(build(spec, spec.__name__, settings), spec.__name__)
    if isinstance(spec, Recognizer):
        return (
            _recognizer(build(type(spec), type(spec).__name__, {**settings_of(spec), **settings}), "")
            if settings
            else spec
        )
    if callable(spec):
        from voxaudit.recognize.python import reference_to

        return _build("python", {"callable": reference_to(spec), **settings})
    raise RecognizerError(
        f"a recognizer is text such as 'moonshine', a mapping or a function, not {type(spec).__name__}"
    )


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Return (engine, settings) of a line such as `moonshine:threads=2` or `command:my-asr {audio}`.

    A first value without `key=` is the engine's main setting (its class attribute `main`).
    """
    engine, unnamed, settings = split_spec(text)
    if unnamed:
        main = getattr(_load(engine), "main", "")
        if not main:
            raise RecognizerError(
                f"recognizer '{engine}': key=value expected, not '{one_line(unnamed, 60)}'."
                f" Settings: {', '.join(describe_settings(_load(engine)))}"
            )
        if main in settings:
            raise RecognizerError(f"recognizer '{engine}': setting '{main}' is given twice")
        settings = {main: unnamed, **settings}
    return engine, settings


def require(recognizer: Recognizer) -> None:
    """Raise one line if the recognizer lacks a package, a file or a key: before a run starts, nothing loaded."""
    check = getattr(recognizer, "require", None)
    if check is not None:
        check()


def describe_engines() -> list[Engine]:
    """Return all engines with what they need and their settings; no engine's library is imported."""
    return [_describe(name) for name in ENGINES.names()]


def _describe(name: str) -> Engine:
    try:
        kind = _load(name)
    except VoxauditError as error:
        return Engine(name, one_line(error), False, "", {})
    description = getattr(kind, "description", "") or name
    there = all(installed(module) for module in getattr(kind, "requires", ()))
    return Engine(name, description, there, getattr(kind, "extra", ""), describe_settings(kind))


def _load(engine: str) -> Any:
    try:
        return ENGINES.load(engine)
    except VoxauditError as error:
        raise RecognizerError(error.message, see=error.see) from error


def _build(engine: str, settings: Mapping[str, Any]) -> Recognizer:
    return _recognizer(build(_load(engine), engine, settings), engine)


def _recognizer(made: Any, engine: str) -> Recognizer:
    if not isinstance(made, Recognizer):
        raise RecognizerError(
            f"'{engine}' is not a recognizer: it needs rate, batch_size, fingerprint() and load()"
        )
    return made
