"""Talkers made by formula: no words, but the rhythm, the pitch and the formants of speech."""

from __future__ import annotations

import numpy as np

from voxaudit.perturb.sources.base import Signal
from voxaudit.perturb.sources.environment import clatter, shaped, unit

VOWELS = (
    (730.0, 1090.0, 2440.0),
    (530.0, 1840.0, 2480.0),
    (390.0, 1990.0, 2550.0),
    (270.0, 2290.0, 3010.0),
    (570.0, 840.0, 2410.0),
    (440.0, 1020.0, 2240.0),
    (300.0, 870.0, 2240.0),
    (640.0, 1190.0, 2390.0),
    (490.0, 1350.0, 1690.0),
)
"""The first three formants in Hz of English vowels (Peterson and Barney 1952, men)."""


def talker(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return one voice: syllables of about a fifth of a second, hissing consonants, pauses between phrases."""
    signal = np.zeros(length)
    pitch = 90.0 + 130.0 * generator.random()
    tract = 0.95 + 0.25 * generator.random()
    pace = 0.8 + 0.4 * generator.random()
    place, left = int(0.2 * generator.random() * rate), int(generator.integers(4, 12))
    while place < length:
        vowel = VOWELS[int(generator.integers(len(VOWELS)))]
        size = max(8, int((0.08 + 0.14 * generator.random()) / pace * rate))
        if generator.random() < 0.6:
            size_hiss = max(8, int((0.03 + 0.07 * generator.random()) * rate))
            hiss = shaped(size_hiss, rate, generator, lambda f: np.minimum(f / 3000.0, 1.0) ** 2)
            _add(signal, place, 0.12 * hiss * np.hanning(size_hiss))
            place += int(0.8 * size_hiss)
        tone = _vowel(size, rate, pitch * (0.9 + 0.25 * generator.random()), vowel, tract, generator)
        _add(signal, place, (0.5 + generator.random()) * tone)
        place += size + int(0.03 * generator.random() * rate)
        left -= 1
        if left == 0:
            place += int((0.15 + 0.35 * generator.random()) * rate)
            left = int(generator.integers(4, 12))
            pitch *= 0.93 + 0.14 * generator.random()
    return signal


def _vowel(
    size: int,
    rate: int,
    pitch: float,
    formants: tuple[float, ...],
    tract: float,
    generator: np.random.Generator,
) -> Signal:
    from scipy.signal import lfilter

    # A pulse train with a little jitter, through one resonance a formant.
    curve = pitch * (1.0 + 0.08 * np.linspace(1.0, -1.0, size)) * (1.0 + 0.01 * generator.standard_normal())
    pulses = np.diff(np.floor(np.cumsum(curve) / rate), prepend=-1.0)
    tone = pulses
    for number, formant in enumerate(formants):
        centre = formant * tract
        if centre > 0.45 * rate:
            continue
        radius = np.exp(-np.pi * (60.0 + 40.0 * number) / rate)
        resonance = [1.0, -2.0 * radius * np.cos(2.0 * np.pi * centre / rate), radius**2]
        tone = lfilter([sum(resonance)], resonance, tone)
    return unit(tone) * np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 0.7


def _add(signal: Signal, place: int, piece: Signal) -> None:
    piece = piece[: max(len(signal) - place, 0)]
    signal[place : place + len(piece)] += piece


def babble(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return eight talkers at once."""
    return _crowd(length, rate, generator, 8)


def cafe(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a café: many talkers and dishes."""
    dishes = unit(clatter(length, rate, generator))
    return _crowd(length, rate, generator, 10) + 0.4 * dishes


def neighbour(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return one talker behind a wall."""
    from scipy.signal import butter, sosfilt

    muffle = butter(2, min(800.0, 0.4 * rate), fs=rate, output="sos")
    return unit(np.asarray(sosfilt(muffle, talker(length, rate, generator))))


def _crowd(length: int, rate: int, generator: np.random.Generator, talkers: int) -> Signal:
    levels = np.exp(0.4 * generator.standard_normal(talkers))
    return unit(np.sum([level * unit(talker(length, rate, generator)) for level in levels], axis=0))
