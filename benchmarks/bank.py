"""The whole bank at scale: many utterances x 100 scenarios planned, perturbed and recorded, in bounded memory.

    python benchmarks/bank.py --utterances 1000 10000

The recognizer answers at once, so what is measured is the plan, the perturbations and the store. Peak memory is that of
the driver and of its largest worker, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS = 1.0
RATE = 16_000
RECORDINGS = 64


def make_corpus(folder: Path, utterances: int) -> Path:
    """Write a few recordings of shaped noise and a manifest that names them again and again."""
    generator = np.random.default_rng(0)
    from voxaudit.audio import Audio, write

    (folder / "audio").mkdir(parents=True)
    for number in range(RECORDINGS):
        shape = np.convolve(generator.standard_normal(int(SECONDS * RATE)), np.ones(12) / 12, "same")
        write(folder / "audio" / f"{number}.wav", Audio((0.3 * shape).astype(np.float32), RATE))
    lines = ["id,path,speaker,text"]
    lines += [f"u{n},audio/{n % RECORDINGS}.wav,s{n % 200},one two" for n in range(utterances)]
    manifest = folder / "manifest.csv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def run_one(utterances: int, workers: int) -> dict[str, float]:
    """Run the whole bank over so many utterances and return times and peak memory."""
    import voxaudit

    sys.path.insert(0, str(Path(__file__).parent))
    from instant_recognizer import Instant

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = voxaudit.read_corpus(make_corpus(folder / "corpus", utterances))
        start, cpu = time.perf_counter(), time.process_time()
        run = voxaudit.run_trials(
            corpus,
            {"instant": Instant()},
            ["srb"],
            out=folder / "run",
            workers=workers,
            cache=False,
            progress=False,
        )
        wall = time.perf_counter() - start
        trials = utterances * 101
        assert run.failures.is_empty()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "utterances": utterances,
        "trials": trials,
        "wall_s": wall,
        "driver_cpu_s": time.process_time() - cpu,
        "worker_cpu_s": used.ru_utime + used.ru_stime,
        "driver_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker_peak_mb": used.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--utterances", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_one(args.one, args.workers)))
        return
    print(
        f"{'utterances':>10} {'trials':>10} {'wall s':>8} {'us a trial':>11} {'driver MB':>10} {'worker MB':>10}"
    )
    for utterances in args.utterances:
        command = [sys.executable, __file__, "--one", str(utterances), "--workers", str(args.workers)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        each = 1e6 * (row["driver_cpu_s"] + row["worker_cpu_s"]) / row["trials"]
        print(
            f"{row['utterances']:>10,} {row['trials']:>10,} {row['wall_s']:>8.0f} {each:>11.0f}"
            f" {row['driver_peak_mb']:>10.0f} {row['worker_peak_mb']:>10.0f}"
        )


if __name__ == "__main__":
    main()
