"""Kill and resume: nothing lost, nothing done twice, memory and open files flat; 3 minutes, 30 with --full.

A run over a few thousand short clips is started again and again and killed with SIGKILL at a random moment, sometimes
the driver, sometimes its workers. Each time it completes, its tables are compared with those of a run that was left
alone, and a new run begins. A second part runs one driver over many trials and samples its memory and open files.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import soundfile
from benchmarks.measure import ROOT, Row, Settings, row_of

CLIPS = 400
SCENARIOS = ("clean", "gaussian_noise:2", "gain:1", "lowpass:2", "packet_loss:3")

DRIVER = """
import voxaudit
from benchmarks.instant_recognizer import Instant
corpus = voxaudit.read_corpus({manifest!r})
for number in range({times}):
    voxaudit.run_trials(corpus, {{"instant": Instant()}}, {scenarios!r}, out={out!r} + (str(number) if number else ""),
                        cache=False, progress=False, workers=2)
"""


def make(folder: Path) -> Path:
    generator = np.random.default_rng(0)
    lines = ["path,text,speaker"]
    for number in range(CLIPS):
        soundfile.write(folder / f"{number}.wav", 0.05 * generator.standard_normal(8000), 16_000)
        lines.append(f"{number}.wav,one two three,s{number % 20}")
    manifest = folder / "manifest.csv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def start(manifest: Path, out: Path, times: int = 1) -> subprocess.Popen[bytes]:
    code = DRIVER.format(manifest=str(manifest), out=str(out), scenarios=SCENARIOS, times=times)
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE)


def table(out: Path) -> list[tuple[object, ...]]:
    return pl.read_parquet(out / "transcripts.parquet").drop("seconds").rows()


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(part) for part in path.read_text().split()] if path.exists() else []


def kill_and_resume(folder: Path, manifest: Path, seconds: float, seed: int) -> dict[str, float]:
    """Return how often was killed and resumed; tables that differ, or a driver that ends badly, are an error."""
    chooser = random.Random(seed)
    alone = folder / "alone"
    begun = time.monotonic()
    process = start(manifest, alone)
    if process.wait():
        raise RuntimeError("the run that was left alone failed")
    takes = time.monotonic() - begun
    expected = table(alone)
    kills = workers_killed = completed = 0
    out = folder / "run0"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        process = start(manifest, out)
        try:
            process.wait(timeout=chooser.uniform(0.2, 1.3 * takes))
        except subprocess.TimeoutExpired:
            hands = children(process.pid)
            if hands and chooser.random() < 0.4:
                os.kill(chooser.choice(hands), signal.SIGKILL)
                workers_killed += 1
                process.wait()  # it replaces the worker and goes on
            else:
                process.kill()
                kills += 1
                process.wait()
        if process.returncode == 0:
            if table(out) != expected:
                raise ValueError(f"{out.name}: the tables differ")
            completed += 1
            out = folder / f"run{completed}"
        elif process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"driver ended with {process.returncode}")
    return {
        "drivers killed": kills,
        "workers killed": workers_killed,
        "runs completed, tables equal": completed,
    }


def long_run(folder: Path, manifest: Path, times: int) -> list[tuple[float, float, int]]:
    """Return seconds, MB and open files of one driver, sampled every second."""
    process = start(manifest, folder / "long", times)
    samples = []
    begun = time.monotonic()
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
            files = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        except (OSError, IndexError):
            break
        samples.append((time.monotonic() - begun, memory, files))
        time.sleep(1.0)
    if process.wait():
        raise RuntimeError("the long run failed")
    return samples


def measure(settings: Settings) -> Iterator[Row]:
    seconds = settings.pick(10.0, 180.0, 1800.0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = make(folder)
        for what, count in kill_and_resume(folder, manifest, seconds, seed=0).items():
            yield row_of(f"{what} in {seconds:.0f} s", "times", [count])
        samples = long_run(folder, manifest, settings.pick(3, 10, 20))
    tenth = max(1, len(samples) // 10)
    early, late = samples[tenth : 2 * tenth], samples[-tenth:]
    for place, unit in ((1, "MB"), (2, "open files")):
        yield row_of(
            "a driver of many runs, its last tenth",
            unit,
            [max(sample[place] for sample in late)],
            [max(sample[place] for sample in early)],
            peer="its second tenth: 1 is flat",
            kind="floor",
        )
