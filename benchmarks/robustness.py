"""Time and memory of the robustness audit at full scale.

    python benchmarks/robustness.py                          10,000 utterances x 114 scenarios x 3 recognizers
    python benchmarks/robustness.py --utterances 1000 --json results.json

Makes a table of scores, writes it to Parquet and audits it in a fresh process: reading, 2,000 resamples, all levels,
curves, ranks, and LWERR of one attribute. Seconds are wall clock and CPU (user and system, all threads); memory is the
process's peak, and beside it the peak of a process that only reads the table.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before numpy is loaded

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from voxaudit.perturb.slots import SLOTS
from voxaudit.perturb.suites import SRB


def make(path: Path, utterances: int, speakers: int, recognizers: int) -> int:
    generator = np.random.default_rng(0)
    # Slots for natural speech are heard on the same utterances here: the number of rows is what counts.
    scenarios = ["clean", *(f"{name}:{severity}" for name in SRB for severity in (1, 2, 3, 4)), *SLOTS][:114]
    hard = generator.normal(0.0, 0.3, speakers)
    who = np.arange(utterances) % speakers
    words = generator.integers(3, 30, utterances)
    about = {
        "utterance": [f"corpus/part-{i % 7}/recording-{i:06d}" for i in range(utterances)],
        "speaker": [f"speaker-{i:04d}" for i in who],
        "gender": ["fm"[i % 2] for i in who],
    }
    parts = []
    for recognizer in range(recognizers):
        for scenario in scenarios:
            severity = int(scenario[-1]) if ":" in scenario else 0
            rate = np.minimum(0.9, 0.05 * (1 + recognizer) * (1 + severity) * np.exp(hard[who]))
            parts.append(
                pl.DataFrame(about).with_columns(
                    scenario=pl.lit(scenario),
                    recognizer=pl.lit(f"recognizer-{recognizer}"),
                    substitutions=pl.Series(generator.binomial(words, rate)),
                    deletions=pl.lit(0, dtype=pl.Int64),
                    insertions=pl.Series(generator.poisson(0.1, utterances)),
                    words=pl.Series(words),
                    characters=pl.Series(words * 5),
                    character_errors=pl.Series(generator.binomial(words * 5, rate / 2)),
                )
            )
    table = pl.concat(parts)
    table.write_parquet(path)
    return table.height


def child(path: str, audit: bool) -> None:
    start = time.perf_counter()
    table = pl.read_parquet(path)
    read = time.perf_counter() - start
    if audit:
        from voxaudit.audits.robustness import robustness
        from voxaudit.score.quality import published_difficulties

        found = robustness(
            table, difficulty=published_difficulties(), difficulty_source="published", attributes=["gender"]
        )
        assert found.ranking.height
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": round(time.perf_counter() - start, 2),
                "of_which_reading": round(read, 2),
                "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
                "peak_mb": round(usage.ru_maxrss / 1024),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--utterances", type=int, default=10_000)
    parser.add_argument("--speakers", type=int, default=200)
    parser.add_argument("--recognizers", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", choices=("audit", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.table, args.child == "audit")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        rows = make(path, args.utterances, args.speakers, args.recognizers)
        result = {"rows": rows}
        for what in ("read", "audit"):
            command = [sys.executable, __file__, "--child", what, "--table", str(path)]
            result[what] = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
    print(json.dumps(result, indent=2))
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
