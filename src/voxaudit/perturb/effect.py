"""Studio effects as SoX makes them, with SRB's arguments (appendix A).

Each was matched with the `sox` program by measurement, down to the numbers it rounds: echo and chorus leave it in
24 bits, cut off towards zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.perturb.base import Perturbation, parameter

_Number = TypeVar("_Number", np.int64, np.float64)

BITS_24 = float(2**23)
"""Full scale in 24 bits."""


def _factor(usual: float) -> Any:
    return parameter(usual, at_least=0, at_most=1, note="a factor")


@dataclass(frozen=True)
class Echo(Perturbation):
    """The audio is longer by the delay."""

    does = "Add one echo after {delay:g} ms: a large hall (SRB Table 2)"
    units: ClassVar[Mapping[str, str]] = {"delay": "ms"}
    severities = ({"delay": 125.0}, {"delay": 250.0}, {"delay": 500.0}, {"delay": 1000.0})

    delay: float = parameter(above=0, at_most=10_000)
    decay: float = _factor(0.3)
    gain_in: float = _factor(0.8)
    gain_out: float = _factor(0.9)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `gain_out * (gain_in * x[n] + decay * x[n - delay])`."""
        count, delay = len(samples), self._delay(rate)
        mixed = np.zeros(count + delay)
        # SoX keeps its settings in single precision: to be cut to the same 24 bits, so do we.
        np.multiply(samples, BITS_24 * np.float32(self.gain_in), out=mixed[:count], dtype=np.float64)
        mixed[delay:] += np.multiply(samples, BITS_24 * np.float32(self.decay), dtype=np.float64)
        mixed *= np.float32(self.gain_out)
        return _cut_to_24_bits(mixed)

    def length(self, samples: int, rate: int) -> int:
        """Return the number of samples until the echo has ended."""
        return samples + self._delay(rate)

    def _delay(self, rate: int) -> int:
        return int(self.delay * rate / 1000.0)


@dataclass(frozen=True)
class Chorus(Perturbation):
    """The first voice (at 0.4) wavers in a triangle at 0.25 Hz, the second (at 0.3) in a sine at 0.4 Hz."""

    does = "Add two voices, {delay:g} ms late and 10 ms later, wavering by 2 ms: several speak at once (SRB Table 2)"
    units: ClassVar[Mapping[str, str]] = {"delay": "ms"}
    severities = ({"delay": 30.0}, {"delay": 50.0}, {"delay": 70.0}, {"delay": 90.0})

    delay: float = parameter(at_least=20, at_most=90)
    gain_in: float = _factor(0.9)
    gain_out: float = _factor(0.9)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples with both voices, in single precision as SoX computes it."""
        room = self._room(rate)
        count = len(samples) + room
        padded = np.zeros(room + count, np.float32)
        padded[room : room + len(samples)] = samples
        mixed = padded[room:] * np.float32(self.gain_in)
        for decay, delays in (
            (np.float32(0.4), _triangle_delays(rate, 0.25, self.delay, 2.0)),
            (np.float32(0.3), _sine_delays(rate, 0.4, 2.0, room)),
        ):
            source = np.arange(room, room + count)
            for begin in range(0, count, len(delays)):
                source[begin : begin + len(delays)] -= delays[: count - begin]
            voice = padded.take(source)
            voice *= decay
            mixed += voice
        mixed *= np.float32(self.gain_out)
        mixed *= np.float32(BITS_24)
        return _cut_to_24_bits(mixed)

    def length(self, samples: int, rate: int) -> int:
        """Return the number of samples until the later voice has ended."""
        return samples + self._room(rate)

    def _room(self, rate: int) -> int:
        return _milliseconds(self.delay + 10.0 + 2.0, rate)


@dataclass(frozen=True)
class Phaser(Perturbation):
    """The delay runs in a triangle from one sample to `delay` ms and back, `speed` times a second."""

    does = "Feed the sound back after a short wavering delay, at {decay:g}: a swirling, hollow voice (SRB Table 2)"
    units: ClassVar[Mapping[str, str]] = {"delay": "ms", "speed": "Hz"}
    severities = ({"decay": 0.3}, {"decay": 0.5}, {"decay": 0.7}, {"decay": 0.9})

    decay: float = parameter(at_least=0, at_most=0.99, note="a share of the sound")
    delay: float = parameter(3.0, above=0, at_most=5)
    speed: float = parameter(2.0, at_least=0.1, at_most=2)
    gain_in: float = _factor(0.6)
    gain_out: float = _factor(0.8)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return `gain_out * y`, where `y[n] = gain_in * x[n] + decay * y[n - d[n]]` and `d` wavers."""
        delays = _phaser_delays(rate, self.speed, self.delay)
        heard = feedback(self.gain_in * samples.astype(np.float64), delays, self.decay)
        return np.clip(self.gain_out * heard, -1.0, 1.0).astype(np.float32)


