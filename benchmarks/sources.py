"""Noise and rooms: seconds of audio disturbed per CPU second, and room responses beside pyroomacoustics.

Clips of 5 s at 16 kHz with the built-in material, or for `environment_esc50` with the recordings of --audio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.measure import Missing, Row, Settings, absent, compare, named, race, row_of

from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.acoustics import measure_rt60
from voxaudit.perturb.sources import open_source
from voxaudit.perturb.sources.builtin import make
from voxaudit.perturb.sources.responses import Room, random_room, room_response

RATE = 16000
NAMES = ("environment_esc50", "music", "crosstalk", "rir", "real_rir")


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def measure(settings: Settings) -> Iterator[Row]:
    rounds = settings.pick(2, 5)
    for rt60 in settings.pick((0.27,), (0.27, 0.99)):
        yield from responses(rt60, rounds)
    sources = (
        {"environment_esc50": open_source("environment_esc50", settings.audio)} if settings.audio else {}
    )
    clip = Audio(0.1 * make("talker", 0, RATE)[: 5 * RATE], RATE)
    count = settings.pick(10, 100)
    for name in NAMES:
        scenario = parse_scenario(f"{name}:3", sources)

        def hear(scenario: object = scenario) -> None:
            for number in range(count):
                scenario.apply(clip, seed=1, utterance=str(number))  # type: ignore[attr-defined]

        found = race({"": hear}, rounds)
        yield row_of(
            f"{name}:3, clips of 5 s", "CPU ms per clip", [1e3 * one.cpu / count for one in found[""]]
        )


def responses(rt60: float, rounds: int) -> Iterator[Row]:
    """Simulate the response of one room; the reverberation time that was achieved is in the note."""
    room = random_room(rt60, generator(1))
    achieved = measure_rt60(room_response(room, RATE, generator(1)), RATE)
    note = f"measured {achieved:.2f} s"
    theirs: Callable[[], object] | Missing
    missing = absent("pyroomacoustics")
    if missing is None:
        theirs, reverberation = peer_of(room, rt60)
        note += f", theirs {reverberation:.2f} s"
    else:
        theirs = missing
    yield from compare(
        f"a room's response, RT60 {rt60:g} s",
        "CPU ms",
        lambda: room_response(room, RATE, generator(1)),
        {f"{named('pyroomacoustics')}, images up to order 60": theirs},
        rounds=rounds,
        scale=1e3,
        note=note,
    )


def peer_of(room: Room, rt60: float) -> tuple[Callable[[], object], float]:
    """Return pyroomacoustics on the same room, and the reverberation time of what it makes."""
    import pyroomacoustics as pra

    material = pra.Material(1.0 - room.reflection**2)
    order = min(pra.inverse_sabine(rt60, room.size)[1], 60)

    def simulate() -> np.ndarray:
        box = pra.ShoeBox(room.size, fs=RATE, materials=material, max_order=order)
        box.add_source(room.talker)
        box.add_microphone(room.microphone)
        box.compute_rir()
        return np.asarray(box.rir[0][0])

    response = simulate()
    return simulate, measure_rt60(response[int(np.argmax(np.abs(response))) :], RATE)
