"""Is a stuttered case sound? What every case of the realistic mode is checked for, and how real it is (R)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from voxaudit.align import AlignmentError, PocketSphinxAligner, Timings, Word
from voxaudit.audio import Audio, Samples
from voxaudit.perturb.stutter import measured
from voxaudit.perturb.stutter.base import Edit, Operation
from voxaudit.perturb.stutter.realistic import OnsetRepetition, onset_of

CHECKS = ("seam", "zeros", "copies", "place")
"""Steps at the seams; digital silence; copies too alike; words that are not found where they must be."""

STEP = 99.9
"""Percentile of the recording's own steps from sample to sample that a seam stays within."""
ZEROS = 0.005
"""Seconds of exact zeros that only a recording with such silence of its own may have."""
ALIKE = 0.98
NEAR = 0.05
"""Seconds between where a word must be and where the aligner finds it."""
AROUND = 2
"""Words on either side of an event that are looked for; those further off have not changed at all."""
_FILLER_PHONES = {"um": ("AH", "M"), "uh": ("AH",), "er": ("ER",), "erm": ("ER", "M")}


def sound_checks(samples: Samples, rate: int, edit: Edit, step: float | None = None) -> list[str]:
    """Return which checks of the sound an edit fails: `seam`, `zeros`, `copies`.

    `step` is the largest step from sample to sample that the recording allows at a seam (default: measured here).
    """
    failed = []
    allowed = own_step(samples) if step is None else step
    row = edit.samples
    before = samples[edit.start - 1 : edit.start]
    after = samples[edit.stop : edit.stop + 1]
    steps = [*np.abs(row[:1] - before), *np.abs(after - row[-1:])]
    if max((float(one) for one in steps), default=0.0) > allowed:
        failed.append("seam")
    limit = max(1, round(ZEROS * rate))
    if _longest_zeros(row) > limit >= _longest_zeros(samples):
        failed.append("zeros")
    spans = edit.copies
    pairs = pairwise(spans)
    if any(likeness(row[a:b], row[c:d], rate) >= ALIKE for (a, b), (c, d) in pairs):
        failed.append("copies")
    return failed


def own_step(samples: Samples) -> float:
    """Return the 99.9th percentile of a recording's steps from sample to sample."""
    return float(np.percentile(np.abs(np.diff(samples)), STEP)) if len(samples) > 1 else 0.0


def _longest_zeros(samples: Samples) -> int:
    sounding = np.flatnonzero(samples)
    edges = np.concatenate([[-1], sounding, [len(samples)]])
    return int(np.max(np.diff(edges))) - 1


def likeness(one: Samples, other: Samples, rate: int) -> float:
    """Return the largest correlation of two sounds over shifts of up to 1 ms, from their beginnings."""
    length = min(len(one), len(other), round(0.3 * rate))
    reach = round(0.001 * rate)
    if length <= 4 * reach:
        return 0.0
    fixed = one[reach : length - reach].astype(np.float64)
    moving = other[:length].astype(np.float64)
    products = np.correlate(moving, fixed, "valid")
    squares = np.concatenate([[0.0], np.cumsum(moving**2)])
    energy = (squares[len(fixed) :] - squares[: -len(fixed)]) * float(fixed @ fixed)
    return float(np.max(products / np.sqrt(np.maximum(energy, 1e-20))))


@dataclass
class PlaceCheck:
    """Looks for the words around an event where they must be, by forced alignment before and after it."""

    aligner: PocketSphinxAligner = field(default_factory=PocketSphinxAligner)

    def __call__(
        self,
        before: Audio,
        timings: Timings,
        after: Audio,
        edited: Timings,
        operation: Operation,
    ) -> tuple[bool, float]:
        """Return whether every intended word near the event is within 50 ms of its place, and the loss in score."""
        places = timings.intended
        first = max(operation.target - AROUND, 0)
        last = min(operation.target + AROUND, len(places) - 1)
        old = _Stretch.of(before, timings, places[first], places[last])
        new = _Stretch.of(after, edited, edited.intended[first], edited.intended[last])
        try:
            found_old = self.aligner.place(old.audio, _with_fragments(old.words))
            found_new = self.aligner.place(new.audio, _with_fragments(new.words, operation))
        except AlignmentError:
            return False, 0.0
        if found_old is None or found_new is None:
            return found_old is None, 0.0  # where the original itself is not found, nothing can be said
        said_old, said_new = _places(old, found_old[0]), _places(new, found_new[0])
        # The word itself is looked for by its end: a held or blocked beginning has no moment that aligners agree on.
        moved = [
            abs(b[side] - a[side])
            for number, (a, b) in enumerate(zip(said_old, said_new, strict=True))
            for side in [int(first + number == operation.target)]
        ]
        loss = max(0.0, found_old[1] - found_new[1])
        return max(moved, default=0.0) <= NEAR, loss


@dataclass(frozen=True)
class _Stretch:
    audio: Audio
    begin: float
    words: tuple[Word, ...]

    @classmethod
    def of(cls, audio: Audio, timings: Timings, first: int, last: int) -> _Stretch:
        words = timings.words[first : last + 1]
        # Copies of the first word stand before it.
        while first > 0 and timings.words[first - 1].event:
            first -= 1
            words = timings.words[first : last + 1]
        low = timings.words[first - 1].end if first else 0.0
        high = timings.words[last + 1].start if last + 1 < len(timings.words) else timings.duration
        begin = max(low, words[0].start - 0.15, 0.0)
        end = min(max(high, words[-1].end), words[-1].end + 0.15)
        cut = audio.samples[round(begin * audio.rate) : round(end * audio.rate)]
        return cls(Audio(cut, audio.rate), begin, words)


