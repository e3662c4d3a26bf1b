"""Prolongation: a syllable is held on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from voxaudit.align import Syllable, Timings
from voxaudit.align.syllables import STOPS, VOWELS
from voxaudit.audio import Samples
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError, find_syllable
from voxaudit.perturb.stutter.stretch import stretched

SHORTEST = 0.03
"""A part of a syllable that can be held on has at least this many seconds; else the whole syllable is stretched."""


@dataclass(frozen=True)
class Prolongation(Operation):
    """Syllable `syllable` of word `word` lasts `factor` times as long, at the same pitch (ASTER: 2 to 4 times).

    What is held on is the vowel and the sounds beside it that can be (fricatives, nasals, liquids, glides); the
    closures and bursts of stops keep their length.
    """

    kind: ClassVar[str] = "prolongation"

    word: int
    syllable: int = 0
    factor: float = 3.0

    def __post_init__(self) -> None:
        if not 1 < self.factor <= 20:
            raise StutterError(f"prolongation: factor must be above 1 and at most 20, not {self.factor:g}")

    @property
    def target(self) -> int:
        """The word that is prolonged."""
        return self.word

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the stretched part: `round((factor - 1) * syllable)` samples longer."""
        _, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        length = round(syllable.end * rate) - round(syllable.start * rate)
        start, stop = (min(round(edge * rate), len(samples)) for edge in continuant(syllable))
        if stop - start < 2:
            raise StutterError(f"prolongation: syllable {self.syllable} of word {self.word} has no length")
        longer = round((self.factor - 1) * length)
        held = stretched(samples, start, stop, longer, rate)
        return Edit(start, stop, held, timings.stretched(start / rate, stop / rate, longer / rate))


def continuant(syllable: Syllable) -> tuple[float, float]:
    """Return the part of a syllable that can be held on (start and end in seconds): its vowel and what joins it."""
    phones = syllable.phones
    nuclei = [i for i, phone in enumerate(phones) if phone.name in VOWELS]
    if not nuclei:
        return syllable.start, syllable.end
    first = last = nuclei[0]
    while first > 0 and phones[first - 1].name not in STOPS:
        first -= 1
    while last + 1 < len(phones) and phones[last + 1].name not in STOPS:
        last += 1
    start, end = phones[first].start, phones[last].end
    return (start, end) if end - start >= SHORTEST else (syllable.start, syllable.end)
