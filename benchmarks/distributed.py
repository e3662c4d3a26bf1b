"""What a trial costs on Ray beside what it costs with local processes.

    python benchmarks/distributed.py [--trials 20000] [--repeat 3] [--workers 2] [--address ADDRESS] [--json FILE]

A recognizer that answers at once hears clips of 0.1 s, on local processes and on a Ray cluster (one of its own on this
machine unless an address is given), with as many workers as replicas. Each is timed with few trials and with many: the
difference is the cost of a trial, the rest is the start. Ratios within one run of this script; repeats are interleaved,
medians are shown with all values beside them. The tables of both must be equal.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import ray
from instant_recognizer import Instant
from run import instant_corpus

from voxaudit.corpus import Corpus
from voxaudit.run import run_trials

FEW = 200


def timed(corpus: Corpus, executor: str, workers: int) -> tuple[float, object]:
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        run = run_trials(
            corpus,
            {"instant": Instant()},
            [],
            out=out,
            workers=workers,
            cache=False,
            progress=False,
            executor=executor,
        )
        seconds = time.perf_counter() - start
        return seconds, run.transcripts.drop("seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--address", help="a Ray cluster (default: one of its own)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    # Connected once: the start of a cluster is no part of a run.
    ray.init(
        address=args.address or "local", log_to_driver=False, logging_level="ERROR", include_dashboard=False
    )
    costs: dict[str, list[float]] = {"local": [], "ray": []}
    starts: dict[str, list[float]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory() as home:
        few, many = instant_corpus(Path(home), FEW), instant_corpus(Path(home), args.trials)
        for _ in range(args.repeat):
            tables = {}
            for executor in ("local", "ray"):
                short, _table = timed(few, executor, args.workers)
                long, tables[executor] = timed(many, executor, args.workers)
                costs[executor].append(1e6 * (long - short) / (args.trials - FEW))
                starts[executor].append(short)
            assert tables["local"].equals(tables["ray"])
    ray.shutdown()
    middle = {executor: float(np.median(values)) for executor, values in costs.items()}
    print(f"{args.trials} trials, {args.workers} workers, {args.repeat} repeats; equal tables")
    for executor in ("local", "ray"):
        all_ = ", ".join(f"{value:.0f}" for value in costs[executor])
        start = float(np.median(starts[executor]))
        print(
            f"  {executor}: {middle[executor]:.0f} us a trial ({all_}); {FEW} trials with the start {start:.1f} s"
        )
    print(f"ray / local: {middle['ray'] / middle['local']:.2f} x a trial")
    if args.json:
        results = {
            "date": time.strftime("%Y-%m-%d"),
            "machine": platform.processor() or "unknown",
            "ray": ray.__version__,
            "us_a_trial": costs,
            "start_seconds": starts,
            "ratio": middle["ray"] / middle["local"],
        }
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
