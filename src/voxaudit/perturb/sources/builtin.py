"""The built-in set: clips made by formula from fixed seeds, so that every scenario runs without any download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voxaudit.audio import Samples
from voxaudit.numeric import irfft, lfilter, next_fast_len, rfft
from voxaudit.perturb.base import trial_generator
from voxaudit.perturb.sources.base import NoiseSource, Signal
from voxaudit.perturb.sources.cut import KEPT, cut, made_once

# Sounds of rooms, streets and weather, made by formula. Levels do not matter: noise is scaled to an SNR.

Maker = Callable[[int, int, np.random.Generator], Signal]
"""Makes `length` samples at `rate` Hz from a generator."""


def shaped(
    length: int, rate: int, generator: np.random.Generator, gain: Callable[[Signal], Signal]
) -> Signal:
    """Return Gaussian noise whose amplitude spectrum is `gain(frequency in Hz)`, with RMS 1."""
    size = next_fast_len(max(length, 2))
    spectrum = rfft(generator.standard_normal(size))
    frequency = np.maximum(np.fft.rfftfreq(size, 1.0 / rate), 1.0)
    return unit(irfft(spectrum * gain(frequency), size)[:length])


def unit(signal: Signal) -> Signal:
    """Return the signal with RMS 1; silence as it is."""
    power = float(np.mean(signal**2))
    return signal / np.sqrt(power) if power > 0.0 else signal


def slow(length: int, rate: int, generator: np.random.Generator, hertz: float) -> Signal:
    """Return a random curve that moves about `hertz` times a second, mean 0 and standard deviation about 1."""
    knots = max(4, int(length / rate * hertz * 2.0) + 3)
    values = generator.standard_normal(knots)
    place = np.linspace(0.0, knots - 1.000001, length)
    whole = place.astype(int)
    ease = 0.5 - 0.5 * np.cos(np.pi * (place - whole))
    curve: Signal = values[whole] * (1.0 - ease) + values[np.minimum(whole + 1, knots - 1)] * ease
    return curve


def band(low: float, high: float) -> Callable[[Signal], Signal]:
    """Return a gain that falls by 6 dB per octave outside `low` to `high` Hz."""
    return lambda f: np.minimum(f / low, 1.0) * np.minimum(high / f, 1.0)


def strike(
    length: int, rate: int, generator: np.random.Generator, per_second: float, kernels: list[Signal]
) -> Signal:
    """Return the kernels (short sounds) struck at random moments, with random strength."""
    signal = np.zeros(length)
    count = max(1, int(generator.poisson(per_second * length / rate)))
    for place, which, level in zip(
        generator.integers(length, size=count),
        generator.integers(len(kernels), size=count),
        np.exp(0.5 * generator.standard_normal(count)),
        strict=True,
    ):
        _add(signal, place, level * kernels[which])
    return signal


def ring(rate: int, generator: np.random.Generator, hertz: float, seconds: float, noise: float) -> Signal:
    """Return a struck body: a decaying tone at `hertz`, mixed with a share of noise."""
    t = np.arange(max(2, int(3.0 * seconds * rate))) / rate
    tone = np.sin(2.0 * np.pi * min(hertz, 0.45 * rate) * t)
    return np.exp(-t / seconds) * ((1.0 - noise) * tone + noise * generator.standard_normal(len(t)))


def harmonics(phase: Signal, weights: Signal) -> Signal:
    """Return the sum of `weights[k] * sin((k + 1) * phase)`."""
    turn = np.exp(1j * phase)
    power, total = turn.copy(), np.zeros(len(phase))
    for weight in weights:
        total += weight * power.imag
        power *= turn
    return total


def pink(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return noise with equal power per octave."""
    return shaped(length, rate, generator, lambda f: np.maximum(f, 20.0) ** -0.5)


