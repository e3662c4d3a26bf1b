"""Stuttered test cases as scenarios: a chain is the id, and the run hears, stores and caches it like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from voxaudit.align import Timings
from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.scenario import CLEAN, Scenario, ScenariosOnDemand
from voxaudit.perturb.stutter.base import Clip, StutterError
from voxaudit.perturb.stutter.chain import Chain


@dataclass(frozen=True)
class Stuttered(Perturbation):
    """A recording with a chain of stuttering put in; the timings are those of the utterance it is bound to."""

    name: ClassVar[str] = "stutter"
    family: ClassVar[str] = "stutter"

    chain: Chain
    all_timings: Mapping[str, Timings] = field(repr=False, compare=False)
    clips: tuple[Clip, ...] = field(default=(), repr=False, compare=False)
    utterance: str | None = field(default=None, repr=False)
    timed: str = ""

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples after the chain."""
        if self.utterance is None:
            raise StutterError("a stuttered scenario is heard for one utterance: its timings are needed")
        changed, _ = self.chain(samples, rate, self.all_timings[self.utterance], self.clips)
        return changed

    def for_utterance(self, utterance: str) -> Stuttered:
        """Return the case for one utterance; the timings it uses are part of its identity."""
        timings = self.all_timings[utterance]
        digest = hashlib.sha256(timings.to_json().encode("utf-8", "surrogatepass")).hexdigest()[:16]
        mark = f"{self.chain.version} {digest}"
        return Stuttered(self.chain, self.all_timings, self.clips, utterance, mark)


@dataclass(frozen=True)
class StutterScenarios(ScenariosOnDemand):
    """`clean` and every chain as a scenario, made when it is asked for. `timings` are by utterance id."""

    timings: Mapping[str, Timings]
    clips: tuple[Clip, ...] = ()

    def __getitem__(self, id_: str) -> Scenario:
        if id_ == CLEAN:
            return Scenario(CLEAN, None)
        return Scenario(id_, Stuttered(Chain.parse(id_), self.timings, self.clips))
