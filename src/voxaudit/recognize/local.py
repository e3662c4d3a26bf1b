"""What recognizers that run here share: where their model is, what their answers depend on, one utterance at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio, Samples
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, UtteranceError
from voxaudit.recognize.files import package_version, require_packages
from voxaudit.recognize.pcm import at_least, split_at_pauses
from voxaudit.recognize.settings import check_settings
from voxaudit.recognize.weights.fetch import is_name, model_source

Hear = Callable[[Samples], Transcript | str]
"""A loaded model that hears one recording, at the engine's rate."""


@dataclass(frozen=True)
class WithModel:
    """A loaded engine with its model at hand, for those who need the gradient."""

    model: Any
    transcribe: Transcriber

    def __call__(self, batch: Sequence[Audio]) -> Sequence[Transcript | UtteranceError]:
        """Return what is heard."""
        return self.transcribe(batch)


@dataclass(frozen=True)
class LocalModel:
    """A recognizer that runs from a model's files. An engine's own adds its settings, with `model`, and `open`.

    Unless it says otherwise, its extra and package are called as the engine is.
    """

    description: ClassVar[str] = ""
    engine: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    requires: ClassVar[tuple[str, ...]] = ()
    versions: ClassVar[tuple[str, ...]] = ()
    """The packages whose versions can change an answer, the engine's own first."""
    decoding: ClassVar[int] = 0
    """Raise when the same model and settings give other text than before: cached transcripts are then not used."""
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = 16_000
    shortest: ClassVar[float] = 0.2
    """Seconds: what is shorter is filled up with silence, for many models fail on a handful of samples."""
    one_file: ClassVar[str] = ""
    """The pattern of the model's only file, for engines that want that and not its folder."""
    aside: ClassVar[frozenset[str]] = frozenset({"threads", "model", "revision", "batch_seconds"})
    """Settings that cannot change a text, or are told in another way."""

    def __init_subclass__(cls) -> None:
        if cls.engine:
            cls.extra = cls.extra or cls.engine.replace("_", "-")
            cls.versions = cls.versions or (cls.extra,)

    def __post_init__(self) -> None:
        check_settings(self, self.engine)

    @property
    def batch_size(self) -> int:
        """Utterances per call: the setting `batch` of engines that have it, else 1."""
        return int(getattr(self, "batch", 1))

    def names(self) -> Mapping[str, str]:
        """Return the library's own names of models and the Hub's name of each."""
        return {}

    def is_name(self, model: str) -> bool:
        """Say whether a setting is the name of a model and no path."""
        try:
            return is_name(self.engine, model, self.names)
        except ImportError:  # the library's own names are not known without it
            return is_name(self.engine, model)

    def source(self) -> tuple[Path, str]:
        """Return where the model is, and its identity; raise one line if it, or a package, is missing."""
        require_packages(type(self))
        model, revision = str(getattr(self, self.main)), str(getattr(self, "revision", ""))
        return model_source(self.engine, model, revision, names=self.names, one_file=self.one_file)

    def require(self) -> None:
        """Raise one line if a package or the model is missing."""
        self.source()

    def fingerprint(self) -> dict[str, str]:
        """The versions, the model's bytes (or its commit) and every setting that can change a text."""
        first, *others = self.versions
        known = {"engine": self.engine, **({"decoding": str(self.decoding)} if self.decoding else {})}
        known |= {"version": package_version(first)}
        known |= {name: package_version(name) for name in others}
        chosen = {f.name: str(getattr(self, f.name)) for f in fields(self) if f.name not in self.aside}
        if "device" in chosen:
            chosen["device"] = chosen["device"].partition(":")[0]
        return {**known, "model": self.source()[1], **chosen}

    def load(self) -> Transcriber:
        """Load the model."""
        path = self.source()[0]
        try:
            return self.open(path)
        except VoxauditError:
            raise
        except Exception as error:
            raise RecognizerError(
                f"recognizer '{self.engine}': {path} cannot be loaded ({one_line(error, 300)})"
            ) from error

    def open(self, path: Path) -> Transcriber:
        """Load the model at `path`: whatever it raises becomes one line."""
        raise NotImplementedError

    def one_by_one(self, hear: Hear) -> Transcriber:
        """Return the function of a model that hears one recording at a time.

        What is longer than the setting `longest` is cut at pauses, and the texts are joined by spaces.
        """
        longest = float(getattr(self, "longest", np.inf))

        def transcribe(batch: Sequence[Audio]) -> list[Transcript]:
            return [join([hear(piece) for piece in self.pieces(audio, longest)]) for audio in batch]

        return transcribe

    def pieces(self, audio: Audio, longest: float = np.inf) -> list[Samples]:
        """Return what the model hears of a recording: pieces that are neither too long nor too short for it."""
        whole = audio.duration <= longest
        cut = [audio.samples] if whole else split_at_pauses(audio.samples, audio.rate, longest)
        least = round(self.shortest * audio.rate)
        return [np.ascontiguousarray(at_least(piece, least), np.float32) for piece in cut]


def join(answers: Sequence[Transcript | str]) -> Transcript:
    """Return the answers to a recording's pieces as one; words and confidence only of a single piece."""
    told = [answer if isinstance(answer, Transcript) else Transcript(answer.strip()) for answer in answers]
    return told[0] if len(told) == 1 else Transcript(" ".join(one.text for one in told if one.text))
