"""Block: the voice stops in the middle of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.align import Timings
from voxaudit.audio import Samples
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError, find_syllable
from voxaudit.perturb.stutter.splice import cut_near, spliced


@dataclass(frozen=True)
class Block(Operation):
    """`ms` milliseconds of silence before syllable `syllable` of word `word` (ASTER: 50 to 200 ms, inside a word).

    The silence is digital; its first and last 5 ms are the fading voice. `syllable` 0 stops before the word
    begins, as many real blocks do; ASTER does not, and it is never drawn by chance.
    """

    kind: ClassVar[str] = "block"

    word: int
    syllable: int = 1
    ms: float = 100.0

    def __post_init__(self) -> None:
        if not 1 <= self.ms <= 10_000:
            raise StutterError(f"block: ms must be from 1 to 10000, not {self.ms:g}")

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the silence and where it goes: `round(ms * rate / 1000)` samples."""
        _, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        at = cut_near(samples, rate, syllable.start)
        length = max(1, round(self.ms * rate / 1000))
        silence = spliced(samples, at, np.zeros(length, dtype=np.float32), rate)
        after = timings.opened(syllable.start, at / rate, length / rate)
        return Edit(
            at, at, silence, after, (("block", length / rate),), "later" if self.syllable else "sound"
        )
