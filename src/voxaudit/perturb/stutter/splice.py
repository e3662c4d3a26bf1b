"""Cut and join without clicks: cuts at zero crossings, and short crossfades that lie wholly inside what is put in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples

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


def window(samples: Samples, start: int, stop: int) -> NDArray[np.float64]:
    """Return `samples[start:stop]` with silence where the recording has not begun or is over."""
    if 0 <= start <= stop <= len(samples):  # nearly always: padding would take most of the time of an edit
        return samples[start:stop].astype(np.float64)
    inside = samples[max(start, 0) : max(min(stop, len(samples)), 0)].astype(np.float64)
    return np.pad(inside, (max(-start, 0), max(stop - max(start, 0) - len(inside), 0)))[: stop - start]


def _fade(length: int) -> NDArray[np.float64]:
    """Return a half cosine from exactly 1 towards 0."""
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(length) / length)
