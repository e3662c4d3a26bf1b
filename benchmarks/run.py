"""What the run costs beside the recognizer itself.

    python benchmarks/run.py [--corpus MANIFEST] [--recognizer moonshine] [--repeat 3] [--json FILE]

1. Overhead: `run_trials` against bare processes that only load the recognizer and transcribe the same audio, already
   in memory, with the same number of processes. Wall and CPU time of the whole, start of processes and loading
   included; CPU time counts the driver and its workers, and moves less than wall time on a machine with other work.
2. Scaling: one worker against two.
3. A recognizer that answers at once: the driver's own cost per trial, from 1,000 to 100,000 trials.
4. A repeated run: how much faster than hearing.

Ratios within one run of this script; repeats are interleaved and the median is shown with all values beside it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import soundfile
from instant_recognizer import Instant

from voxaudit import audio
from voxaudit.corpus import Corpus, read_corpus
from voxaudit.perturb import parse_scenarios
from voxaudit.recognize import make_recognizer
from voxaudit.run import run_trials

SCENARIOS = ["gaussian_noise:2", "gain:1"]


def bare(name: str, clips: list[audio.Audio]) -> None:
    recognizer = make_recognizer(name)
    transcribe = recognizer.load()
    for clip in clips:
        transcribe([clip])


def clock() -> np.ndarray:
    """Return wall time and the CPU time of this process and of its children that have ended, in seconds."""
    times = os.times()
    return np.array([time.perf_counter(), sum(times[:4])])


def time_bare(name: str, clips: list[audio.Audio], processes: int) -> np.ndarray:
    context = multiprocessing.get_context("fork")  # the audio is inherited, not sent
    start = clock()
    jobs = [context.Process(target=bare, args=(name, clips[n::processes])) for n in range(processes)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
        assert job.exitcode == 0
    return clock() - start


def time_run(name: str, corpus: Corpus, processes: int) -> np.ndarray:
    with tempfile.TemporaryDirectory() as out:
        start = clock()
        run = run_trials(corpus, [name], SCENARIOS, out=out, workers=processes, cache=False, progress=False)
        seconds = clock() - start
        assert run.failures.is_empty()
    return seconds


def prepared(name: str, corpus: Corpus) -> list[audio.Audio]:
    rate = make_recognizer(name).rate
    clips = []
    for utterance in corpus:
        recording = audio.read(utterance.audio)
        for scenario in parse_scenarios(SCENARIOS):
            clip = scenario.apply(recording, seed=0, utterance=utterance.id)
            clips.append(clip if rate is None else audio.resample(clip, rate))
    return clips


def instant_corpus(folder: Path, count: int) -> Corpus:
    files = []
    for number in range(100):
        files.append(str(folder / f"{number}.wav"))
        soundfile.write(files[-1], np.full(1600, number / 200, np.float32), 16000)
    table = pl.DataFrame(
        {
            "id": [f"utterance-{n}" for n in range(count)],
            "audio": [files[n % 100] for n in range(count)],
            "speaker": [f"s{n % 50}" for n in range(count)],
            "text": ["one two three"] * count,
            "start": [0.0] * count,
            "duration": pl.Series([None] * count, dtype=pl.Float64),
        }
    )
    return Corpus(name="instant", format="manifest", table=table, source="instant")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="manifest (default: the demo's synthetic corpus)")
    parser.add_argument("--recognizer", default="moonshine")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.processor() or "unknown",
    }
    with tempfile.TemporaryDirectory() as home:
        manifest = args.corpus
        if manifest is None:
            from voxaudit.speak.corpus import make_synthetic_corpus

            manifest = make_synthetic_corpus(Path(home) / "corpus")
        corpus = read_corpus(manifest)
        clips = prepared(args.recognizer, corpus)
        seconds = sum(clip.duration for clip in clips)
        print(f"{args.recognizer}: {len(clips)} trials, {seconds:.0f} s of audio, {args.repeat} repeats")
        times: dict[str, list[np.ndarray]] = {}
        for _ in range(args.repeat):
            for processes in (1, 2):
                times.setdefault(f"bare {processes}", []).append(time_bare(args.recognizer, clips, processes))
                times.setdefault(f"run {processes}", []).append(time_run(args.recognizer, corpus, processes))
        middle = {key: np.median(values, axis=0) for key, values in times.items()}
        for key, values in times.items():
            all_ = ", ".join(f"{wall:.2f}/{cpu:.2f}" for wall, cpu in values)
            print(f"  {key}: {middle[key][0]:.2f} s wall, {middle[key][1]:.2f} s CPU  ({all_})")
        for processes in (1, 2):
            wall, cpu = middle[f"run {processes}"] / middle[f"bare {processes}"] - 1
            results[f"overhead_{processes}"] = {"wall": wall, "cpu": cpu}
            print(
                f"overhead over bare, {processes} process(es): {100 * wall:+.1f} % wall, {100 * cpu:+.1f} % CPU"
                "  (wanted: at most 5 %)"
            )
        results["scaling"] = {key: middle[f"{key} 1"][0] / middle[f"{key} 2"][0] for key in ("run", "bare")}
        print(
            f"two processes against one: {results['scaling']['run']:.2f} x  (wanted: at least 1.8;"
            f" bare processes: {results['scaling']['bare']:.2f} x)"
        )
        with tempfile.TemporaryDirectory() as out:
            options = {"out": out, "workers": 2, "cache": False, "progress": False}
            start = time.perf_counter()
            run_trials(corpus, [args.recognizer], SCENARIOS, **options)
            first = time.perf_counter() - start
            start = time.perf_counter()
            run_trials(corpus, [args.recognizer], SCENARIOS, **options)
            results["repeat_ratio"] = first / (time.perf_counter() - start)
        print(f"a repeated run is {results['repeat_ratio']:.0f} x faster  (wanted: at least 50)")
        print("a recognizer that answers at once, two workers:")
        growth = results["instant_us_per_trial"] = {}
        for count in (1_000, 10_000, 100_000):
            instant = instant_corpus(Path(home), count)
            with tempfile.TemporaryDirectory() as out:
                start = time.perf_counter()
                run_trials(
                    instant, {"instant": Instant()}, [], out=out, workers=2, cache=False, progress=False
                )
                took = time.perf_counter() - start
            growth[count] = 1e6 * took / count
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"  {count} trials: {took:.1f} s, {growth[count]:.0f} us a trial, driver's peak memory {peak:.0f} MB"
            )
    if args.json:
        results["seconds"] = {key: np.array(values).tolist() for key, values in times.items()}
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
