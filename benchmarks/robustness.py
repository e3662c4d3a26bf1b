"""The robustness audit of a whole bank: 2,000 resamples, all levels, curves, ranks, and one attribute.

Each in a process of its own, from a Parquet file of scores. Beside it pandas, which reads the same file and computes
what Speech Robust Bench reports: an error rate for every recognizer and scenario, without intervals.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.measure import Row, Settings, absent, apart, beside_the_table, compare, named

from voxaudit.audits.robustness.audit import robustness
from voxaudit.perturb.suites import SLOTS, SRB


def make(path: Path, utterances: int, speakers: int, recognizers: int) -> float:
    """Write a table of scores and return its size in memory in MB."""
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
    return float(table.estimated_size("mb"))


def audit(path: str) -> int:
    return robustness(path, difficulty="published", attributes=["gender"]).tables["ranking"].height


def plain_rates(path: str) -> int:
    """Compute the rate of every recognizer and scenario, and its degradation from clean, with pandas."""
    import pandas as pd

    table = pd.read_parquet(path)
    table["errors"] = table["substitutions"] + table["deletions"] + table["insertions"]
    sums = table.groupby(["recognizer", "scenario"])[["errors", "words"]].sum()
    rates = (sums["errors"] / sums["words"]).unstack("recognizer")
    return int((rates - rates.loc["clean"]).size)


def measure(settings: Settings) -> Iterator[Row]:
    utterances = settings.pick(200, 3_000, 10_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        megabytes = make(path, utterances, 200, 3)
        ours, theirs = (
            apart(audit, path=str(path)),
            apart(plain_rates, ["pandas", "pyarrow.parquet"], path=str(path)),
        )
        what = f"{utterances:,} utterances x 114 scenarios x 3 recognizers"
        label = f"{named('pandas')}: rates as Speech Robust Bench reports them, no intervals"
        peers = {label: absent("pandas", "pyarrow") or theirs}
        yield from compare(what, "CPU s", ours, peers, rounds=settings.pick(1, 3), kind="floor", warm=False)
        yield beside_the_table(what, [one.added for one in ours.took], megabytes)
