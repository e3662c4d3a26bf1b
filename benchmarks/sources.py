"""What noise and rooms cost, and what they achieve: the figures of docs/sources.md.

    OMP_NUM_THREADS=1 python benchmarks/sources.py [--speech FOLDER] [--noise FOLDER]

Without --speech, synthetic talkers are disturbed; with pyroomacoustics installed, its rooms are timed beside ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import pickle
import resource
import time
from pathlib import Path

import numpy as np

from voxaudit import audio
from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.acoustics import measure_rt60
from voxaudit.perturb.sources import open_source
from voxaudit.perturb.sources.builtin import make
from voxaudit.perturb.sources.simulate import random_room, room_response

RATE = 16000
NOISES = [f"environment_{name}" for name in ("ms_snsd", "esc50", "musan", "wham")] + ["music", "crosstalk"]
ROOMS = ["rir", "real_rir"]


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def cpu(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def speed(sources: dict) -> None:
    clip = Audio(0.1 * make("talker", 0, RATE)[: 5 * RATE], RATE)
    for name in NOISES + ROOMS:
        for severity in (1, 4):
            scenario = parse_scenario(f"{name}:{severity}", sources)

            def hear(first: int, last: int, scenario=scenario) -> None:
                for number in range(first, last):
                    scenario.apply(clip, seed=1, utterance=str(number))

            first, warm = cpu(lambda: hear(0, 100)), cpu(lambda: hear(100, 300))
            print(
                f"{name}:{severity}  first 100 in {first:.2f} s, then {5 * 200 / warm:,.0f} audio s per CPU s"
            )


def achieved(clips: list[Audio], sources: dict) -> None:
    for id_ in [f"{name}:{n}" for name in [*ROOMS, "environment_esc50"] for n in (1, 2, 3, 4)]:
        scenario = parse_scenario(id_, sources)
        rows = [scenario.achieved(clip, seed=1, utterance=str(n)) for n, clip in enumerate(clips)]
        for key in rows[0]:
            values = [row[key] for row in rows if key in row]
            print(f"{id_}  {key}: {min(values):.3f} {np.mean(values):.3f} {max(values):.3f}")


def rooms() -> None:
    for rt60 in (0.27, 0.58, 0.99, 1.33):
        room = random_room(rt60, generator(1))
        room_response(room, RATE, generator(1))
        ours = cpu(lambda room=room: [room_response(room, RATE, generator(n)) for n in range(20)]) / 20
        measured = measure_rt60(room_response(room, RATE, generator(1)), RATE)
        line = f"room, RT60 {rt60} s: {1000 * ours:.1f} ms, measured {measured:.3f} s"
        if importlib.util.find_spec("pyroomacoustics"):
            import pyroomacoustics as pra

            material = pra.Material(1.0 - room.reflection**2)
            order = min(pra.inverse_sabine(rt60, room.size)[1], 60)
            theirs = pra.ShoeBox(room.size, fs=RATE, materials=material, max_order=order)
            theirs.add_source(room.talker)
            theirs.add_microphone(room.microphone)
            seconds = cpu(theirs.compute_rir)
            response = np.asarray(theirs.rir[0][0])
            response = response[int(np.argmax(np.abs(response))) :]
            measured = measure_rt60(response, RATE)
            line += f"; pyroomacoustics, order {order}: {1000 * seconds:.0f} ms, measured {measured:.3f} s"
        print(line)


def folder(path: Path) -> None:
    start = time.process_time()
    source = open_source("environment_esc50", path)
    print(
        f"{source.describe()}; opened in {time.process_time() - start:.1f} CPU s, pickled {len(pickle.dumps(source))} B"
    )
    scenario = parse_scenario("environment_esc50:3", {"environment_esc50": source})
    clip = Audio(0.1 * make("talker", 0, RATE)[: 5 * RATE], RATE)
    for turn in range(3):
        start = time.process_time()
        for number in range(1000):
            scenario.apply(clip, seed=turn, utterance=str(number))
        spent = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"1,000 draws: {5 * 1000 / spent:,.0f} audio s per CPU s, peak {peak} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speech", type=Path, help="a folder of speech, of which 20 clips are taken")
    parser.add_argument("--noise", type=Path, help="a folder of noise, for environment_esc50")
    args = parser.parse_args()
    if args.noise:
        folder(args.noise)
    sources = {"environment_esc50": open_source("environment_esc50", args.noise)} if args.noise else {}
    speed(sources)
    rooms()
    if args.speech:
        files = sorted(path for path in args.speech.rglob("*") if path.suffix.lower() in audio.SUFFIXES)
        clips = [audio.read(path, rate=RATE) for path in files[:: max(1, len(files) // 20)][:20]]
    else:
        clips = [Audio(0.1 * make("talker", take, RATE), RATE) for take in range(4)]
    achieved(clips, sources)


if __name__ == "__main__":
    main()
