"""Music made by formula: chords, a melody, a bass and drums."""

from __future__ import annotations

import numpy as np

from voxaudit.perturb.sources.base import Signal
from voxaudit.perturb.sources.environment import harmonics, unit

SONGS = ((0, 5, 7, 0), (0, 9, 5, 7), (0, 7, 9, 5), (9, 5, 0, 7), (2, 7, 0, 0))
"""Roots of four chords, in semitones above the key."""

MAJOR = frozenset({0, 5, 7})
"""Roots that carry a major chord; the others carry a minor one."""

SCALE = (0, 2, 4, 7, 9, 12, 14, 16)
"""The notes of the melody, in semitones above the key."""


def song(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a piece with chords, melody, bass and drums."""
    return _play(length, rate, generator, drums=True)


def ballad(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a piece without drums."""
    return _play(length, rate, generator, drums=False)


def _play(length: int, rate: int, generator: np.random.Generator, *, drums: bool) -> Signal:
    beat = 60.0 / (70.0 + 70.0 * generator.random())
    key = 110.0 * 2.0 ** (int(generator.integers(12)) / 12.0)
    roots = SONGS[int(generator.integers(len(SONGS)))]
    strings, lead, bass = (_timbre(generator, number) for number in (10, 8, 5))
    signal = np.zeros(length)
    for number, start in enumerate(np.arange(0.0, length / rate, beat)):
        root = roots[(number // 4) % 4]
        place = int(start * rate)
        if number % 4 == 0:
            third = 4 if root in MAJOR else 3
            for step in (0, third, 7):
                _add(signal, place, 0.5 * _note(key * _up(root + step), 4.0 * beat, 2.0, rate, strings))
        if number % 2 == 0:
            _add(signal, place, 0.8 * _note(0.5 * key * _up(root), 2.0 * beat, 0.6, rate, bass))
        halves = 2 if generator.random() < 0.5 else 1
        for half in range(halves):
            step = SCALE[int(generator.integers(len(SCALE)))]
            tone = _note(2.0 * key * _up(step), beat / halves, 0.3, rate, lead)
            _add(signal, place + int(half * beat / 2.0 * rate), 0.7 * tone)
        if drums:
            _add(signal, place, 1.2 * _drum(number % 2 == 1, rate, generator))
            _add(signal, place + int(beat / 2.0 * rate), 0.3 * _cymbal(rate, generator))
    return unit(signal)


def _up(semitones: float) -> float:
    return float(2.0 ** (semitones / 12.0))


def _timbre(generator: np.random.Generator, count: int) -> Signal:
    weights: Signal = (0.3 + 0.7 * generator.random(count)) / np.arange(1, count + 1) ** 1.2
    return weights


def _note(hertz: float, seconds: float, decay: float, rate: int, weights: Signal) -> Signal:
    t = np.arange(max(2, int(seconds * rate))) / rate
    heard = weights[: max(1, int(0.45 * rate / hertz))]
    attack = np.minimum(t / 0.01, 1.0) * np.minimum((t[-1] - t) / 0.02, 1.0)
    tone: Signal = attack * np.exp(-t / decay) * harmonics(2.0 * np.pi * hertz * t, heard)
    return tone


def _drum(snare: bool, rate: int, generator: np.random.Generator) -> Signal:
    t = np.arange(max(2, int(0.2 * rate))) / rate
    if snare:
        return 0.6 * np.exp(-t / 0.06) * generator.standard_normal(len(t))
    return np.exp(-t / 0.08) * np.sin(2.0 * np.pi * (50.0 * t + 4.0 * (1.0 - np.exp(-t / 0.03))))


def _cymbal(rate: int, generator: np.random.Generator) -> Signal:
    t = np.arange(max(3, int(0.05 * rate))) / rate
    return np.exp(-t / 0.015) * np.diff(generator.standard_normal(len(t)), prepend=0.0)


def _add(signal: Signal, place: int, piece: Signal) -> None:
    piece = piece[: max(len(signal) - place, 0)]
    signal[place : place + len(piece)] += piece
