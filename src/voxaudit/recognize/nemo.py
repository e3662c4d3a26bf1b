"""NVIDIA NeMo: Parakeet, Canary and the other recognizers of `nemo.collections.asr`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, UtteranceError, counted
from voxaudit.recognize.files import package_version, require_packages, sha256
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import check_settings, setting, threads

RATE = 16_000
SHORTEST = 3_200


@dataclass(frozen=True)
class Nemo:
    """The recognizer `nemo`: its fields are its settings."""

    description: ClassVar[str] = "NVIDIA NeMo: Parakeet, Canary and others from a .nemo file."
    extra: ClassVar[str] = "nemo"
    requires: ClassVar[tuple[str, ...]] = ("nemo", "torch")
    main: ClassVar[str] = "model"
    rate: ClassVar[int] = RATE

    model: str = setting(help="a .nemo file", path=True)
    source_lang: str = setting("", help="Canary: language of the speech, such as en")
    target_lang: str = setting("", help="Canary: language of the text; the same to transcribe")
    pnc: str = setting("", help="Canary: yes or no, punctuation and capitals")
    batch: int = setting(
        1, help="utterances per call; more is faster on a GPU, and padding may change a text", least=1
    )
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def __post_init__(self) -> None:
        check_settings(self, "nemo")

    @property
    def batch_size(self) -> int:
        """`batch`."""
        return self.batch

    def require(self) -> None:
        """Raise one line if the package or the file is missing."""
        self._file()

    def fingerprint(self) -> dict[str, str]:
        """The versions, the file's bytes and every setting but threads."""
        return {
            "engine": "nemo",
            "version": package_version("nemo_toolkit"),
            "torch": package_version("torch"),
            "model": sha256(self._file()),
            "device": self.device.partition(":")[0],
            **{name: str(getattr(self, name)) for name in ("source_lang", "target_lang", "pnc", "batch")},
        }

    def load(self) -> Transcriber:
        """Load the model."""
        return _Model(self, self._file())

    def _file(self) -> Path:
        require_packages(type(self))
        path = Path(self.model)
        if not path.is_file():
            raise RecognizerError(
                f"recognizer 'nemo': no file '{one_line(self.model, 120)}'."
                " Get one with: hf download nvidia/parakeet-tdt-0.6b-v2 --local-dir ."
            )
        return path


class _Model:
    def __init__(self, settings: Nemo, file: Path) -> None:
        import torch
        from nemo.collections.asr.models import ASRModel
        from nemo.utils import logging

        torch.set_num_threads(settings.threads)
        logging.setLevel(logging.ERROR)
        try:
            self.model: Any = ASRModel.restore_from(str(file), map_location=settings.device)
        except Exception as error:
            raise RecognizerError(f"{file}: NeMo cannot load this model ({one_line(error)})") from error
        self.model.eval()
        names = ("source_lang", "target_lang", "pnc")
        self._options = {name: value for name in names if (value := getattr(settings, name))}

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        samples = [np.ascontiguousarray(at_least(audio.samples, SHORTEST), np.float32) for audio in batch]
        answers = self.model.transcribe(samples, batch_size=len(samples), verbose=False, **self._options)
        if isinstance(answers, tuple):  # transducers of older versions: (best, all)
            answers = answers[0]
        return [Transcript(_text(answer)) for answer in counted(answers, len(batch))]


def _text(answer: Any) -> str:
    """Return the text of a `Hypothesis`, or of an older version's plain string."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise UtteranceError(f"NeMo returned {type(answer).__name__} instead of text")
    return text
