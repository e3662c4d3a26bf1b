"""The built-in set: clips made by formula from fixed seeds, so that every scenario runs without any download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.base import trial_generator
from voxaudit.perturb.sources import environment, music, voices
from voxaudit.perturb.sources.base import NoiseSource, Signal
from voxaudit.perturb.sources.cut import KEPT, cut

SECONDS = 10.0
"""Length of a built-in clip."""

TAKES = 4
"""Clips of each kind."""

KINDS: dict[str, environment.Maker] = {
    "pink noise": environment.pink,
    "rumble": environment.brown,
    "mains hum": environment.hum,
    "fan": environment.fan,
    "rain": environment.rain,
    "wind": environment.wind,
    "thunder": environment.thunder,
    "typing": environment.typing,
    "footsteps": environment.footsteps,
    "clock": environment.clock,
    "engine": environment.engine,
    "traffic": environment.traffic,
    "siren": environment.siren,
    "birds": environment.birds,
    "telephone tones": environment.beeps,
    "babble": voices.babble,
    "café": voices.cafe,
    "talker behind a wall": voices.neighbour,
    "talker": voices.talker,
    "song": music.song,
    "ballad": music.ballad,
}


@dataclass(frozen=True, repr=False)
class BuiltIn(NoiseSource):
    """Some kinds of the built-in set. Raise `version` when a kind gives other samples than before."""

    kinds: tuple[str, ...]
    version: ClassVar[int] = 1

    def describe(self) -> str:
        """Return the kinds and the number of clips."""
        return f"built-in, made by formula ({', '.join(self.kinds)}): {len(self.kinds) * TAKES} clips"

    def fingerprint(self) -> str:
        """Return the kinds and the version of the set."""
        return f"built-in {'+'.join(self.kinds)} v{self.version}"

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of a clip drawn at random."""
        kind = self.kinds[int(generator.integers(len(self.kinds)))]
        take = int(generator.integers(TAKES))
        return cut(KEPT.get((kind, take, rate), lambda: make(kind, take, rate)), length, generator)


def make(kind: str, take: int, rate: int) -> Samples:
    """Return a built-in clip: the same samples for the same kind, take and rate (Hz)."""
    generator = trial_generator(BuiltIn.version, f"built-in {kind}", str(take))
    length = max(1, round(SECONDS * rate))
    clip: Samples = environment.unit(KINDS[kind](length, rate, generator)).astype(np.float32)
    return clip


# What each collection is known for, so that the four environments differ.
OFFICE = BuiltIn(("fan", "typing", "babble", "mains hum", "talker behind a wall", "pink noise"))
NATURE = BuiltIn(("rain", "wind", "birds", "clock", "footsteps", "engine", "siren"))
TECHNICAL = BuiltIn(("telephone tones", "thunder", "engine", "footsteps", "rumble", "wind"))
TOWN = BuiltIn(("café", "traffic", "babble"))
MUSIC = BuiltIn(("song", "ballad"))
TALKERS = BuiltIn(("talker",))
