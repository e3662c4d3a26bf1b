"""Cut, join and stretch without clicks: cuts at zero crossings, crossfades that lie wholly inside what is put in."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples

Floats = NDArray[np.float64]

REACH = 0.005
"""How far from a boundary a cut may lie, in seconds."""

FADE = 0.005
"""Length of a crossfade, in seconds."""


def cut_near(samples: Samples, rate: int, moment: float) -> int:
    """Return the sample before which to cut: the rising zero crossing nearest to `moment` (seconds), within 5 ms.

    Where there is none, a falling one, and failing that the sample nearest to zero.
    """
    wanted = min(max(round(moment * rate), 0), len(samples))
    reach = round(REACH * rate)
    first, last = max(wanted - reach, 1), min(wanted + reach, len(samples) - 1)
    if wanted in (0, len(samples)) or first > last:
        return wanted
    places = np.arange(first, last + 1)
    before, after = samples[first - 1 : last], samples[first : last + 1]
    for crossing in ((before <= 0) & (after >= 0), (before >= 0) & (after <= 0)):
        found = places[crossing]
        if len(found):
            return int(found[np.argmin(np.abs(found - wanted))])
    return int(places[np.argmin(np.abs(after))])


def spliced(samples: Samples, at: int, clip: Samples, rate: int) -> Samples:
    """Return `clip` made to fit between `samples[:at]` and `samples[at:]`; its length stays.

    Its beginning fades in over the natural continuation of what comes before, its end fades out over the natural
    run-in of what follows. So its first sample is `samples[at]`, its last `samples[at - 1]`, and the steps at both
    seams are the recording's own.
    """
    length = min(round(FADE * rate), len(clip) // 2)
    if length == 0:
        return clip
    fitted = clip.astype(np.float64)
    fade = _fade(length)
    fitted[:length] += fade * (window(samples, at, at + length) - fitted[:length])
    fitted[-length:] += fade[::-1] * (window(samples, at - length, at) - fitted[-length:])
    return fitted.astype(np.float32)


def repeated(samples: Samples, start: int, stop: int, copies: int, rate: int) -> Samples:
    """Return `copies` copies of `samples[start:stop]` joined in a row; the last one ends as it is."""
    unit = samples[start:stop]
    length = min(round(FADE * rate), len(unit) // 2)
    joined = unit.astype(np.float64)
    if length:
        # The end of a copy fades into the run-in of the next.
        fade = _fade(length)[::-1]
        joined[-length:] += fade * (window(samples, start - length, start) - joined[-length:])
    return np.concatenate([np.tile(joined.astype(np.float32), copies - 1), unit])


def window(samples: Samples, start: int, stop: int) -> Floats:
    """Return `samples[start:stop]` with silence where the recording has not begun or is over."""
    if 0 <= start <= stop <= len(samples):  # nearly always: padding would take most of the time of an edit
        return samples[start:stop].astype(np.float64)
    found = np.zeros(max(stop - start, 0))
    first, last = max(start, 0), min(stop, len(samples))
    if first < last:
        found[first - start : last - start] = samples[first:last]
    return found


def _fade(length: int) -> Floats:
    """Return a half cosine from exactly 1 towards 0."""
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(length) / length)


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
    weighed = likeness * _nearness(len(likeness), middle)
    best = int(weighed.argmax())
    return best if weighed[best] > 0.0 else int(likeness.argmax())  # below 0 the far ones would be favored


def _crossfaded(old: Floats, new: Floats) -> Floats:
    """Return a crossfade that keeps the loudness, whether the two are alike (voices) or not (hissing)."""
    falling, rising, apart, together = _fades(len(old))
    power = math.sqrt((old @ old) * (new @ new))
    alike = max(0.0, float(old @ new) / power) if power > 1e-12 else 1.0
    mixed: Floats = falling * old
    mixed += rising * new
    scale = together * alike
    scale += apart
    mixed /= np.sqrt(scale, out=scale)
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
