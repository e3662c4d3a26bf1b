"""Compiled loops for what feeds on its own output, and so cannot be written as array operations.

Importing this module imports numba: do so inside the function that needs it. A loop is compiled at its first call
and kept on disk; where no folder can be written, it is compiled again in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voxaudit.audio import Samples

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    try:
        fast = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        fast = njit(nogil=True)(function)
    return cast(_Function, fast)


@_compiled
def feedback_delay(
    samples: Samples, delays: NDArray[np.int64], gain_in: float, gain_out: float, decay: float
) -> Samples:
    """Return `gain_out * y` limited to [-1, 1], where `y[n] = gain_in * x[n] + decay * y[n - delays[n]]`.

    `delays` (whole samples, at least 1) is one period of the modulation; it repeats.
    """
    count = len(samples)
    period = len(delays)
    longest = delays.max()
    # Zeros before the start stand for the silence before the recording.
    state = np.zeros(count + longest)
    out = np.empty(count, np.float32)
    phase = 0
    for n in range(count):
        value = gain_in * samples[n] + decay * state[n + longest - delays[phase]]
        state[n + longest] = value
        out[n] = min(max(gain_out * value, -1.0), 1.0)
        phase += 1
        if phase == period:
            phase = 0
    return out


@_compiled
def silent_steps(a1: float, a2: float, steps: int) -> tuple[float, float, float, float]:
    """Return what `steps` samples of silence make of a filter's memory: [[-a1, 1], [-a2, 0]] to that power, by rows."""
    # A power by squaring, in scalars: an array of 2 x 2 would be allocated at every step.
    k, l, m, n = 1.0, 0.0, 0.0, 1.0  # noqa: E741
    p, q, r, s = -a1, 1.0, -a2, 0.0
    while steps > 0:
        if steps % 2:
            k, l, m, n = k * p + l * r, k * q + l * s, m * p + n * r, m * q + n * s  # noqa: E741
        p, q, r, s = p * p + q * r, p * q + q * s, r * p + s * r, r * q + s * s
        steps //= 2
    return k, l, m, n


