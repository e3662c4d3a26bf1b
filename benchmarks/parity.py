"""The parity audit: five attributes, five recognizers, a growing number of trials.

Each from a Parquet file like a run's `scores.parquet` in a process of its own. Beside it pandas, which reads the same
file and computes the error rates of the same groups and of all their crossings, without any interval or test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.measure import Row, Settings, absent, apart, beside_the_table, compare, named

import voxaudit

ATTRIBUTES = {"gender": 2, "age_group": 5, "accent": 12, "first_language": 20, "income": 4}
RECOGNIZERS = 5


def scores(trials: int, seed: int = 1) -> pl.DataFrame:
    """Return a `scores` table: about 100 trials per speaker and recognizer, rates that differ by speaker and accent."""
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


def audit(path: str) -> int:
    return int(voxaudit.parity(path, attributes=list(ATTRIBUTES)).detail.speakers.people.height)


def plain_rates(path: str) -> int:
    """Compute error rates of all groups and of all pairs of attributes with pandas."""
    import pandas as pd

    table = pd.read_parquet(path)
    table["errors"] = table["substitutions"] + table["deletions"] + table["insertions"]
    groups = [[name] for name in ATTRIBUTES] + [list(pair) for pair in combinations(ATTRIBUTES, 2)]
    count = 0
    for names in groups:
        sums = table.groupby(["recognizer", *names])[["errors", "words"]].sum()
        count += len(sums["errors"] / sums["words"])
    return count


def measure(settings: Settings) -> Iterator[Row]:
    sizes = settings.pick((20_000,), (200_000, 1_000_000), (200_000, 1_000_000, 5_000_000))
    label = f"{named('pandas')}: rates alone, no intervals or tests"
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scores.parquet"
            table = scores(size)
            table.write_parquet(path)
            megabytes = table.estimated_size("mb")
            del table
            ours, theirs = (
                apart(audit, path=str(path)),
                apart(plain_rates, ["pandas", "pyarrow.parquet"], path=str(path)),
            )
            peers = {label: absent("pandas", "pyarrow") or theirs}
            rounds = settings.pick(1, 3)
            what = f"{size:,} trials, 5 attributes, 5 recognizers"
            yield from compare(what, "CPU s", ours, peers, rounds=rounds, kind="floor", warm=False)
            yield beside_the_table(what, [one.added for one in ours.took], megabytes)
