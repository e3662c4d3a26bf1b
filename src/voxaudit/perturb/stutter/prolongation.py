"""Prolongation: a syllable is held on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.align import Syllable, Timings
from voxaudit.align.syllables import STOPS, VOWELS
from voxaudit.audio import Samples
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError, find_syllable
from voxaudit.perturb.stutter.splice import window

Floats = NDArray[np.float64]
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

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the stretched part: `round((factor - 1) * syllable)` samples longer."""
        _, _, syllable = find_syllable(timings, self.word, self.syllable, self.kind)
        length = round(syllable.end * rate) - round(syllable.start * rate)
        start, stop = (min(round(edge * rate), len(samples)) for edge in continuant(syllable))
        if stop - start < 2:
            raise StutterError(f"prolongation: syllable {self.syllable} of word {self.word} has no length")
        longer = round((self.factor - 1) * length)
        held = stretched(samples, start, stop, longer, rate)
        after = timings.stretched(start / rate, stop / rate, longer / rate)
        place = "later" if self.syllable else "sound"
        return Edit(start, stop, held, after, (("prolongation", (stop - start + longer) / rate),), place)


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


# Stretch speech in time and keep its pitch: overlapping frames, each placed where it continues the last (WSOLA).

HOP = 0.015
"""Seconds from frame to frame: about one period of the lowest voices and more of all others."""

SEARCH = 0.008
"""How far a frame may be moved to fit, in seconds either way: together one period of a voice of 62 Hz."""


def stretched(samples: Samples, start: int, stop: int, longer: int, rate: int) -> Samples:
    """Return `samples[start:stop]` stretched to be exactly `longer` samples longer, at the same pitch.

    After Verhelst and Roelands (1993), waveform similarity overlap-add: successive frames are taken from the
    original with a growing delay, each where it is most like the natural continuation of the one before, and
    crossfaded. The delay starts at 0 and ends at exactly `longer`, so that both ends join the recording without a
    seam. What the search leaves of the last delay (a part of a period) is spread evenly over all frames.
    """
    total = stop - start + longer
    count = max(1, round(total / (HOP * rate)))
    edges = np.rint(np.linspace(0, total, count + 1)).astype(np.int64).tolist()
    # No frame, wherever it is moved to, reaches farther out than a few hops.
    margin = round(4 * HOP * rate)
    sound = window(samples, start - margin, stop + margin)
    delays = _delays(sound, margin, edges, longer, rate)
    result = np.empty(total, dtype=np.float64)
    for k, (a, b) in enumerate(pairwise(edges)):
        first, last = a + margin, b + margin
        old = sound[first - delays[k] : last - delays[k]]
        new = sound[first - delays[k + 1] : last - delays[k + 1]]
        result[a:b] = _crossfaded(old, new)
    return result.astype(np.float32)


def _delays(sound: Floats, origin: int, edges: list[int], longer: int, rate: int) -> list[int]:
    """Return the delay of each frame in samples, 0 first, `longer` last; what is stretched begins at `origin`."""
    count = len(edges) - 1
    if count == 1:
        return [0, longer]
    reach = round(SEARCH * rate)
    power = np.concatenate([[0.0], np.cumsum(sound**2)])  # up to each sample
    found = [0]
    for k in range(1, count + 1):
        aim = round(longer * k / count)
        a, b = edges[k - 1] + origin, edges[k] + origin
        first, last = a - aim - reach, b - aim + reach
        energy = power[first + b - a : last + 1] - power[first : last + 1 - (b - a)]
        natural = sound[a - found[-1] : b - found[-1]]
        found.append(aim + reach - _most_like(natural, sound[first:last], energy, reach))
    left = found[-1] - longer
    return [delay - round(left * k / count) for k, delay in enumerate(found)]


def _most_like(natural: Floats, around: Floats, energy: Floats, middle: int) -> int:
    """Return at which shift `around` is most like `natural` (highest normalized correlation); `middle` in silence.

    `energy` is the sum of squares of `around` at each shift.
    """
    most = float(energy.max())
    if most <= 1e-12 or float(natural @ natural) <= 1e-12:
        return middle
    likeness = np.correlate(around, natural, "valid") / np.sqrt(np.maximum(energy, 1e-3 * most))
    # Of several periods that fit alike the nearest is taken, so that little is left to spread at the end.
    return int(np.argmax(np.where(likeness > 0, likeness * _nearness(len(likeness), middle), likeness)))


def _crossfaded(old: Floats, new: Floats) -> Floats:
    """Return a crossfade that keeps the loudness, whether the two are alike (voices) or not (hissing)."""
    falling, rising, apart, together = _fades(len(old))
    power = math.sqrt((old @ old) * (new @ new))
    alike = max(0.0, float(old @ new) / power) if power > 1e-12 else 1.0
    mixed: Floats = (falling * old + rising * new) / np.sqrt(apart + together * alike)
    return mixed


@lru_cache(maxsize=64)
def _nearness(size: int, middle: int) -> Floats:
    """Return 1 for the shift `middle`, a tenth less as far away as it goes."""
    weight: Floats = 1 - 0.1 * (np.abs(np.arange(size) - middle) / max(middle, 1))
    return weight


@lru_cache(maxsize=64)
def _fades(length: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a falling and a rising half cosine, and their power: of unlike sounds, and what alike ones add."""
    rising = 0.5 - 0.5 * np.cos(np.pi * np.arange(length) / max(length, 1))
    return 1 - rising, rising, rising**2 + (1 - rising) ** 2, 2 * rising * (1 - rising)