def brown(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return rumble: power falls by 6 dB per octave."""
    return shaped(length, rate, generator, lambda f: np.maximum(f, 20.0) ** -1.0)


def hum(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return mains hum at 50 or 60 Hz with its overtones, over a faint hiss."""
    mains = 50.0 if generator.random() < 0.5 else 60.0
    phase = 2.0 * np.pi * (mains * np.arange(length) / rate + generator.random())
    weights = generator.random(20) / np.arange(1, 21) ** 0.7
    return unit(harmonics(phase, weights)) + 0.1 * pink(length, rate, generator)


def fan(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return an air conditioner: dull noise, a blade tone, a slow wobble."""
    noise = shaped(length, rate, generator, band(80.0, 500.0))
    blade = 40.0 + 80.0 * generator.random()
    phase = 2.0 * np.pi * blade * np.arange(length) / rate
    tone = unit(harmonics(phase, generator.random(6) / np.arange(1, 7)))
    return noise * (1.0 + 0.15 * slow(length, rate, generator, 2.0)) + 0.3 * tone


def rain(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return rain: bright noise and many drops."""
    hiss = shaped(length, rate, generator, band(1500.0, 7000.0))
    drops = [ring(rate, generator, 800.0 + 3000.0 * generator.random(), 0.002, 0.6) for _ in range(8)]
    return hiss + unit(strike(length, rate, generator, 60.0, drops))


def wind(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return gusts: low noise that swells and falls."""
    gusts = np.exp(0.8 * slow(length, rate, generator, 0.7))
    return shaped(length, rate, generator, band(60.0, 250.0)) * gusts


def thunder(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return rolling thunder over rain."""
    rolls = np.exp(1.3 * slow(length, rate, generator, 1.5))
    return shaped(length, rate, generator, band(30.0, 120.0)) * rolls + 0.15 * rain(length, rate, generator)


def typing(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a keyboard: clicks in a quiet room."""
    keys = [ring(rate, generator, 1200.0 + 2500.0 * generator.random(), 0.004, 0.7) for _ in range(10)]
    clicks = unit(strike(length, rate, generator, 7.0, keys))
    return clicks + 0.1 * pink(length, rate, generator)


def footsteps(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return steps at a walking pace on a hard floor."""
    signal = 0.02 * pink(length, rate, generator)
    gap = 0.45 + 0.2 * generator.random()
    for moment in np.arange(0.1, length / rate, gap):
        step = ring(rate, generator, 90.0 + 60.0 * generator.random(), 0.03, 0.5)
        _add(signal, int((moment + 0.02 * generator.random()) * rate), step)
    return signal


def clock(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a ticking clock."""
    signal = 0.01 * pink(length, rate, generator)
    ticks = [ring(rate, generator, hertz, 0.006, 0.3) for hertz in (2200.0, 2600.0)]
    for number, place in enumerate(range(0, length, max(rate // 2, 1))):
        _add(signal, place, ticks[number % 2])
    return signal


def engine(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return an idling or driving engine: a wandering low tone with many overtones, and road noise."""
    speed = (25.0 + 45.0 * generator.random()) * np.exp(0.08 * slow(length, rate, generator, 0.5))
    phase = 2.0 * np.pi * np.cumsum(speed) / rate
    tone = unit(harmonics(phase, generator.random(24) / np.arange(1, 25) ** 0.5))
    return tone + 0.5 * shaped(length, rate, generator, band(60.0, 400.0))


def traffic(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a street: rumble, and cars that pass by."""
    signal = brown(length, rate, generator)
    t = np.arange(length) / rate
    for _ in range(max(1, int(generator.poisson(0.4 * length / rate)))):
        middle, width = generator.random() * length / rate, 0.5 + generator.random()
        passing = np.exp(-0.5 * ((t - middle) / width) ** 2)
        signal += 3.0 * passing * shaped(length, rate, generator, band(200.0, 1500.0))
    return signal


def siren(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a siren that rises and falls over a street."""
    t = np.arange(length) / rate
    sweep = 900.0 + 350.0 * np.sin(2.0 * np.pi * (0.3 + 0.5 * generator.random()) * t)
    tone = unit(harmonics(2.0 * np.pi * np.cumsum(sweep) / rate, np.array([1.0, 0.3, 0.15])))
    return tone + 0.4 * traffic(length, rate, generator)


def birds(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return chirps over a light wind."""
    calls = []
    for _ in range(6):
        t = np.arange(max(2, int((0.08 + 0.12 * generator.random()) * rate))) / rate
        start, end = (2000.0 + 1500.0 * generator.random(2)) * min(1.0, rate / 16000.0)
        phase = 2.0 * np.pi * np.cumsum(np.linspace(start, end, len(t))) / rate
        calls.append(np.sin(phase) * np.sin(np.pi * t / t[-1]) ** 2)
    return unit(strike(length, rate, generator, 4.0, calls)) + 0.2 * wind(length, rate, generator)


def beeps(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a telephone: dial tones and key tones."""
    signal = 0.02 * pink(length, rate, generator)
    t = np.arange(length) / rate
    step = 0.25 + 0.2 * generator.random()
    low, high = (697.0, 770.0, 852.0, 941.0), (1209.0, 1336.0, 1477.0)
    for start in np.arange(0.0, length / rate, step):
        pair = low[int(generator.integers(4))], high[int(generator.integers(3))]
        first, last = int(start * rate), int((start + 0.6 * step) * rate)
        now = t[first:last]
        signal[first:last] += np.sin(2.0 * np.pi * pair[0] * now) + np.sin(2.0 * np.pi * pair[1] * now)
    return signal


def clatter(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return dishes and cutlery."""
    dishes = [ring(rate, generator, 1500.0 + 3000.0 * generator.random(), 0.05, 0.1) for _ in range(8)]
    return strike(length, rate, generator, 2.5, dishes) + 0.02 * pink(length, rate, generator)


# Talkers made by formula: no words, but the rhythm, the pitch and the formants of speech.

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
    # A pulse train with a little jitter, through one resonance per formant.
    curve = pitch * (1.0 + 0.08 * np.linspace(1.0, -1.0, size)) * (1.0 + 0.01 * generator.standard_normal())
    pulses = np.diff(np.floor(np.cumsum(curve) / rate), prepend=-1.0)
    tone = pulses
    for number, formant in enumerate(formants):
        center = formant * tract
        if center > 0.45 * rate:
            continue
        radius = np.exp(-np.pi * (60.0 + 40.0 * number) / rate)
        resonance = [1.0, -2.0 * radius * np.cos(2.0 * np.pi * center / rate), radius**2]
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


def neighbor(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return one talker behind a wall."""
    from scipy.signal import butter, sosfilt

    muffle = butter(2, min(800.0, 0.4 * rate), fs=rate, output="sos")
    return unit(np.asarray(sosfilt(muffle, talker(length, rate, generator))))


def _crowd(length: int, rate: int, generator: np.random.Generator, talkers: int) -> Signal:
    levels = np.exp(0.4 * generator.standard_normal(talkers))
    return unit(np.sum([level * unit(talker(length, rate, generator)) for level in levels], axis=0))


# Music made by formula: chords, a melody, a bass and drums.

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


SECONDS = 10.0
"""Length of a built-in clip."""

TAKES = 4
"""Clips of each kind."""

KINDS: dict[str, Maker] = {
    "pink noise": pink,
    "rumble": brown,
    "mains hum": hum,
    "fan": fan,
    "rain": rain,
    "wind": wind,
    "thunder": thunder,
    "typing": typing,
    "footsteps": footsteps,
    "clock": clock,
    "engine": engine,
    "traffic": traffic,
    "siren": siren,
    "birds": birds,
    "telephone tones": beeps,
    "babble": babble,
    "café": cafe,
    "talker behind a wall": neighbor,
    "talker": talker,
    "song": song,
    "ballad": ballad,
}


@dataclass(frozen=True, repr=False)
class BuiltIn(NoiseSource):
    """Some kinds of the built-in set. Raise `version` when a kind gives other samples than before."""

    kinds: tuple[str, ...]
    version: ClassVar[int] = 1

    def describe(self) -> str:
        """Return the kinds and the number of clips."""
        return f"built-in, made by formula ({', '.join(self.kinds)}): {len(self.kinds) * TAKES} clips"

    def fingerprint(self) -> str:
        """Return the kinds and the version of the set."""
        return f"built-in {'+'.join(self.kinds)} v{self.version}"

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of a clip drawn at random."""
        kind = self.kinds[int(generator.integers(len(self.kinds)))]
        take = int(generator.integers(TAKES))
        name = f"{kind}-{take}-{rate}-v{self.version}"
        clip = KEPT.get(name, lambda: made_once(name, lambda: make(kind, take, rate)))
        return cut(clip, length, generator)


def make(kind: str, take: int, rate: int) -> Samples:
    """Return a built-in clip: the same samples for the same kind, take and rate (Hz)."""
    generator = trial_generator(BuiltIn.version, f"built-in {kind}", str(take))
    length = max(1, round(SECONDS * rate))
    clip: Samples = unit(KINDS[kind](length, rate, generator)).astype(np.float32)
    return clip


# What each collection is known for, so that the four environments differ.
OFFICE = BuiltIn(("fan", "typing", "babble", "mains hum", "talker behind a wall", "pink noise"))
NATURE = BuiltIn(("rain", "wind", "birds", "clock", "footsteps", "engine", "siren"))
TECHNICAL = BuiltIn(("telephone tones", "thunder", "engine", "footsteps", "rumble", "wind"))
TOWN = BuiltIn(("café", "traffic", "babble"))
MUSIC = BuiltIn(("song", "ballad"))
TALKERS = BuiltIn(("talker",))
