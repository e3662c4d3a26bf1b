"""How often limits of an error rate, and of what a disturbance adds to it, miss the truth; and what else could be used.

    python -m benchmarks.studies.limits rates --audits 4000
    python -m benchmarks.studies.limits costs --audits 2000

Audits are made up in the worlds of `benchmarks.verdicts`, all audits of a cell at once, speaker by speaker. `rates` has
one recognizer on clean speech; `costs` the same speakers clean and disturbed: no cost, half as many errors more, and
twice as many but unlike for every speaker (a log-normal factor, standard deviation 0.6).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from benchmarks.verdicts.worlds import HETERO, RATE, TURNED, WORDS, WORLDS, mean_one
from scipy.special import stdtrit

from voxaudit.render.terminal import print_table
from voxaudit.stats.bootstrap import Resample, widened_tail
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import pulls, rate_intervals

SIZES = (8, 16, 20, 40, 66)
COSTS = {"none": (1.0, 0.0), "half more": (1.5, 0.0), "twice, varied": (2.0, 0.6)}
NAMES = {HETERO: "speakers unlike", TURNED: "speakers alike"}
"""What the worlds of unlike groups are where there is one group: the second of each."""
RESAMPLES = 2000
AT_ONCE = 250
"""Audits drawn at a time: some worlds have hundreds of utterances a speaker."""
SEED = 1
Limits = tuple[FloatArray, FloatArray]


def draw(world: str, size: int, audits: int, costs: tuple[tuple[float, float], ...]) -> list[FloatArray]:
    """Return the words and the errors of speakers x audits, errors once for each of `costs` (a factor, its spread)."""
    place = list(WORLDS).index(world)
    generator = np.random.Generator(np.random.PCG64([SEED, place, size]))
    made, own = [], WORLDS[world]
    for first in range(0, audits, AT_ONCE):
        count = size * min(AT_ONCE, audits - first)
        factors = own.speakers(generator, 1, np.ones(count, dtype=np.int64))[0]
        speaker = np.repeat(np.arange(count), own.utterances(generator, count))
        words = 1 + generator.poisson(WORDS - 1.0, len(speaker))
        hard = mean_one(own.hard, generator.standard_normal(len(speaker)))
        sums = [np.bincount(speaker, words, count)]
        for times, spread in costs:
            varied = times * mean_one(spread, generator.standard_normal(count))
            errors = own.errors(generator, RATE * (factors * varied)[speaker] * hard * words)
            sums.append(np.bincount(speaker, errors, count))
        made.append([one.reshape(-1, size).T.astype(np.float64) for one in sums])
    return [np.hstack(parts) for parts in zip(*made, strict=True)]


def rates(world: str, size: int, audits: int) -> Iterator[dict[str, Any]]:
    """Yield how often the limits of a rate miss: those of the audits, and those of the log scale alone."""
    words, errors = draw(world, size, audits, ((1.0, 0.0),))
    some = errors.sum(axis=0) > 0.0  # what is given where nobody met an error is tried elsewhere
    words, errors = words[:, some], errors[:, some]
    numbers = np.arange(errors.shape[1])
    rows = {"of": np.repeat(numbers, size), "speaker": np.tile(np.arange(size), len(numbers))}
    found = rate_intervals(
        pl.DataFrame({**rows, "errors": errors.T.ravel(), "words": words.T.ravel()}), ["of"]
    )
    rate, parts = pulls(errors, words)
    pull, df = parts.corrected()
    wide = np.exp(stdtrit(df, 0.975) * np.sqrt(np.sum(pull**2, axis=0)))
    now = (found["ci_low"].to_numpy(), found["ci_high"].to_numpy())
    for name, ends in (("now", now), ("log scale", (rate / wide, rate * wide))):
        yield {"limits": name, **missed(ends, WORLDS[world].wer, (rate / wide, rate * wide))}


def costs(world: str, size: int, audits: int) -> Iterator[dict[str, Any]]:
    """Yield how often limits of a cost miss, how wide they are, and how often a cost is seen."""
    resample = Resample.within([""] * size, RESAMPLES, SEED, 0.95)
    weights = np.random.Generator(np.random.PCG64(SEED)).standard_exponential((RESAMPLES, size + 1))
    for cost, (times, spread) in COSTS.items():
        words, clean, disturbed = draw(world, size, audits, ((1.0, 0.0), (times, spread)))
        change = disturbed - clean
        old = percentiles(resample, change, words)
        truth = (times - 1.0) * RATE * WORLDS[world].mean
        methods: dict[str, Limits] = {
            "now": halves(resample, change, words),
            "percentiles": old,
            "t": student(change, words),
            "Bayesian": bayesian(weights, change, words),
        }
        for name, ends in methods.items():
            seen = np.mean((ends[0] > 0.0) | (ends[1] < 0.0))
            yield {"cost": cost, "limits": name, **missed(ends, truth, old), "seen": float(seen)}


def missed(ends: Limits, truth: float, beside: Limits) -> dict[str, float]:
    """Return how often the truth is below and above the limits, and their width in units of others'."""
    below, above = float(np.mean(ends[0] > truth)), float(np.mean(ends[1] < truth))
    width = float(np.median(ends[1] - ends[0]) / np.median(beside[1] - beside[0]))
    return {"low": below, "high": above, "either": below + above, "width": width}


