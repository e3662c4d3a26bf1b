"""Speed and memory of the parity audit: five attributes, five recognizers, a growing number of trials.

    python benchmarks/parity.py                  1 million and 5 million trials, about a minute
    python benchmarks/parity.py --json results.json

Every size runs in a process of its own, from a Parquet file like a run's `scores.parquet`; seconds are wall time of the
audit from the opened file to the findings, memory is the peak of that process less what it had after its imports.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ATTRIBUTES = {"gender": 2, "age_group": 5, "accent": 12, "first_language": 20, "income": 4}
RECOGNIZERS = 5


def scores(trials: int, seed: int = 1) -> pl.DataFrame:
    """Return a `scores` table: about 100 trials a speaker and recognizer, rates that differ by speaker and accent."""
    generator = np.random.default_rng(seed)
    utterances = trials // RECOGNIZERS
    people = max(50, utterances // 100)
    levels = {name: generator.integers(0, kinds, people) for name, kinds in ATTRIBUTES.items()}
    rate = 0.12 * np.exp(0.4 * generator.standard_normal(people) + 0.05 * levels["accent"])
    who = np.sort(generator.integers(0, people, utterances))
    words = generator.integers(2, 25, utterances)
    parts = []
    for recognizer in range(RECOGNIZERS):
        errors = generator.poisson(words * rate[who] * (1 + 0.1 * recognizer))
        part = {
            "utterance": pl.Series(np.arange(utterances)).cast(pl.String),
            "speaker": pl.Series(who).cast(pl.String),
            "scenario": pl.Series(["clean"]).new_from_index(0, utterances),
            "recognizer": pl.Series([f"recognizer {recognizer}"]).new_from_index(0, utterances),
            "substitutions": errors,
            "deletions": np.zeros(utterances, dtype=np.int64),
            "insertions": np.zeros(utterances, dtype=np.int64),
            "words": words,
        }
        part |= {name: pl.Series(codes[who]).cast(pl.String) for name, codes in levels.items()}
        parts.append(pl.DataFrame(part))
    return pl.concat(parts)


def measure(path: Path) -> dict[str, Any]:
    from voxaudit.audits.parity import audit_file

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = audit_file(path, list(ATTRIBUTES))
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "memory_mb": (after - before) / 1024,
        "speakers": found.people.height,
        "intersectional_groups": found.intersectional.height,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="200000,1000000,5000000", help="numbers of trials")
    parser.add_argument("--json", metavar="FILE", help="write the results here")
    parser.add_argument("--measure", metavar="PARQUET", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(Path(args.measure))))
        return
    results: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "sizes": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, args.sizes.split(",")):
            path = Path(folder) / f"{size}.parquet"
            table = scores(size)
            table.write_parquet(path)
            in_memory = table.estimated_size("mb")
            del table
            command = [sys.executable, __file__, "--measure", str(path)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(run.stdout) | {"table_mb": in_memory}
            results["sizes"][f"{size:,}"] = found
            print(
                f"{size:>10,} trials: {found['seconds']:6.2f} s, {found['memory_mb']:7.0f} MB above the imports"
                f" (the table itself {in_memory:.0f} MB), {found['speakers']:,} speakers"
            )
            path.unlink()
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
