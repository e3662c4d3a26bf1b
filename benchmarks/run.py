"""A run: what it adds to bare processes that only load the recognizer and transcribe audio already in memory.

Wall and CPU time of the whole, start of processes and loading included. Before it how long the first trial is waited
for, then one worker against two, a repeated run, and the cost of a trial with a recognizer that answers at once.
"""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import soundfile
from benchmarks.commands import FLOOR, PROGRAM, call
from benchmarks.instant_recognizer import Instant
from benchmarks.measure import Clock, Row, Settings, absent, race, row_of, skipped, took
from benchmarks.speech import synthetic_corpus

from voxaudit import audio
from voxaudit.corpus import Corpus
from voxaudit.perturb import parse_scenarios
from voxaudit.recognize import make_recognizer
from voxaudit.run import run_trials

SCENARIOS = ["gaussian_noise:2", "gain:1"]
RECOGNIZER = "moonshine"


def bare(clips: list[audio.Audio]) -> None:
    transcribe = make_recognizer(RECOGNIZER).load()
    for clip in clips:
        transcribe([clip])


def run_bare(clips: list[audio.Audio], processes: int) -> None:
    context = multiprocessing.get_context("fork")  # the audio is inherited, not sent
    jobs = [context.Process(target=bare, args=(clips[n::processes],)) for n in range(processes)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
        if job.exitcode:
            raise RuntimeError("a bare process failed")


def run_ours(corpus: Corpus, processes: int) -> None:
    with tempfile.TemporaryDirectory() as out:
        run = run_trials(
            corpus, [RECOGNIZER], SCENARIOS, out=out, workers=processes, cache=False, progress=False
        )
        if not run.failures.is_empty():
            raise RuntimeError("trials failed")


def prepared(corpus: Corpus) -> list[audio.Audio]:
    rate = make_recognizer(RECOGNIZER).rate
    clips = []
    for utterance in corpus:
        recording = audio.read(utterance.audio)
        for scenario in parse_scenarios(SCENARIOS):
            clip = scenario.apply(recording, seed=0, utterance=utterance.id)
            clips.append(clip if rate is None else audio.resample(clip, rate))
    return clips


def instant_corpus(folder: Path, count: int) -> Corpus:
    """Return a corpus of clips of 0.1 s."""
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


def instant_run(corpus: Corpus, executor: str = "local", seconds: float = 0.0) -> pl.DataFrame:
    """Hear a corpus with a recognizer that answers at once, or after so long; two workers. Return the transcripts."""
    with tempfile.TemporaryDirectory() as out:
        hearing = {"instant": Instant(seconds=seconds)}
        run = run_trials(
            corpus, hearing, [], out=out, workers=2, cache=False, progress=False, executor=executor
        )
        return run.transcripts.drop("seconds")


STOPPING = """
import os, signal

def stop(samples, rate):
    os.kill(os.getppid(), signal.SIGKILL)
"""
"""A recognizer that ends the command that asks it."""


def until_the_first_trial(folder: Path) -> None:
    """Run the command up to the moment at which a recognizer gets its first recording."""
    with tempfile.TemporaryDirectory() as out:
        arguments = [*PROGRAM, "run", "audit.toml", "--no-cache", "--out", out]
        done = subprocess.run(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the command ended by itself, with exit code {done.returncode}")


def start(settings: Settings) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        instant_corpus(folder, 100).table.select("id", "speaker", "text", path="audio").write_csv(
            folder / "manifest.csv"
        )
        (folder / "stopping.py").write_text(STOPPING)
        (folder / "audit.toml").write_text(
            '[corpus]\npath = "manifest.csv"\n[recognizers.python]\ncallable = "stopping.py:stop"\n'
            '[scenarios]\nuse = ["gaussian_noise:2"]\n'
        )
        calls = {"ours": partial(until_the_first_trial, folder), "floor": partial(call, FLOOR, folder)}
        found = race(calls, settings.pick(1, 7))
    ours, floor = ([one.wall for one in found[name]] for name in calls)
    what = "the command until its first trial, 100 utterances"
    yield row_of(what, "wall s", ours, floor, peer="importing numpy and polars", kind="floor")


def measure(settings: Settings) -> Iterator[Row]:
    yield from start(settings)
    if missing := absent("moonshine_voice"):
        yield skipped("a run with moonshine", "s", "bare processes", missing)
    else:
        yield from overhead(settings)
    with tempfile.TemporaryDirectory() as home:
        count = settings.pick(1_000, 20_000, 100_000)
        many = instant_corpus(Path(home), count)
        found = race({"": partial(instant_run, many)}, settings.pick(1, 3), warm=False)
        yield row_of(
            f"{count:,} trials, a recognizer that answers at once, two workers",
            "wall us per trial",
            [1e6 * one.wall / count for one in found[""]],
        )


def overhead(settings: Settings) -> Iterator[Row]:
    corpus = synthetic_corpus()
    corpus = replace(corpus, table=corpus.table.head(settings.pick(4, 32, 1_000)))
    clips = prepared(corpus)
    calls = {}
    for processes in (1, 2):
        calls[f"bare {processes}"] = partial(run_bare, clips, processes)
        calls[f"ours {processes}"] = partial(run_ours, corpus, processes)
    found = race(calls, settings.pick(1, 3), warm=False)
    what = f"moonshine, {len(clips)} trials"

    def seconds(name: str, clock: Clock) -> list[float]:
        return [float(getattr(one, clock)) for one in found[name]]

    for processes in (1, 2):
        for clock in ("wall", "cpu"):
            yield row_of(
                f"{what}, {processes} worker{'s' * (processes - 1)}",
                "wall s" if clock == "wall" else "CPU s",
                seconds(f"ours {processes}", clock),
                seconds(f"bare {processes}", clock),
                peer="bare processes",
                kind="floor",
            )
    yield row_of(
        *(f"{what}, two workers", "wall s", seconds("ours 2", "wall"), seconds("ours 1", "wall")),
        peer="one worker",
        kind="floor",
        note="2 is the most",
    )
    with tempfile.TemporaryDirectory() as out:
        again = partial(
            run_trials, corpus, [RECOGNIZER], SCENARIOS, out=out, workers=2, cache=False, progress=False
        )
        first, repeats = took(again).wall, [took(again).wall for _ in range(3)]
    yield row_of(f"{what}, repeated", "wall s", repeats, [first] * 3, peer="the first time", kind="floor")
