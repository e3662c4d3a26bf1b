"""Move the start of words after a pause to where the energy rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voxaudit.align.timings import Timings, Word
from voxaudit.audio import Audio

PAUSE = 0.03
"""Seconds between two words from which the second is taken to come after a pause."""

REACH = 0.08
"""How far a start may move back, in seconds; forward it stays within its phone."""

BELOW_PEAK = 35.0
"""Speech is what is no more than this many dB below the word's own peak."""

ABOVE_FLOOR = 6.0
_HOP = 0.001
_WINDOW = 0.01


def snapped(timings: Timings, audio: Audio) -> Timings:
    """Return the timings with the start of words after a pause moved to where the energy crosses a threshold.

    Hidden Markov models see the onset after a pause some 40 ms early, since their features look ahead. Words that
    follow each other directly stay as they are, and so do starts where the background is too loud to tell. Ends
    stay too: speech fades, and moving them to a threshold brought them no nearer to it.
    """
    times, level = envelope(audio)
    if len(level) == 0:
        return timings
    floor = float(np.percentile(level, 10)) + ABOVE_FLOOR
    words = list(timings.words)
    for i, word in enumerate(words):
        within = level[(times >= word.start) & (times <= word.end)]
        if len(within) == 0 or not word.phones:
            continue
        threshold = max(float(within.max()) - BELOW_PEAK, floor)
        before = words[i - 1].end if i else 0.0
        if word.start - before >= PAUSE or i == 0:
            low = max(word.start - REACH, before)
            rise = _rise(times, level > threshold, low, word.phones[0].end, word.start)
            words[i] = _with_start(word, rise)
    return replace(timings, words=tuple(words))


def envelope(audio: Audio) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return moments in seconds (every ms) and the level in dB of the 10 ms around each, of the signal's slope.

    The slope leaves out hum and rumble, which no onset of speech moves.
    """
    slope = np.diff(audio.samples.astype(np.float64), prepend=audio.samples[:1].astype(np.float64))
    window, hop = max(1, round(_WINDOW * audio.rate)), _HOP * audio.rate
    total = np.concatenate([[0.0], np.cumsum(slope**2)])
    count = max(0, int((len(slope) - window) / hop) + 1)
    first = np.rint(np.arange(count) * hop).astype(np.int64)
    power = (total[first + window] - total[first]) / window
    return (first + window / 2) / audio.rate, 10.0 * np.log10(np.maximum(power, 1e-12))


def _rise(times: NDArray[np.float64], loud: NDArray[np.bool_], low: float, high: float, edge: float) -> float:
    inside = np.flatnonzero((times >= low) & (times <= high))
    if len(inside) == 0 or loud[inside[0]]:
        return edge
    steady = _steady(loud, inside)
    return edge if len(steady) == 0 else float(times[steady[0]])


def _steady(loud: NDArray[np.bool_], inside: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where it is loud for 10 ms around: a tick of the microphone is no onset."""
    run = np.convolve(loud[inside], np.ones(10), "same") >= 10
    reached = np.convolve(run, np.ones(10), "same") > 0.5
    return inside[np.asarray(reached & loud[inside])]


def _with_start(word: Word, start: float) -> Word:
    first = word.syllables[0]
    phone = replace(first.phones[0], start=start)
    syllable = replace(first, start=start, phones=(phone, *first.phones[1:]))
    return replace(word, start=start, syllables=(syllable, *word.syllables[1:]))
