"""Impulse responses of simulated rooms: images of the source for what comes early, noise for what comes late."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from voxaudit.perturb.acoustics import measure_rt60
from voxaudit.perturb.sources.base import Signal

SOUND = 343.0
"""Metres a second."""

EARLY = 0.05
"""Seconds after the direct sound in which single reflections count; later ones are too many to tell apart."""

TAPS = 41
"""Length of the interpolation between samples."""

RUMBLE = 60.0
"""Hz below which reflections are cut: images all push the same way and would add up to a thump."""


@dataclass(frozen=True)
class Room:
    """A shoebox with a talker and a microphone: sizes and places in metres, walls by RT60 in seconds."""

    size: tuple[float, float, float]
    talker: tuple[float, float, float]
    microphone: tuple[float, float, float]
    rt60: float

    @property
    def volume(self) -> float:
        """Cubic metres."""
        return float(np.prod(self.size))

    @property
    def distance(self) -> float:
        """Metres from talker to microphone."""
        return float(np.linalg.norm(np.subtract(self.talker, self.microphone)))

    @property
    def reflection(self) -> float:
        """Share of the amplitude that a wall gives back, by Eyring's formula."""
        x, y, z = self.size
        surface = 2.0 * (x * y + y * z + x * z)
        return float(np.exp(-0.5 * 24.0 * np.log(10.0) / SOUND * self.volume / (surface * self.rt60)))


def random_room(rt60: float, generator: np.random.Generator) -> Room:
    """Return a living room to a lecture room, both people at least half a metre from the walls and each other."""
    size = generator.uniform((3.0, 3.0, 2.4), (10.0, 8.0, 4.0))
    while True:
        talker, microphone = generator.uniform(0.5, size - 0.5, (2, 3))
        room = Room(_point(size), _point(talker), _point(microphone), rt60)
        if room.distance >= 0.5:
            return room


def _point(values: Signal) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def room_response(room: Room, rate: int, generator: np.random.Generator) -> Signal:
    """Return a room's response at `rate` Hz with its RT60 as asked; it starts with the direct sound, level 1.

    Images within `EARLY` of the direct sound fade into noise that decays with the RT60, at the level that
    the images further out would have: `4 pi r^2 c / V` a second beside the direct sound's 1.
    """
    length = max(TAPS, int(1.15 * room.rt60 * rate))
    early = image_response(room, rate, EARLY)[:length]
    response = np.zeros(length)
    response[: len(early)] = early
    time = np.arange(length) / rate
    level = np.sqrt(4.0 * np.pi * room.distance**2 * SOUND / (room.volume * rate))
    arrival = room.distance / SOUND
    late = level * 10.0 ** (-3.0 * (time + arrival) / room.rt60) * generator.standard_normal(length)
    turn = 0.5 * np.pi * np.clip(2.0 * time / EARLY - 1.0, 0.0, 1.0)
    response = response * np.cos(turn) + late * np.sin(turn)
    return with_rt60(response, rate, room.rt60)


def image_response(room: Room, rate: int, until: float) -> Signal:
    """Return the images of a talker in a shoebox (Allen and Berkley 1979) up to `until` s after the direct sound."""
    from scipy.signal import butter, sosfilt

    reach = room.distance + SOUND * until
    squares, orders = np.zeros(1), np.zeros(1, int)
    for size, talker, microphone in zip(room.size, room.talker, room.microphone, strict=True):
        count = int(reach / (2.0 * size)) + 1
        n = np.arange(-count, count + 1)
        place = np.concatenate([2.0 * n * size + talker, 2.0 * n * size - talker]) - microphone
        order = np.concatenate([2 * np.abs(n), np.abs(n - 1) + np.abs(n)])
        squares = np.add.outer(squares, place**2).ravel()
        orders = np.add.outer(orders, order).ravel()
        near = squares < reach**2
        squares, orders = squares[near], orders[near]
    distance = np.sqrt(squares)
    levels = room.reflection**orders * room.distance / distance
    delays = (distance - room.distance) / SOUND * rate
    direct = orders == 0
    response = _place(delays[~direct], levels[~direct], int(until * rate) + 1)
    response = np.asarray(sosfilt(butter(2, RUMBLE, "high", fs=rate, output="sos"), response))
    response[0] += 1.0
    return response


def _place(delays: Signal, levels: Signal, length: int) -> Signal:
    """Return impulses at fractional delays in samples, each as a windowed sinc."""
    half = TAPS // 2
    whole = np.round(delays).astype(int)
    offset = np.arange(-half, half + 1) - (delays - whole)[:, None]
    taps = levels[:, None] * np.sinc(offset) * np.cos(np.pi * offset / (TAPS + 1)) ** 2
    index = whole[:, None] + np.arange(-half, half + 1) + half
    response = np.bincount(index.ravel(), taps.ravel(), minlength=length + TAPS)
    return np.asarray(response[half : half + length], np.float64)


def with_rt60(response: Signal, rate: int, rt60: float) -> Signal:
    """Return the response bent by an exponential until its measured RT60 is as asked."""
    time = np.arange(len(response)) / rate
    for _ in range(4):
        measured = measure_rt60(response, rate)
        if not np.isfinite(measured) or abs(measured / rt60 - 1.0) < 0.01:
            break
        response = response * 10.0 ** (-3.0 * time * (1.0 / rt60 - 1.0 / measured))
    return response


def diffuse_response(rt60: float, drr: float, rate: int, generator: np.random.Generator) -> Signal:
    """Return a response as halls have it: a few early reflections, and a tail that loses its highs first.

    `rt60` (seconds) holds at 1 kHz, with 1.2 times that at 125 Hz and half of it at 8 kHz; `drr` is the
    direct-to-reverberant ratio in dB.
    """
    from scipy import fft

    length = max(TAPS, int(1.4 * rt60 * rate))
    time = np.arange(length) / rate
    size = fft.next_fast_len(length, real=True)
    noise = fft.rfft(generator.standard_normal(size))
    octave = np.log2(np.maximum(fft.rfftfreq(size, 1.0 / rate), 30.0) / 1000.0)
    edges = (-5.1, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0)
    tail = np.zeros(length)
    for low, high in pairwise(edges):
        middle = 0.5 * (max(low, -3.0) + min(high, 3.0))
        own = rt60 * float(np.interp(middle, (-3.0, 0.0, 3.0), (1.2, 1.0, 0.5)))
        band = fft.irfft(noise * ((octave >= low) & (octave < high)), size)[:length]
        tail += band * 10.0 ** (-3.0 * time / own)
    tail *= 1.0 - np.exp(-time / 0.004)
    count = int(generator.integers(6, 12))
    places = (rate * generator.uniform(0.003, 0.05, count)).astype(int)
    signs = np.where(generator.random(count) < 0.5, -1.0, 1.0)
    for place, sign in zip(places, signs, strict=True):
        if place < length:
            tail[place] += 4.0 * sign * 10.0 ** (-3.0 * place / rate / rt60)
    tail[0] = 0.0
    tail *= 10.0 ** (-drr / 20.0) / np.sqrt(np.sum(tail**2))
    tail[0] = 1.0
    return tail