@_compiled
def second_order(
    samples: Samples, numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> Samples:
    """Return the samples through a filter of order 2 (`denominator[0]` is 1), limited to [-1, 1].

    A recursion waits for its last value while the processor could do more: so the recording is cut into four parts
    that run side by side. A first pass finds the memory (two numbers) that each part leaves to the next; the second
    starts every part with it.
    """
    # Transposed direct form II with the output put in: a step needs only the input and two numbers of memory.
    b0, a1, a2 = numerator[0], denominator[1], denominator[2]
    c1, c2 = numerator[1] - a1 * b0, numerator[2] - a2 * b0
    count = len(samples)
    part = count // 4
    first, second = samples[:part], samples[part : 2 * part]
    third, fourth = samples[2 * part : 3 * part], samples[3 * part : 4 * part]
    q1 = q2 = r1 = r2 = s1 = s2 = 0.0
    for i in range(part):
        w, x, y = np.float64(first[i]), np.float64(second[i]), np.float64(third[i])
        q1, q2 = c1 * w + q2 - a1 * q1, c2 * w - a2 * q1
        r1, r2 = c1 * x + r2 - a1 * r1, c2 * x - a2 * r1
        s1, s2 = c1 * y + s2 - a1 * s1, c2 * y - a2 * s1
    # The filter is linear: a part's memory is what it leaves by itself, and what is left of the memory before it.
    k, l, m, n = silent_steps(a1, a2, part)  # noqa: E741
    r1, r2 = r1 + k * q1 + l * q2, r2 + m * q1 + n * q2
    s1, s2 = s1 + k * r1 + l * r2, s2 + m * r1 + n * r2
    p1 = p2 = 0.0
    out = np.empty(count, np.float32)
    first_out, second_out = out[:part], out[part : 2 * part]
    third_out, fourth_out = out[2 * part : 3 * part], out[3 * part : 4 * part]
    for i in range(part):
        w, x, y, z = np.float64(first[i]), np.float64(second[i]), np.float64(third[i]), np.float64(fourth[i])
        first_out[i] = min(max(b0 * w + p1, -1.0), 1.0)
        second_out[i] = min(max(b0 * x + q1, -1.0), 1.0)
        third_out[i] = min(max(b0 * y + r1, -1.0), 1.0)
        fourth_out[i] = min(max(b0 * z + s1, -1.0), 1.0)
        p1, p2 = c1 * w + p2 - a1 * p1, c2 * w - a2 * p1
        q1, q2 = c1 * x + q2 - a1 * q1, c2 * x - a2 * q1
        r1, r2 = c1 * y + r2 - a1 * r1, c2 * y - a2 * r1
        s1, s2 = c1 * z + s2 - a1 * s1, c2 * z - a2 * s1
    for i in range(4 * part, count):
        z = np.float64(samples[i])
        out[i] = min(max(b0 * z + s1, -1.0), 1.0)
        s1, s2 = c1 * z + s2 - a1 * s1, c2 * z - a2 * s1
    return out


@_compiled
def most_similar(window: Samples, tail: Samples, errors: Samples) -> int:
    """Return the offset in `window` at which it differs least from `tail`, by least squares; the first of equals.

    `errors` is room for one sum per offset tried. `len(tail)` is a multiple of 4 and `window` is
    `len(errors) + len(tail)` long. Every sum runs from first to last sample, in single precision, whichever
    offsets the processor handles side by side: all processors choose the same offset.
    """
    tried = len(errors)
    for j in range(tried):
        errors[j] = 0.0
    for i in range(0, len(tail), 4):
        # Four samples of the tail at a time: each sum is read and written a quarter as often.
        a, b, c, d = tail[i], tail[i + 1], tail[i + 2], tail[i + 3]
        part = window[i : i + tried + 3]
        for j in range(tried):
            p, q, r, s = part[j] - a, part[j + 1] - b, part[j + 2] - c, part[j + 3] - d
            errors[j] = errors[j] + p * p + q * q + r * r + s * s
    best = 0
    for j in range(1, tried):
        if errors[j] < errors[best]:
            best = j
    return best


@_compiled
def overlap_similar(
    padded: Samples, starts: NDArray[np.int64], count: int, segment: int, overlap: int, search: int
) -> Samples:
    """Return `count` samples made of segments of `padded`, cross-faded where their waveforms are most alike (WSOLA).

    Segment k begins at most `search` samples after `starts[k]`, and the first in the middle of that range. All lengths
    are in samples; `padded` reaches `search + segment` samples beyond the last start.
    """
    step = segment - overlap
    out = np.empty(count, np.float32)
    errors = np.empty(search, np.float32)
    position = search // 2
    for k in range(len(starts)):
        begin = k * step
        length = min(step, count - begin)
        faded = 0
        if k > 0:
            tail = padded[position + step : position + segment]
            start = starts[k]
            position = start + most_similar(padded[start : start + search + overlap], tail, errors)
            faded = min(overlap, length)
            for i in range(faded):
                share = np.float32(i) / np.float32(overlap)
                out[begin + i] = tail[i] + share * (padded[position + i] - tail[i])
        for i in range(faded, length):
            out[begin + i] = padded[position + i]
    return out


@_compiled
def vocode(
    spectrum: NDArray[np.complex128],
    frame: NDArray[np.int64],
    share: NDArray[np.float64],
    phase: NDArray[np.complex128],
    begins: bool,
) -> NDArray[np.complex128]:
    """Return the spectra at `frame + share` of the given ones; `phase` becomes that of the one that comes after them.

    `phase` is what the call before left, and is set where the recording `begins`. Phases are unit phasors instead of
    angles: multiplying them adds angles modulo a turn, which is all that is heard, and needs neither arctangents nor
    unwrapping.
    """
    bins = spectrum.shape[1]
    out = np.empty((len(frame), bins), np.complex128)
    magnitude = np.empty((2, bins))
    phasor = np.empty((2, bins), np.complex128)
    at = -2  # the frame whose phasor is in row 0; that of the next is in row 1
    for k in range(len(frame)):
        wanted = frame[k]
        if wanted != at:
            for row in range(2):
                if row == 0 and wanted == at + 1:
                    magnitude[0], phasor[0] = magnitude[1], phasor[1]
                    continue
                for j in range(bins):
                    value = spectrum[wanted + row, j]
                    size = np.sqrt(value.real * value.real + value.imag * value.imag)
                    magnitude[row, j] = size
                    phasor[row, j] = value * (1.0 / size) if size > 0.0 else 1.0
            at = wanted
        if k == 0 and begins:
            phase[:] = phasor[0]
        for j in range(bins):
            out[k, j] = phase[j] * (magnitude[0, j] + share[k] * (magnitude[1, j] - magnitude[0, j]))
            phase[j] *= phasor[1, j] * np.conj(phasor[0, j])
    return out