def feedback(signal: NDArray[np.float64], delays: NDArray[np.int64], decay: float) -> NDArray[np.float64]:
    """Return `y[n] = signal[n] + decay * y[n - delays[n]]`; `delays` (at least 1) is one period, and repeats.

    `y[n]` sums the signal along a chain of delays, each link `decay` times the last. Sums over 2^k links are made
    from two over half as many, until what is left is below rounding: array operations in place of a loop.

    >>> feedback(np.array([1.0, 0.0, 0.0, 0.0, 2.0]), np.array([2]), 0.5)
    array([1.  , 0.  , 0.5 , 0.  , 2.25])
    """
    longest = int(delays.max())
    # Zeros before the start stand for the silence before the recording; a chain ends in the first of them.
    total = np.concatenate([np.zeros(longest), signal])
    before = np.concatenate([np.zeros(longest, np.int64), np.arange(len(signal)) + longest])
    before[longest:] -= np.resize(delays, len(signal))
    while decay > np.finfo(np.float64).eps ** 2:
        total += decay * total[before]
        before, decay = before[before], decay * decay
    return total[longest:]


@dataclass(frozen=True)
class Tremolo(Perturbation):
    does = "Let the loudness waver {speed:g} times a second, {depth:g} % of it at most: a trembling voice (SRB Table 2)"
    units: ClassVar[Mapping[str, str]] = {"depth": "%", "speed": "Hz"}
    severities = ({"depth": 50.0}, {"depth": 66.0}, {"depth": 83.0}, {"depth": 100.0})

    depth: float = parameter(at_least=0, at_most=100)
    speed: float = parameter(20.0, above=0, at_most=1000)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples times `1 - depth / 100 * (1 - cos(2 pi speed t)) / 2`."""
        count = len(samples)
        # The wave repeats after a whole number of samples where the speed is a whole number of Hz.
        whole = float(self.speed).is_integer()
        wave = _tremolo_wave(
            rate, self.speed, self.depth, rate // math.gcd(rate, int(self.speed)) if whole else count
        )
        out = np.empty(count, np.float32)
        even = count // len(wave) * len(wave)
        shape = (-1, len(wave))
        np.multiply(samples[:even].reshape(shape), wave, out=out[:even].reshape(shape), casting="unsafe")
        np.multiply(samples[even:], wave[: count - even], out=out[even:], casting="unsafe")
        return np.clip(out, np.float32(-1.0), np.float32(1.0), out=out)


def _cut_to_24_bits(scaled: NDArray[np.floating]) -> Samples:
    """Return samples from numbers at the scale of 24 bits, which are changed: limited and cut towards zero."""
    np.trunc(scaled, out=scaled)
    np.clip(scaled, -BITS_24, BITS_24 - 1.0, out=scaled)
    scaled *= 1.0 / BITS_24
    return scaled.astype(np.float32, copy=False)


def _milliseconds(value: float, rate: int) -> int:
    """Return the whole samples in `value` ms."""
    return int(value * rate / 1000.0)


def _period(rate: int, speed: float) -> int:
    """Return the length of a chorus's wave in samples; the speed, as SoX keeps it, is in single precision."""
    return max(int(rate / float(np.float32(speed))), 1)


@lru_cache(maxsize=32)
def _triangle_delays(rate: int, speed: float, delay: float, depth: float) -> NDArray[np.int64]:
    """Return a period of delays in samples, from `delay - depth` to `delay + depth` ms and back."""
    period = _period(rate, speed)
    swing = 2 * _milliseconds(depth, rate)
    phase = np.arange(period)
    rise = np.minimum(phase, period - phase)
    shortest = _milliseconds(delay + depth, rate) - 1 - swing
    delays = shortest + (4 * swing * rise + period) // (2 * period)
    return _frozen(np.maximum(delays, 1))


@lru_cache(maxsize=32)
def _sine_delays(rate: int, speed: float, depth: float, room: int) -> NDArray[np.int64]:
    """Return a period of delays in samples, from none to `depth` ms and back.

    So SoX has it: a voice that wavers in a sine is hardly late at all, except that no delay is the longest, `room`.
    """
    phase = 2.0 * np.pi * np.arange(_period(rate, speed)) / _period(rate, speed)
    delays = np.floor((1.0 + np.sin(phase)) / 2.0 * _milliseconds(depth, rate) + 0.5).astype(np.int64)
    return _frozen(np.where(delays == 0, room, delays))


@lru_cache(maxsize=32)
def _phaser_delays(rate: int, speed: float, delay: float) -> NDArray[np.int64]:
    """Return a period of delays in samples, from 1 to `delay` ms and back; in whole numbers, as ties matter."""
    longest = max(int(delay * rate / 1000.0 + 0.5), 1)
    period = max(int(rate / speed + 0.5), 1)
    quarter = int(period / 4 + 0.5)
    distance = np.abs(4 * ((np.arange(period) + quarter) % period) - period)
    distance = np.minimum(distance, 4 * period - distance)
    return _frozen(longest - ((longest - 1) * (2 * period - distance) + period) // (2 * period))


@lru_cache(maxsize=32)
def _tremolo_wave(rate: int, speed: float, depth: float, count: int) -> NDArray[np.float64]:
    phase = 2.0 * np.pi * speed * np.arange(count) / rate
    return _frozen(1.0 - depth / 100.0 * (1.0 - np.cos(phase)) / 2.0)


def _frozen(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the array made read-only: every call with the same settings gets the same one."""
    values.flags.writeable = False
    return values
