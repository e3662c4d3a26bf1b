"""Noise from recordings: files, or segments of files, read when they are needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from voxaudit import audio
from voxaudit.audio import Samples
from voxaudit.perturb.sources.base import NoiseSource, Signal
from voxaudit.perturb.sources.cut import KEPT, cut

PIECE = 30.0
"""Seconds of a long recording that are read at a time, or as much as the utterance is long."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording or a segment of one: `start` and `duration` in seconds."""

    path: str
    start: float
    duration: float


@dataclass(frozen=True, repr=False)
class Recordings(NoiseSource):
    """Clips in a fixed order, one of which is drawn for each trial.

    `content` stands for the clips' bytes in that order. `skipped` says how many files were left out, and why.
    """

    title: str
    clips: tuple[Clip, ...]
    content: str
    skipped: tuple[tuple[str, int], ...] = ()
    folder: str = ""

    def describe(self) -> str:
        """Return the title, the number of clips and what was left out."""
        left_out = ", ".join(f"{count} {reason}" for reason, count in self.skipped)
        return f"{self.title}: {len(self.clips)} clips" + (f" (left out: {left_out})" if left_out else "")

    def fingerprint(self) -> str:
        """Return the digest of the clips' contents."""
        return f"recordings {self.content}"

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of a clip drawn at random; of a long recording only a piece is read.

        A silent piece gives way to the next one of its recording: a clip that is silent all over is not listed.
        """
        clip = self.clips[int(generator.integers(len(self.clips)))]
        span = max(PIECE, length / rate)
        pieces = max(1, math.ceil(clip.duration / span - 1e-9))
        first = int(generator.integers(pieces))
        for number in range(pieces):
            samples = _piece(clip, (first + number) % pieces, pieces, span, rate)
            if np.any(samples):
                return cut(samples, length, generator)
        raise audio.AudioError(f"{clip.path}: this noise is silent from {clip.start:g} s on")


def _piece(clip: Clip, number: int, pieces: int, span: float, rate: int) -> Samples:
    # The last piece ends with the clip, so that none is a mere rest.
    start = clip.start + (
        max(clip.duration - span, 0.0) if pieces > 1 and number == pieces - 1 else number * span
    )
    duration = min(span, clip.duration)
    key = (clip.path, start, duration, rate)
    return KEPT.get(key, lambda: audio.read(clip.path, rate=rate, start=start, duration=duration).samples)
