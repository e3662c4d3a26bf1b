"""Stretch speech in time and keep its pitch: overlapping frames, each placed where it continues the last (WSOLA)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.perturb.stutter.splice import window

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
    edges = np.rint(np.linspace(0, total, count + 1)).astype(np.int64) + start
    delays = _delays(samples, edges, longer, rate)
    result = np.empty(total, dtype=np.float64)
    for k in range(count):
        a, b = int(edges[k]), int(edges[k + 1])
        old = window(samples, a - delays[k], b - delays[k])
        new = window(samples, a - delays[k + 1], b - delays[k + 1])
        result[a - start : b - start] = _crossfade(old, new)
    return result.astype(np.float32)


def _delays(samples: Samples, edges: NDArray[np.int64], longer: int, rate: int) -> list[int]:
    """Return the delay of each frame in samples: 0 first, `longer` last."""
    count = len(edges) - 1
    if count == 1:
        return [0, longer]
    reach = round(SEARCH * rate)
    found = [0]
    for k in range(1, count + 1):
        aim = round(longer * k / count)
        a, b = int(edges[k - 1]), int(edges[k])
        natural = window(samples, a - found[-1], b - found[-1])
        around = window(samples, a - aim - reach, b - aim + reach)
        found.append(aim + reach - _most_like(natural, around, reach))
    left = found[-1] - longer
    return [delay - round(left * k / count) for k, delay in enumerate(found)]


def _most_like(natural: NDArray[np.float64], around: NDArray[np.float64], middle: int) -> int:
    """Return at which shift `around` is most like `natural` (highest normalised correlation); `middle` in silence."""
    products = np.correlate(around, natural, "valid")
    squares = np.concatenate([[0.0], np.cumsum(around**2)])
    energy = squares[len(natural) :] - squares[: -len(natural)]
    if float(energy.max()) <= 1e-12 or float(natural @ natural) <= 1e-12:
        return middle
    likeness = products / np.sqrt(np.maximum(energy, 1e-3 * float(energy.max())))
    # Of several periods that fit alike the nearest is taken, so that little is left to spread at the end.
    far = np.abs(np.arange(len(likeness)) - middle) / max(middle, 1)
    return int(np.argmax(np.where(likeness > 0, likeness * (1 - 0.1 * far), likeness)))


def _crossfade(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a crossfade that keeps the loudness, whether the two are alike (voices) or not (hissing)."""
    rising = 0.5 - 0.5 * np.cos(np.pi * np.arange(len(old)) / max(len(old), 1))
    power = float(np.sqrt((old @ old) * (new @ new)))
    alike = max(0.0, float(old @ new) / power) if power > 1e-12 else 1.0
    loudness = np.sqrt(rising**2 + (1 - rising) ** 2 + 2 * rising * (1 - rising) * alike)
    mixed: NDArray[np.float64] = ((1 - rising) * old + rising * new) / loudness
    return mixed
