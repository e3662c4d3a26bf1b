"""Noise from recordings at a given signal-to-noise ratio: surroundings, music and other people talking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.noise import add_at_snr, in_decibels, measured_snr
from voxaudit.perturb.sources import builtin
from voxaudit.perturb.sources.base import IS_SOURCE, NoiseSource


@dataclass(frozen=True)
class Recorded(Perturbation):
    """Noise of a source at `snr` dB (SRB appendix A): a clip drawn at random, cut or repeated to the speech's length.

    Power is taken over the whole clip, so the SNR asked for is the SNR that comes out. What exceeds full
    scale is kept, as float audio allows it. Silence has no SNR and stays silence.
    """

    family: ClassVar[str] = "noise"
    units: ClassVar[Mapping[str, str]] = {"snr": "dB"}
    severities = ({"snr": 30.0}, {"snr": 20.0}, {"snr": 10.0}, {"snr": 0.0})
    random: ClassVar[bool] = True

    snr: float = in_decibels()
    source: NoiseSource = field(default=builtin.OFFICE, metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return speech plus noise."""
        return add_at_snr(samples, self.source.draw(len(samples), rate, generator), self.snr)

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return the signal-to-noise ratio that came out, `snr_db`."""
        return measured_snr(before, after)

    def for_utterance(self, utterance: str) -> Perturbation:
        """Return the perturbation with the source as it is for this utterance."""
        source = self.source.for_utterance(utterance)
        return self if source is self.source else replace(self, source=source)


@dataclass(frozen=True)
class EnvironmentMsSnsd(Recorded):
    does = "Noise of offices and public places at {snr:g} dB (MS-SNSD in SRB)"
    source: NoiseSource = field(default=builtin.OFFICE, metadata=IS_SOURCE)


@dataclass(frozen=True)
class EnvironmentEsc50(Recorded):
    does = "Sounds of nature, households and towns at {snr:g} dB (ESC-50 in SRB)"
    source: NoiseSource = field(default=builtin.NATURE, metadata=IS_SOURCE)


@dataclass(frozen=True)
class EnvironmentMusan(Recorded):
    does = "Technical noises and sounds from outside at {snr:g} dB (the noise part of MUSAN in SRB)"
    source: NoiseSource = field(default=builtin.TECHNICAL, metadata=IS_SOURCE)


@dataclass(frozen=True)
class EnvironmentWham(Recorded):
    does = "Cafés, bars and streets at {snr:g} dB (WHAM! in SRB)"
    source: NoiseSource = field(default=builtin.TOWN, metadata=IS_SOURCE)


@dataclass(frozen=True)
class Music(Recorded):
    does = "Music in the background at {snr:g} dB (the music part of MUSAN in SRB)"
    source: NoiseSource = field(default=builtin.MUSIC, metadata=IS_SOURCE)


@dataclass(frozen=True)
class Crosstalk(Recorded):
    does = (
        "Somebody else talking at {snr:g} dB: in a run, other speakers of the corpus (MUSAN's speech in SRB)"
    )
    source: NoiseSource = field(default=builtin.TALKERS, metadata=IS_SOURCE)
