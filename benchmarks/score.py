"""Speed of scoring: voxaudit against jiwer in one run, on the same pairs, and its growth with their number.

    python benchmarks/score.py            about a minute
    python benchmarks/score.py --full     also 10 million pairs, streamed
    python benchmarks/score.py --json results.json

CPU seconds of this process (all threads), on seeded pairs. Every jiwer figure is one batched call on 100,000 pairs;
ours is the median of six calls on the same lists. Counts are compared before any time is reported.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jiwer
import polars as pl

from voxaudit.score import score_transcripts, stream_word_counts, word_counts

PAIRS = 100_000


def realistic(pairs: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield sentences of about ten words and what a recogniser with about 15 % errors makes of them."""
    generator = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(20_000)]

    def word() -> str:  # few words are frequent, many are rare
        return vocabulary[min(int(generator.paretovariate(0.6)), len(vocabulary)) - 1]

    for _ in range(pairs):
        said = [word() for _ in range(max(1, round(generator.gauss(10, 4))))]
        heard: list[str] = []
        for token in said:
            chance = generator.random()
            if chance < 0.09:
                heard.append(word())
            elif chance < 0.12:
                continue
            else:
                heard += [token, word()] if chance < 0.15 else [token]
        yield " ".join(said), " ".join(heard)


def unrelated(pairs: int, seed: int = 2) -> Iterator[tuple[str, str]]:
    """Yield pairs of up to 20 words out of six: nearly every one has several best alignments."""
    generator = random.Random(seed)
    for _ in range(pairs):
        yield (
            " ".join(generator.choices("abcdef", k=generator.randint(1, 20))),
            " ".join(generator.choices("abcdef", k=generator.randint(0, 20))),
        )


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def against_jiwer(name: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    references, hypotheses = map(list, zip(*pairs, strict=True))

    def ours() -> tuple[float, tuple[int, ...]]:
        seconds, table = cpu_seconds(lambda: word_counts(references, hypotheses))
        return seconds, table.sum().row(0)

    # Half of our calls before jiwer's and half after: a machine that gets busier meanwhile favours neither.
    calls = [ours() for _ in range(3)]
    theirs, output = cpu_seconds(lambda: jiwer.process_words(references, hypotheses))
    wanted = (output.hits, output.substitutions, output.deletions, output.insertions)
    del output
    calls += [ours() for _ in range(3)]
    if any(found != wanted for _, found in calls):
        sys.exit(f"{name}: counts differ from jiwer's: {calls[0][1]} against {wanted}")
    seconds = statistics.median(seconds for seconds, _ in calls)
    return {
        "pairs": len(pairs),
        "jiwer_us_per_pair": 1e6 * theirs / len(pairs),
        "voxaudit_us_per_pair": 1e6 * seconds / len(pairs),
        "ratio": theirs / seconds,
    }


def growth(sizes: tuple[int, ...]) -> dict[str, float]:
    """Return microseconds a pair by number of pairs, the texts in two columns of a table."""
    table = pl.DataFrame(list(realistic(max(sizes))), schema=["reference", "hypothesis"], orient="row")
    result = {}
    for size in sizes:
        part = table.head(size)
        times = [cpu_seconds(lambda part=part: word_counts(*part.get_columns()))[0] for _ in range(3)]
        result[f"{size:,}"] = 1e6 * statistics.median(times) / size
    return result


def whole_table(rows: int) -> dict[str, float]:
    """Return microseconds a row of the `scores` table, normalising and character errors included."""
    pairs = list(realistic(10_000))
    corpus = pl.DataFrame(
        {"id": [str(row) for row in range(len(pairs))], "speaker": "s", "text": [said for said, _ in pairs]}
    )
    picked = [row % len(pairs) for row in range(rows)]
    transcripts = pl.DataFrame(
        {
            "utterance": [str(row) for row in picked],
            "scenario": "clean",
            "recognizer": "r",
            "text": [f"{pairs[row][1]} {place}" for place, row in enumerate(picked)],
            "failure": "",
        }
    )
    return {"basic": 1e6 * cpu_seconds(lambda: score_transcripts(transcripts, corpus, "basic"))[0] / rows}


def streamed(pairs: int) -> dict[str, Any]:
    """Stream pairs through the scorer; the time to hand them over is measured apart and taken off."""
    pool = list(realistic(PAIRS))

    def source() -> Iterator[tuple[str, str]]:
        for first in range(0, pairs, len(pool)):
            yield from pool[: pairs - first]

    handing, _ = cpu_seconds(lambda: sum(1 for _ in source()))
    before = _peak_mb()
    seconds, hits = cpu_seconds(lambda: sum(int(part["hits"].sum()) for part in stream_word_counts(source())))
    return {
        "pairs": pairs,
        "cpu_seconds": seconds - handing,
        "us_per_pair": 1e6 * (seconds - handing) / pairs,
        "peak_mb_before": before,
        "peak_mb_after": _peak_mb(),
        "hits": hits,
    }


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="also stream 10 million pairs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    args = parser.parse_args()
    results: dict[str, Any] = {
        "python": platform.python_version(),
        "jiwer": version("jiwer"),
        "rapidfuzz": version("rapidfuzz"),
    }
    print(f"Python {results['python']}, jiwer {results['jiwer']}, rapidfuzz {results['rapidfuzz']}; CPU time")
    if args.full:  # first: the peak of memory is of the whole process
        found = results["streamed"] = streamed(10_000_000)
        print(
            f"10,000,000 pairs streamed: {found['cpu_seconds']:.1f} CPU s, {found['us_per_pair']:.2f} us a pair,"
            f" peak memory {found['peak_mb_before']:.0f} MB before, {found['peak_mb_after']:.0f} MB after",
            flush=True,
        )
    print(f"{'100,000 pairs':26}{'jiwer':>12}{'voxaudit':>12}{'ratio':>8}")
    for name, pairs in (("realistic", list(realistic(PAIRS))), ("unrelated", list(unrelated(PAIRS)))):
        found = results[name] = against_jiwer(name, pairs)
        times = f"{found['jiwer_us_per_pair']:>9.1f} us{found['voxaudit_us_per_pair']:>9.2f} us"
        print(f"{name:26}{times}{found['ratio']:>8.1f}", flush=True)
    results["growth_us_per_pair"] = growth((10_000, PAIRS, 1_000_000))
    for size, cost in results["growth_us_per_pair"].items():
        print(f"{size + ' pairs, columns':26}{'':12}{cost:>9.2f} us", flush=True)
    results["scores_table_us_per_row"] = whole_table(PAIRS)
    cost = results["scores_table_us_per_row"]["basic"]
    print(
        f"{'scores table, a row':26}{'':12}{cost:>9.2f} us   (normalising with basic, characters)", flush=True
    )
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