def _phones(word: Word) -> tuple[str, ...]:
    own = tuple(phone.name for part in word.syllables if not part.event for phone in part.phones)
    return own or _FILLER_PHONES.get(word.text.lower(), ("AH",))


def _with_fragments(words: Sequence[Word], operation: Operation | None = None) -> list[tuple[str, ...]]:
    """Return the phones of words and, before each, of the sounds repeated in it, as the operation did."""
    said: list[tuple[str, ...]] = []
    for word in words:
        repeated = sum(bool(part.event) for part in word.syllables)
        found = onset_of(word)
        if repeated and found is not None:
            consonants, vowel = found.consonants[:1] or (found.first,), False
            if isinstance(operation, OnsetRepetition):
                consonants = found.consonants[: operation.consonants] or (found.first,)
                vowel = operation.vowel > 0
            names = tuple(phone.name for phone in consonants)
            if vowel and found.vowel is not None and found.consonants:
                names += (found.vowel.name,)
            said += [names] * repeated
        said.append(_phones(word))
    return said


def _places(stretch: _Stretch, spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return how far each intended word's start and end, as found, lie from where its timings have them."""
    found, at = [], 0
    for word in stretch.words:
        at += sum(bool(part.event) for part in word.syllables)
        own = next((part.start for part in word.syllables if not part.event), word.start)
        if not word.event:
            start, end = spans[at]
            found.append((start + stretch.begin - own, end + stretch.begin - word.end))
        at += 1
    return found


LEAST_TAIL = 1e-4
NOT_FIRST = {
    "sound": 1.0,
    "between": 1.0,
    "syllable": 1 - measured.FIRST_SOUND,
    "later": 1 - measured.FIRST_SYLLABLE,
}
"""How rare it is that an event begins there or later in a word."""
SCORE_SCALE = 10.0
"""A loss of so much in the alignment's score per frame counts like an event that one real one in ten is (G)."""


def realism(edits: Sequence[Edit], words: int, loss: float = 0.0) -> float:
    """Return R, how unlike real stuttering a case is: 0 for what is quite usual, growing as it gets rarer.

    The mean over events of -log10 of the two-sided tail probability of each length, gap and number of iterations, plus
    where the events are, plus the dose (how rare so many events per 100 of `words` are among people who stutter), plus
    the loss in alignment score. R is to be kept small.
    """
    if not edits:
        return 0.0
    total = 0.0
    for edit in edits:
        tails = [measured.MEASURES[name].tail(value) for name, value in edit.measures]
        total += sum(-math.log10(max(tail, LEAST_TAIL)) for tail in tails) / max(len(tails), 1)
        total -= math.log10(NOT_FIRST[edit.place])
    rate = 100 * len(edits) / max(words, 1)
    dose = -math.log10(max(1 - measured.RATES.under(rate), LEAST_TAIL))
    return total / len(edits) + dose + loss / SCORE_SCALE


def describe_event(kind: str, measures: Iterable[tuple[str, float]]) -> str:
    """Return what an event is and how it compares with real ones, for a page that plays it.

    >>> describe_event("block", [("block", 1.24)])
    'block, 1.24 s: longer than 75 % of real ones'
    """
    said, measures = kind.replace("_", " "), list(measures)
    # Names with a bar are gaps and iterations.
    value, name = max([(n, name) for name, n in measures if "_" not in name], default=(0.0, ""))
    for counted, times in measures:
        if counted in measured.ITERATIONS:
            share = measured.ITERATIONS[counted].below(times - 1)
            more = f"{times:.0f} times, more than {100 * share:.0f} % of real ones"
            said += f", repeated {more if times > 1 else 'once, as most are'}"
    if not name:
        return said
    return (
        f"{said}, {value:.2f} s: longer than {100 * measured.LENGTHS[name].under(value):.0f} % of real ones"
    )


def describe_chain(operations: Iterable[Operation]) -> str:
    """Return what was put into a recording, from the operations alone: for a table that plays nothing.

    >>> from voxaudit.perturb.stutter.realistic import OnsetBlock
    >>> describe_chain([OnsetBlock(2, 1240.0)])
    'block, 1.24 s: longer than 75 % of real ones'
    """
    said = []
    for operation in operations:
        length, iterations = _MEASURED[operation.kind]
        if length == "um" and not str(getattr(operation, "clip", "")).startswith("um"):
            length = "uh"
        found = {
            length: getattr(operation, "ms", 0.0) / 1000,
            iterations: float(getattr(operation, "copies", 0)),
        }
        said.append(describe_event(operation.kind, [(name, n) for name, n in found.items() if name and n]))
    return "; ".join(said)


_MEASURED = {
    "block": ("block", ""),
    "prolongation": ("prolongation", ""),
    "sound_repetition": ("fragment", "fragment_iterations"),
    "word_repetition": ("", "word_iterations"),
    "interjection": ("um", ""),
}
"""The length and the number of iterations that an operation of a kind says."""
