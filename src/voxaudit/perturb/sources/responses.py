"""Where impulse responses come from: rooms simulated anew for each trial, a built-in set, or the user's recordings."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from voxaudit.audio import Audio, AudioError, Samples, content_hash, resample
from voxaudit.errors import one_line
from voxaudit.perturb.acoustics import measure_rt60, reverberate
from voxaudit.perturb.base import trial_generator
from voxaudit.perturb.sources.base import RoomSource, Signal, digest
from voxaudit.perturb.sources.cut import KEPT
from voxaudit.perturb.sources.folder import find_audio, spread, unusable
from voxaudit.perturb.sources.halls import HALLS
from voxaudit.perturb.sources.simulate import diffuse_response, random_room, room_response
from voxaudit.perturb.srmr import RATE, srmr

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

    version: ClassVar[int] = 1

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
        return KEPT.get(("hall", number, rate), lambda: hall_response(number, rate)).astype(np.float64)


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
    import soundfile

    try:
        data, own_rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError, RuntimeError, TypeError) as error:
        raise AudioError(f"{path}: cannot read this impulse response ({one_line(error, 120)})") from error
    samples = resample(Audio(np.ascontiguousarray(data[:, 0]), int(own_rate)), rate).samples
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
