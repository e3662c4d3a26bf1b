"""Where impulse responses come from: rooms simulated anew for each trial, a built-in set, or the user's recordings."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from voxaudit.audio import AudioError, Samples, content_hash, read
from voxaudit.numeric import irfft, next_fast_len, rfft
from voxaudit.perturb.acoustics import RATE, measure_rt60, reverberate, srmr
from voxaudit.perturb.base import trial_generator
from voxaudit.perturb.sources.base import RoomSource, Signal, digest
from voxaudit.perturb.sources.cut import KEPT, made_once
from voxaudit.perturb.sources.folder import find_audio, spread, unusable

# Impulse responses of simulated rooms: images of the source for what comes early, noise for what comes late.

SOUND = 343.0
"""Meters per second."""

EARLY = 0.05
"""Seconds after the direct sound in which single reflections count; later ones are too many to tell apart."""

TAPS = 41
"""Length of the interpolation between samples."""

RUMBLE = 60.0
"""Hz below which reflections are cut: images all push the same way and would add up to a thump."""


@dataclass(frozen=True)
class Room:
    """A shoebox with a talker and a microphone: sizes and places in meters, walls by RT60 in seconds."""

    size: tuple[float, float, float]
    talker: tuple[float, float, float]
    microphone: tuple[float, float, float]
    rt60: float

    @property
    def volume(self) -> float:
        """Cubic meters."""
        return float(np.prod(self.size))

    @property
    def distance(self) -> float:
        """Meters from talker to microphone."""
        return float(np.linalg.norm(np.subtract(self.talker, self.microphone)))

    @property
    def reflection(self) -> float:
        """Share of the amplitude that a wall gives back, by Eyring's formula."""
        x, y, z = self.size
        surface = 2.0 * (x * y + y * z + x * z)
        # RT60 = 24 ln(10) V / (-c S ln(1 - a)) with 1 - a = reflection^2.
        return float(np.exp(-0.5 * 24.0 * np.log(10.0) / SOUND * self.volume / (surface * self.rt60)))


def random_room(rt60: float, generator: np.random.Generator) -> Room:
    """Return a living room to a lecture room, both people at least half a meter from the walls and each other."""
    size = generator.uniform((3.0, 3.0, 2.4), (10.0, 8.0, 4.0))
    while True:
        # Both are drawn again where they are too near: moving only one would favor some places.
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
    # A fade of equal power: images and noise have nothing in common, so powers add.
    turn = 0.5 * np.pi * np.clip(2.0 * time / EARLY - 1.0, 0.0, 1.0)
    response = response * np.cos(turn) + late * np.sin(turn)
    return with_rt60(response, rate, room.rt60)


def image_response(room: Room, rate: int, until: float) -> Signal:
    """Return the images of a talker in a shoebox (Allen and Berkley 1979) up to `until` s after the direct sound."""
    reach = room.distance + SOUND * until
    squares, orders = np.zeros(1), np.zeros(1, int)
    for size, talker, microphone in zip(room.size, room.talker, room.microphone, strict=True):
        count = int(reach / (2.0 * size)) + 1
        n = np.arange(-count, count + 1)
        # An image at 2 n L + x has met 2 |n| walls, one at 2 n L - x has met |2 n - 1|.
        place = np.concatenate([2.0 * n * size + talker, 2.0 * n * size - talker]) - microphone
        order = np.concatenate([2 * np.abs(n), np.abs(n - 1) + np.abs(n)])
        squares = np.add.outer(squares, place**2).ravel()
        orders = np.add.outer(orders, order).ravel()
        # What is too far already is dropped before the next axis multiplies the number of images.
        near = squares < reach**2
        squares, orders = squares[near], orders[near]
    distance = np.sqrt(squares)
    levels = room.reflection**orders * room.distance / distance
    delays = (distance - room.distance) / SOUND * rate
    direct = orders == 0
    response = _place(delays[~direct], levels[~direct], int(until * rate) + 1)
    # The direct sound is left as it is: only the reflections add up to a thump.
    response = _without_rumble(response, rate)
    response[0] += 1.0
    return response


