"""What is asked of an attack."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from voxaudit.audits.attack.base import AttackError
from voxaudit.audits.attack.pgd import Pgd
from voxaudit.audits.attack.universal import UniversalSettings
from voxaudit.corpus import Corpus

METHODS = ("pgd", "universal", "blackbox")


@dataclass(frozen=True)
class Plan:
    """What is asked: the method, the SNRs in dB, and the settings of each method.

    The SNR in `pgd` and `universal` is replaced by each of `snrs`. `target` is the text that PGD shall make heard;
    `dev` the corpus a universal perturbation is found on (without one, half of the speakers).
    """

    method: str = "pgd"
    snrs: tuple[float, ...] = (40.0, 30.0, 20.0, 10.0)
    target: str | None = None
    pgd: Pgd = field(default_factory=lambda: Pgd(20.0))
    universal: UniversalSettings = field(default_factory=lambda: UniversalSettings(20.0))
    dev: Corpus | None = None
    queries: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AttackError(f"method must be one of {', '.join(METHODS)}, not '{self.method}'")
        if self.target is not None and self.method != "pgd":
            raise AttackError(f"--target needs --method pgd: {self.method} cannot aim at a text")
        if not self.snrs or not all(np.isfinite(snr) for snr in self.snrs):
            raise AttackError("give at least one SNR in dB, all finite, such as 40,30,20,10")
