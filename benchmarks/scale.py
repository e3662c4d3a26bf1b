"""How a run, its scores and its audits grow with the corpus: 10,000, 100,000 and 1,000,000 utterances.

    python benchmarks/scale.py                      # all three; the last takes ten minutes or so
    python benchmarks/scale.py --sizes 10000,100000

A recognizer that answers at once stands for yours: what is measured is voxaudit's own cost. Utterances are segments of
a few hundred recordings. Every stage runs in a process of its own, so that its peak memory is its own: that of the
driver, not of the workers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDINGS = 500
STAGES = ("read", "run", "score", "accuracy", "disparity", "parity", "compare")


def make(folder: Path, utterances: int) -> None:
    """Write a manifest of segments, 20 utterances a speaker, two groups."""
    import numpy as np
    import polars as pl
    import soundfile

    generator = np.random.default_rng(0)
    (folder / "audio").mkdir(parents=True)
    for number in range(RECORDINGS):
        noise = (0.05 * generator.standard_normal(16_000 * 2)).astype(np.float32)
        soundfile.write(folder / "audio" / f"{number}.wav", noise, 16_000)
    places = np.arange(utterances)
    speaker = places // 20
    texts = np.array(["one two three", "one two four", "one two", "one two three four", "five six seven"])
    pl.DataFrame(
        {
            "id": [f"utterance-{place:07d}" for place in places],
            "path": [f"audio/{place % RECORDINGS}.wav" for place in places],
            "start": (places // RECORDINGS) % 180 / 100.0,
            "duration": 0.1,
            "speaker": [f"speaker-{number}" for number in speaker],
            "text": texts[generator.integers(0, len(texts), utterances)],
            "gender": np.where(speaker % 2 == 0, "female", "male"),
            "age": np.where(speaker % 3 == 0, "young", "old"),
        }
    ).write_parquet(folder / "manifest.parquet")


def stage(name: str, folder: Path) -> dict[str, float]:
    """Do one stage and return its seconds, CPU seconds and peak memory in MB."""
    import voxaudit

    begun, cpu = time.perf_counter(), _cpu()
    if name == "read":
        voxaudit.read_corpus(folder / "manifest.parquet")
    elif name == "run":
        sys.path.insert(0, str(HERE))
        from instant_recognizer import Instant

        corpus = voxaudit.read_corpus(folder / "manifest.parquet")
        voxaudit.run_trials(
            corpus,
            {"instant": Instant(batch_size=64)},
            ["clean"],
            out=folder / "run",
            cache=False,
            progress=False,
        )
    elif name == "score":
        voxaudit.score_run(voxaudit.open_run(folder / "run"))
    else:
        from voxaudit.audits.compare import compare

        scores = voxaudit.open_run(folder / "run").scores
        if name == "accuracy":
            voxaudit.accuracy(scores, by=["recognizer", "gender"])
        elif name == "disparity":
            voxaudit.disparity(scores, factor="gender", by=["recognizer"])
        elif name == "parity":
            voxaudit.parity(scores, ["gender", "age"])
        elif name == "compare":
            compare(scores, scores, attributes=["gender", "age"])
    return {
        "seconds": time.perf_counter() - begun,
        "cpu": _cpu() - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of utterances")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--stage", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.stage:
        print(json.dumps(stage(args.stage[0], Path(args.stage[1]))))
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows = []
    print(f"{'utterances':>10} {'stage':>10} {'seconds':>9} {'CPU s':>9} {'us each':>9} {'peak MB':>9}")
    for size in (int(part) for part in args.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), size)
            for name in STAGES:
                done = subprocess.run(
                    [sys.executable, __file__, "--stage", name, folder], check=True, stdout=subprocess.PIPE
                )
                found = json.loads(done.stdout.splitlines()[-1])
                rows.append({"utterances": size, "stage": name, **found})
                each = 1e6 * found["cpu"] / size
                print(
                    f"{size:>10,} {name:>10} {found['seconds']:>9.2f} {found['cpu']:>9.2f} {each:>9.1f}"
                    f" {found['megabytes']:>9.0f}",
                    flush=True,
                )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
