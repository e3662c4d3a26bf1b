"""Sounds of rooms, streets and weather, made by formula. Levels do not matter: noise is scaled to an SNR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from voxaudit.perturb.sources.base import Signal

Maker = Callable[[int, int, np.random.Generator], Signal]
"""Makes `length` samples at `rate` Hz from a generator."""


def shaped(
    length: int, rate: int, generator: np.random.Generator, gain: Callable[[Signal], Signal]
) -> Signal:
    """Return Gaussian noise whose amplitude spectrum is `gain(frequency in Hz)`, with RMS 1."""
    from scipy import fft

    size = fft.next_fast_len(max(length, 2), real=True)
    spectrum = fft.rfft(generator.standard_normal(size))
    frequency = np.maximum(fft.rfftfreq(size, 1.0 / rate), 1.0)
    return unit(fft.irfft(spectrum * gain(frequency), size)[:length])


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
    """Return a gain that falls by 6 dB an octave outside `low` to `high` Hz."""
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
        piece = kernels[which][: length - place]
        signal[place : place + len(piece)] += level * piece
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
        place = int((moment + 0.02 * generator.random()) * rate)
        piece = step[: max(length - place, 0)]
        signal[place : place + len(piece)] += piece
    return signal


def clock(length: int, rate: int, generator: np.random.Generator) -> Signal:
    """Return a ticking clock."""
    signal = 0.01 * pink(length, rate, generator)
    ticks = [ring(rate, generator, hertz, 0.006, 0.3) for hertz in (2200.0, 2600.0)]
    for number, place in enumerate(range(0, length, max(rate // 2, 1))):
        piece = ticks[number % 2][: length - place]
        signal[place : place + len(piece)] += piece
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