def halves(resample: Resample, change: FloatArray, words: FloatArray) -> Limits:
    """Return the limits that the audits give."""
    values, share = resample.rates(change, words), words / words.sum(axis=0)
    said, deviation = resample.sums(share), change / words.sum(axis=0) - values[0] * share
    ends = [
        resample.change_limits(values[:, k], deviation[:, k], share[:, k], said[:, k], len(words))
        for k in range(change.shape[1])
    ]
    low, high = np.array(ends, dtype=np.float64).T
    return low, high


def percentiles(resample: Resample, change: FloatArray, words: FloatArray) -> Limits:
    """Return percentiles of resampled speakers, widened for few of them."""
    tail = widened_tail(len(words), 0.95)
    drawn = resample.rates(change, words)[1 : RESAMPLES + 1]
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return low, high


def student(change: FloatArray, words: FloatArray) -> Limits:
    """Return the t limits of the ratio, with Kish's number of speakers less 1 as degrees of freedom."""
    total = words.sum(axis=0)
    estimate, count = change.sum(axis=0) / total, len(words)
    error = np.sqrt(count / (count - 1) * np.sum(((change - estimate * words) / total) ** 2, axis=0))
    wide = stdtrit(np.maximum(total**2 / np.sum(words**2, axis=0) - 1.0, 1.0), 0.975) * error
    return estimate - wide, estimate + wide


def bayesian(weights: FloatArray, change: FloatArray, words: FloatArray) -> Limits:
    """Return limits of exponential weights with one speaker more, as far beyond the extreme as that from the median."""
    own, mean, last = change / words, words.mean(axis=0), weights[:, -1:]
    above, below = weights[:, :-1] @ change, weights[:, :-1] @ words + last * mean
    ends = []
    for tail, extreme in ((0.025, own.min(axis=0)), (0.975, own.max(axis=0))):
        unseen = 2.0 * extreme - np.median(own, axis=0)
        ends.append(np.quantile((above + last * unseen * mean) / below, tail, axis=0))
    return ends[0], ends[1]


STUDIES: dict[str, Callable[[str, int, int], Iterator[dict[str, Any]]]] = {"rates": rates, "costs": costs}


def measure(study: str, audits: int, sizes: tuple[int, ...] = SIZES) -> pl.DataFrame:
    """Return a row for every world, size and method (and cost)."""
    rows = [
        {"world": NAMES.get(world, world), "speakers": size, **row}
        for world in WORLDS
        for size in sizes
        for row in STUDIES[study](world, size, audits)
    ]
    return pl.DataFrame(rows)


def main(arguments: list[str] | None = None) -> None:
    """Print the worst size of every world, in percent."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--out", help="every cell, as a table (csv)")
    asked = parser.parse_args(arguments)
    found = measure(asked.study, asked.audits)
    if asked.out:
        found.write_csv(asked.out)
    by = ["world", *(["cost"] if "cost" in found.columns else []), "limits"]
    seen = ["seen"] if "seen" in found.columns else []
    worst = found.group_by(by, maintain_order=True).agg(
        pl.col("low", "high", "either").max(), pl.col("width", *seen).mean()
    )
    rows = [
        [*(row[name] for name in by)]
        + [f"{100 * row[name]:.1f}" for name in ("low", "high", "either", *seen)]
        + [f"{row['width']:.2f}"]
        for row in worst.iter_rows(named=True)
    ]
    title = f"Limits of {asked.study} that miss, in percent: the worst of {len(SIZES)} sizes"
    print_table(title, [*by, "low", "high", "either", *seen, "width"], rows)


if __name__ == "__main__":
    main()
