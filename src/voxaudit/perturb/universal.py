"""Universal perturbations: one short noise, made to mislead a recognizer whatever is said, and kept as an audio file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio, Samples, read, resample, write
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.noise import add_at_snr, measured_snr
from voxaudit.perturb.sources.base import IS_SOURCE, NoiseSource, Signal

SEVERITIES = {1: 40.0, 2: 30.0, 3: 20.0, 4: 10.0}
"""Signal-to-noise ratios in dB of the attacks' severities (SRB, Table 2)."""


class UniversalNoise(NoiseSource):
    """The noise of a saved universal perturbation, from its first sample on, repeated or cut to the speech's length."""

    def __init__(self, audio: Audio, folder: str = "", about: str = "") -> None:
        if not len(audio.samples) or not np.any(audio.samples):
            raise VoxauditError("a universal perturbation cannot be empty or silent")
        self.audio = audio
        self.folder = folder
        self.about = about
        content = audio.samples.astype("<f4").tobytes() + f" {audio.rate}".encode()
        self._digest = hashlib.sha256(content).hexdigest()[:16]

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return `length` samples at `rate` Hz; nothing is drawn at random."""
        return np.resize(resample(self.audio, rate).samples, length).astype(np.float64)

    def describe(self) -> str:
        """Return one line: how long it is, and what it was made against."""
        return f"universal perturbation of {self.audio.duration:.2f} s{self.about and f' ({self.about})'}"

    def fingerprint(self) -> str:
        """Return a digest of the samples and their rate: not where the file lies."""
        return f"universal {self._digest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniversalNoise) and other._digest == self._digest

    def __hash__(self) -> int:
        return hash(self._digest)


@dataclass(frozen=True)
class Universal(Perturbation):
    """A universal perturbation at `snr` dB (SRB, utterance-agnostic attack): the same noise for every utterance.

    Power is taken over the whole clip, so the SNR asked for is the SNR that comes out. Silence stays silence.
    """

    name: ClassVar[str] = "universal"
    family: ClassVar[str] = "attack"
    severities = tuple({"snr": snr} for snr in SEVERITIES.values())

    snr: float
    source: UniversalNoise = field(metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus the noise; what exceeds full scale is kept, as float audio allows it."""
        return add_at_snr(samples, self.source.draw(len(samples), rate, generator), self.snr)

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`."""
        return measured_snr(before, after)


def save_universal(path: str | Path, audio: Audio, about: dict[str, Any]) -> None:
    """Write the noise as a WAV of 32-bit floats, and what is known about it as JSON beside it."""
    path = Path(path)
    if path.suffix.lower() != ".wav":
        raise VoxauditError(f"{path}: a universal perturbation is saved as .wav")
    write(path, audio, subtype="FLOAT")
    text = json.dumps({"format": 1, "kind": "universal", "rate": audio.rate, **about}, indent=2, ensure_ascii=False)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def open_universal(path: str | Path) -> UniversalNoise:
    """Read a saved universal perturbation: any audio file will do, the JSON beside it only describes it."""
    path = Path(path)
    audio = read(path)
    beside = path.with_suffix(".json")
    about: dict[str, Any] = {}
    if beside.is_file():
        try:
            about = json.loads(beside.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise VoxauditError(f"{beside}: cannot read this file ({one_line(error, 200)})") from error
        if not isinstance(about, dict):
            raise VoxauditError(f"{beside}: a mapping is expected, not {type(about).__name__}")
    if not np.any(audio.samples):
        raise VoxauditError(f"{path}: the audio is silent, so it is no perturbation")
    made = f"made against {about['recognizer']} at {about['snr']:g} dB" if {"recognizer", "snr"} <= about.keys() else ""
    return UniversalNoise(audio, str(path.absolute()), made)