def _without_rumble(response: Signal, rate: int) -> Signal:
    """Return a response through a Butterworth high-pass of order 2 at `RUMBLE` Hz.

    By its spectrum: the module with scipy's filters takes a worker a second to import. What it rings on for is over
    (-200 dB) before the transform begins again.
    """
    size = next_fast_len(len(response) + rate // 10)
    turn = np.exp(-2j * np.pi * np.fft.rfftfreq(size))
    edge = np.tan(np.pi * RUMBLE / rate)
    recursive = 1 + np.sqrt(2) * edge + edge**2, 2 * (edge**2 - 1), 1 - np.sqrt(2) * edge + edge**2
    gain = (1 - turn) ** 2 / (recursive[0] + recursive[1] * turn + recursive[2] * turn**2)
    return np.asarray(irfft(rfft(response, size) * gain, size)[: len(response)])


def _place(delays: Signal, levels: Signal, length: int) -> Signal:
    """Return impulses at fractional delays in samples, each as a windowed sinc."""
    half = TAPS // 2
    whole = np.round(delays).astype(int)
    offset = np.arange(-half, half + 1) - (delays - whole)[:, None]
    taps = levels[:, None] * np.sinc(offset) * np.cos(np.pi * offset / (TAPS + 1)) ** 2
    index = whole[:, None] + np.arange(-half, half + 1) + half
    # bincount adds many images to a sample at once; np.add.at does the same many times slower.
    response = np.bincount(index.ravel(), taps.ravel(), minlength=length + TAPS)
    return np.asarray(response[half : half + length], np.float64)


def with_rt60(response: Signal, rate: int, rt60: float) -> Signal:
    """Return the response bent by an exponential until its measured RT60 is as asked."""
    time = np.arange(len(response)) / rate
    for _ in range(4):
        measured = measure_rt60(response, rate)
        if not np.isfinite(measured) or abs(measured / rt60 - 1.0) < 0.01:
            break
        # An exponential changes the rate of decay by its own; again, as early reflections bend what is measured.
        response = response * 10.0 ** (-3.0 * time * (1.0 / rt60 - 1.0 / measured))
    return response


def diffuse_response(rt60: float, drr: float, rate: int, generator: np.random.Generator) -> Signal:
    """Return a response as halls have it: a few early reflections, and a tail that loses its highs first.

    `rt60` (seconds) holds at 1 kHz, with 1.2 times that at 125 Hz and half of it at 8 kHz; `drr` is the
    direct-to-reverberant ratio in dB.
    """
    length = max(TAPS, int(1.4 * rt60 * rate))
    time = np.arange(length) / rate
    size = next_fast_len(length)
    noise = rfft(generator.standard_normal(size))
    octave = np.log2(np.maximum(np.fft.rfftfreq(size, 1.0 / rate), 30.0) / 1000.0)
    edges = (-5.1, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0)
    tail = np.zeros(length)
    for low, high in pairwise(edges):
        middle = 0.5 * (max(low, -3.0) + min(high, 3.0))
        own = rt60 * float(np.interp(middle, (-3.0, 0.0, 3.0), (1.2, 1.0, 0.5)))
        band = irfft(noise * ((octave >= low) & (octave < high)), size)[:length]
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


# The built-in responses of `real_rir`: their settings and what was measured of them.


class Hall(NamedTuple):
    """A simulated response: RT60 in seconds, direct-to-reverberant ratio in dB, and its measured SRMR."""

    rt60: float
    drr: float
    srmr: float


HALLS = tuple(
    Hall(*map(float, line.split(",")))
    for line in files("voxaudit.perturb.sources").joinpath("halls.csv").read_text("utf-8").split()[1:]
)
"""Seeded by their number: append, never reorder."""


NEAR = 0.15
"""Responses whose measure is within this share of the one asked for are drawn from."""

FEWEST = 4
"""Where fewer are that near, this many nearest ones are drawn from."""

MOST = 400
"""Responses of a folder that are measured and used, evenly spaced over its sorted names."""

LONGEST = 5.0
"""Seconds of a recorded response that are used."""


@dataclass(frozen=True, repr=False)
class SimulatedRooms(RoomSource):
    """A new shoebox room for every trial, with the RT60 asked for."""

    version: ClassVar[int] = 2

    def describe(self) -> str:
        """Return what these rooms are."""
        return "simulated: a new room for every trial, size and places at random, RT60 as asked"

    def fingerprint(self) -> str:
        """Return the version of the simulation."""
        return f"simulated rooms v{self.version}"

    def draw(self, asked: float, rate: int, generator: np.random.Generator) -> Signal:
        """Return the response of a random room with an RT60 of `asked` seconds."""
        return room_response(random_room(asked, generator), rate, generator)


@dataclass(frozen=True, repr=False)
class SimulatedHalls(RoomSource):
    """A fixed set of simulated responses with a tail that loses its highs first, chosen by SRMR."""

    version: ClassVar[int] = 1

    def describe(self) -> str:
        """Return what these responses are, and that they are not recordings."""
        low, high = min(hall.srmr for hall in HALLS), max(hall.srmr for hall in HALLS)
        return f"simulated in place of recordings: {len(HALLS)} responses, SRMR {low:.1f} to {high:.1f}"

    def fingerprint(self) -> str:
        """Return the version of the set."""
        return f"simulated halls v{self.version}"

    def draw(self, asked: float, rate: int, generator: np.random.Generator) -> Signal:
        """Return one of the responses whose SRMR is near `asked`."""
        number = pick(tuple(hall.srmr for hall in HALLS), asked, generator)
        name = f"hall-{number}-{rate}-v{self.version}"
        made = KEPT.get(name, lambda: made_once(name, lambda: hall_response(number, rate)))
        return made.astype(np.float64)


def hall_response(number: int, rate: int) -> Samples:
    """Return a response of the built-in set at `rate` Hz."""
    hall = HALLS[number]
    generator = trial_generator(SimulatedHalls.version, "hall", str(number))
    response: Samples = diffuse_response(hall.rt60, hall.drr, rate, generator).astype(np.float32)
    return response


@dataclass(frozen=True, repr=False)
class RecordedRooms(RoomSource):
    """Impulse responses from the user's folder, each with its measure: RT60 in seconds, or SRMR."""

    title: str
    measure: str
    paths: tuple[str, ...]
    values: tuple[float, ...]
    content: str
    skipped: tuple[tuple[str, int], ...] = ()
    folder: str = ""

    def describe(self) -> str:
        """Return the title, the number of responses and the range of their measure."""
        left_out = ", ".join(f"{count} {reason}" for reason, count in self.skipped)
        return (
            f"{self.title}: {len(self.paths)} responses, {self.measure} {min(self.values):.2g} to"
            f" {max(self.values):.2g}" + (f" (left out: {left_out})" if left_out else "")
        )

    def fingerprint(self) -> str:
        """Return the digest of the responses' contents and what they are chosen by."""
        return f"responses by {self.measure} {self.content}"

    def draw(self, asked: float, rate: int, generator: np.random.Generator) -> Signal:
        """Return one of the responses whose measure is near `asked`."""
        path = self.paths[pick(self.values, asked, generator)]
        return KEPT.get(("response", path, rate), lambda: read_response(path, rate)).astype(np.float64)


def pick(values: tuple[float, ...], asked: float, generator: np.random.Generator) -> int:
    """Return the number of a value drawn from those near the one asked for (see `NEAR` and `FEWEST`)."""
    gaps = np.abs(np.log(np.maximum(values, 1e-9)) - math.log(max(asked, 1e-9)))
    order = np.argsort(gaps, kind="stable")
    near = max(int(np.sum(gaps <= math.log(1.0 + NEAR))), min(FEWEST, len(values)))
    return int(order[int(generator.integers(near))])


def read_response(path: str | Path, rate: int) -> Samples:
    """Return the first channel of a recorded response at `rate` Hz, from its direct sound (its peak) on.

    Channels of an array are not averaged: their delays differ, and the sum would be another room.
    """
    samples = read(path, rate=rate, channel=0).samples
    start = int(np.argmax(np.abs(samples)))
    # A copy, so that the whole recording is not kept for the sake of a part.
    return samples[start : start + round(LONGEST * rate)].copy()


def open_rooms(path: str | Path, part: str, *, by: str) -> RecordedRooms:
    """Return the impulse responses of a folder, measured `by` "RT60" or "SRMR"; what has no measure is left out."""
    found = find_audio(path, part)
    chosen = spread(found.names, MOST)
    paths: list[str] = []
    values: list[float] = []
    hashes: list[str] = []
    skipped: Counter[str] = Counter()
    if len(chosen) < len(found.names):
        skipped["to keep it quick"] = len(found.names) - len(chosen)
    for name in chosen:
        file = str(found.folder / name)
        try:
            response = read_response(file, RATE).astype(np.float64)
        except AudioError:
            skipped["unreadable"] += 1
            continue
        if not np.isfinite(response).all() or not response.any():
            skipped["silent or not finite"] += 1
            continue
        value = measure_rt60(response, RATE) if by == "RT60" else probe_srmr(response)
        if not math.isfinite(value):
            skipped["too short to measure"] += 1
            continue
        paths.append(file)
        values.append(value)
        hashes.append(content_hash(file))
    if not paths:
        raise unusable(found, skipped)
    return RecordedRooms(
        title=found.title,
        measure=by,
        paths=tuple(paths),
        values=tuple(values),
        content=digest(hashes),
        skipped=tuple(sorted(skipped.items())),
        folder=str(found.root),
    )


def probe_srmr(response: Signal) -> float:
    """Return the SRMR of a synthetic talker heard through a response at 16 kHz.

    Speech Robust Bench takes the mean over utterances of its corpus; a fixed talker makes a response's
    severity the same in every run.
    """
    return srmr(reverberate(_probe(), response), RATE)


@cache
def _probe() -> Samples:
    from voxaudit.perturb.sources.builtin import make

    return make("talker", PROBE, RATE)[: 4 * RATE]


PROBE = 3
"""The take of the built-in talker that responses are measured with."""
