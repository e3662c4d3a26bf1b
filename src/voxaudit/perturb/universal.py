"""Universal perturbations: one noise, made to mislead a recognizer whatever is said, kept as an audio file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio, Samples, read, resample, write
from voxaudit.errors import VoxauditError
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.noise import add_at_snr, measured_snr
from voxaudit.perturb.sources.base import IS_SOURCE, NoiseSource, Signal
from voxaudit.tables import read_json

SEVERITIES = {1: 40.0, 2: 30.0, 3: 20.0, 4: 10.0}
"""Signal-to-noise ratios in dB of the attacks' severities (SRB, Table 2)."""


class UniversalNoise(NoiseSource):
    """Saved universal perturbations: one, or one for each SNR it was made at, of which the nearest is taken.

    A noise is added from its first sample on, repeated or cut to the speech's length.
    """

    def __init__(self, noises: Mapping[float, Audio], folder: str = "", about: str = "") -> None:
        if not noises or not all(np.any(audio.samples) for audio in noises.values()):
            raise VoxauditError("a universal perturbation cannot be empty or silent")
        self.noises = dict(sorted(noises.items()))
        self.folder = folder
        self.about = about
        summary = hashlib.sha256()
        for snr, audio in self.noises.items():
            summary.update(f"{snr if len(noises) > 1 else ''} {audio.rate} {len(audio.samples)} ".encode())
            summary.update(audio.samples.astype("<f4").tobytes())
        self._digest = summary.hexdigest()[:16]

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return `length` samples at `rate` Hz of the noise for the lowest SNR; nothing is drawn at random."""
        return self.at(next(iter(self.noises)), length, rate)

    def at(self, snr: float, length: int, rate: int) -> Signal:
        """Return `length` samples at `rate` Hz of the noise that was made nearest to `snr` dB."""
        nearest = min(self.noises, key=lambda made: (abs(made - snr), made))
        return np.resize(resample(self.noises[nearest], rate).samples, length).astype(np.float64)

    def describe(self) -> str:
        """Return one line: how many noises, how long, and what they were made against."""
        longest = max(audio.duration for audio in self.noises.values())
        count = (
            f"{len(self.noises)} universal perturbations"
            if len(self.noises) > 1
            else "universal perturbation"
        )
        return f"{count} of {longest:.2f} s{self.about and f', made against {self.about}'}"

    def fingerprint(self) -> str:
        """Return a digest of the samples and their rate: not where the file lies."""
        return f"universal {self._digest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniversalNoise) and other._digest == self._digest

    def __hash__(self) -> int:
        return hash(self._digest)


@dataclass(frozen=True)
class Universal(Perturbation):
    """Power is taken over the whole clip, so the SNR asked for is the SNR that comes out. Silence stays silence."""

    family: ClassVar[str] = "attack"
    does = "A universal perturbation at {snr:g} dB: the same noise for every utterance (SRB, utterance-agnostic attack)"
    units: ClassVar[Mapping[str, str]] = {"snr": "dB"}
    severities = tuple({"snr": snr} for snr in SEVERITIES.values())

    snr: float
    source: UniversalNoise = field(metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus the noise; what exceeds full scale is kept, as float audio allows it."""
        return add_at_snr(samples, self.source.at(self.snr, len(samples), rate), self.snr)

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`."""
        return measured_snr(before, after)


def save_universal(path: str | Path, audio: Audio, about: dict[str, Any]) -> None:
    """Write the noise as a WAV of 32-bit floats, and what is known about it as JSON beside it."""
    path = Path(path)
    if path.suffix.lower() != ".wav":
        raise VoxauditError(f"{path}: a universal perturbation is saved as .wav")
    write(path, audio, subtype="FLOAT")
    text = json.dumps(
        {"format": 1, "kind": "universal", "rate": audio.rate, **about}, indent=2, ensure_ascii=False
    )
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def open_universal(path: str | Path) -> UniversalNoise:
    """Read a saved universal perturbation, or a folder of them, each made at another SNR.

    A single file needs no JSON beside it; in a folder the JSON says at which SNR each was made.
    """
    path = Path(path)
    files = sorted(path.glob("*.wav")) if path.is_dir() else [path]
    if not files:
        raise VoxauditError(f"{path}: no universal perturbation (.wav) in this folder")
    noises: dict[float, Audio] = {}
    against: set[str] = set()
    for file in files:
        audio, about = read(file), _about(file)
        if not np.any(audio.samples):
            raise VoxauditError(f"{file}: the audio is silent, so it perturbs nothing")
        snr = about.get("snr")
        if not isinstance(snr, int | float):
            if len(files) > 1:
                raise VoxauditError(
                    f"{file}: no SNR is known of it; the JSON beside it must have a number 'snr'"
                )
            snr = 0.0
        if float(snr) in noises:
            raise VoxauditError(f"{file}: another file of this folder was made at {snr:g} dB too")
        noises[float(snr)] = audio
        against |= {str(about["recognizer"])} if "recognizer" in about else set()
    return UniversalNoise(noises, str(path.absolute()), ", ".join(sorted(against)))


def _about(file: Path) -> dict[str, Any]:
    beside = file.with_suffix(".json")
    if not beside.is_file():
        return {}
    about = read_json(beside)
    if not isinstance(about, dict):
        raise VoxauditError(f"{beside}: a mapping is expected, not {type(about).__name__}")
    return about
