"""What a perturbation is: a frozen dataclass whose fields are its parameters and its serialized form."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.options import Range, out_of_range


def parameter(default: Any = MISSING, *, note: str = "", **limits: float) -> Any:
    """Return the field of a parameter that may have certain values only: `limits` are the fields of `Range`.

    `note` says what they are, where the parameter's unit does not.
    """
    return field(default=default, metadata={"range": Range(**limits), "note": note})


@dataclass(frozen=True)
class Perturbation(ABC):
    """A pure function on (samples, rate, generator).

    A subclass is a frozen dataclass with numeric fields (`parameter` bounds them), and perhaps a `source` of noise or
    rooms. Unless it says otherwise, `name` is that of the class (`PacketLoss`: packet_loss) and `family` that of its
    module. `does` says in one sentence, without a full stop, what it does, with the values of its fields filled in
    (`{snr:g}`; `{theta.inverse:g}` is 1 / theta), and in brackets at its end the paper it comes from; `units` gives the
    fields' units. `severities` gives the fields of severity 1, 2, ... as the paper lists them. Raise `version` when the
    same settings give other samples than before: it is part of a trial's key, so nothing stale is taken from the cache.
    Where `speech` is False nothing is left of what was said: a recognizer must stay silent, and is scored against an
    empty reference.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    does: ClassVar[str] = ""
    units: ClassVar[Mapping[str, str]] = {}
    severities: ClassVar[tuple[Mapping[str, float], ...]] = ()
    random: ClassVar[bool] = False
    version: ClassVar[int] = 1
    speech: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if not hasattr(cls, "family"):
            cls.family = cls.__module__.rpartition(".")[2]

    def __post_init__(self) -> None:
        if (wrong := out_of_range(self)) is not None:
            one, allowed = wrong
            note = one.metadata["note"] or self.units.get(one.name, "")
            raise ValueError(f"{one.name} must be {allowed}{f' ({note})' if note else ''}")

    @abstractmethod
    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the perturbed samples; the input is left as it is."""

    def map_time(self, seconds: float) -> float:
        """Return where a moment of the original (in seconds) lies in the perturbed audio."""
        return seconds

    def length(self, samples: int, rate: int) -> int:
        """Return how many samples come out where `samples` go in, at the same rate in Hz."""
        return samples

    def leaves(self, samples: Samples, rate: int) -> bool:
        """Say whether a recording comes out as it went in, as quiet speech that is clipped can."""
        return False

    def achieved(self, before: Samples, after: Samples, rate: int) -> dict[str, float]:
        """Return what was measured of the disturbance, by name with its unit, such as `{"snr_db": 20.0}`.

        Empty where there is nothing to measure. Silence has no signal-to-noise ratio.
        """
        return {}

    def measure(self, samples: Samples, rate: int, generator: np.random.Generator) -> dict[str, float]:
        """Return what is `achieved` on these samples, with the draws that a call with this generator makes.

        Where more than the audio must be known to measure, such as a room's response, a subclass answers itself.
        """
        return self.achieved(samples, self(samples, rate, generator), rate)

    def for_utterance(self, utterance: str) -> Perturbation:
        """Return the perturbation as it is for one utterance; most are the same for all."""
        return self


def trial_generator(seed: int, scenario: str, utterance: str) -> np.random.Generator:
    """Return the random generator of a trial, a function of (run seed, scenario id, utterance id) only.

    PCG64 seeded from SHA-256: the same stream on every platform, in any order and process.
    """
    parts = (str(seed), scenario, utterance)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
