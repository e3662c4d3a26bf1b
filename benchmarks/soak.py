"""Kill and resume, for as long as you like: nothing lost, nothing done twice, memory and open files flat.

    python benchmarks/soak.py --minutes 30

A run over a few thousand short clips is started again and again and killed with SIGKILL at a random moment, sometimes
the driver, sometimes its workers. Each time it completes, its tables are compared with those of a run that was left
alone, and a new run begins. A second part runs one driver over many trials and samples its memory and open files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIPS = 400
SCENARIOS = ("clean", "gaussian_noise:2", "gain:1", "lowpass:2", "packet_loss:3")

DRIVER = """
import sys
sys.path.insert(0, {here!r})
import voxaudit
from instant_recognizer import Instant
corpus = voxaudit.read_corpus({manifest!r})
for number in range({times}):
    voxaudit.run_trials(corpus, {{"instant": Instant()}}, {scenarios!r}, out={out!r} + (str(number) if number else ""),
                        cache=False, progress=False, workers=2)
"""


def make(folder: Path) -> Path:
    import numpy as np
    import soundfile

    generator = np.random.default_rng(0)
    lines = ["path,text,speaker"]
    for number in range(CLIPS):
        soundfile.write(folder / f"{number}.wav", 0.05 * generator.standard_normal(8000), 16_000)
        lines.append(f"{number}.wav,one two three,s{number % 20}")
    manifest = folder / "manifest.csv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def start(manifest: Path, out: Path, times: int = 1) -> subprocess.Popen[bytes]:
    code = DRIVER.format(
        here=str(HERE), manifest=str(manifest), out=str(out), scenarios=SCENARIOS, times=times
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)


def table(out: Path) -> list[tuple[object, ...]]:
    import polars as pl

    return pl.read_parquet(out / "transcripts.parquet").drop("seconds").rows()


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(part) for part in path.read_text().split()] if path.exists() else []


def kill_and_resume(folder: Path, manifest: Path, seconds: float, seed: int) -> dict[str, object]:
    chooser = random.Random(seed)
    alone = folder / "alone"
    begun = time.monotonic()
    process = start(manifest, alone)
    assert process.wait() == 0
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
            assert table(out) == expected, f"{out}: the tables differ"
            completed += 1
            out = folder / f"run{completed}"
        elif process.returncode != -signal.SIGKILL:
            raise SystemExit(f"driver ended with {process.returncode}: {process.stderr.read()!r}")
    return {
        "seconds": round(seconds),
        "a run alone": round(takes, 1),
        "drivers killed": kills,
        "workers killed": workers_killed,
        "runs completed, tables equal": completed,
    }


def long_run(folder: Path, manifest: Path, times: int) -> list[tuple[float, float, int]]:
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
    assert process.wait() == 0
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--long", type=int, default=20, help="runs one after the other in one process (default: 20)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = make(folder)
        print(json.dumps(kill_and_resume(folder, manifest, 60.0 * args.minutes, args.seed)), flush=True)
        samples = long_run(folder, manifest, args.long)
    tenth = max(1, len(samples) // 10)
    for label, part in (("second tenth", samples[tenth : 2 * tenth]), ("last tenth", samples[-tenth:])):
        memory = sum(sample[1] for sample in part) / len(part)
        print(f"{label}: {memory:.0f} MB, {max(sample[2] for sample in part)} open files at most")


if __name__ == "__main__":
    main()
