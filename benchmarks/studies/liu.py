"""The two simulations of Liu et al. (2022, section 3): how often each method claims a gap that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from voxaudit.stats.cells import FloatArray, IntArray, collapse
from voxaudit.stats.ratio_bootstrap import Limits, ratio_bootstrap
from voxaudit.stats.regression import Settings, likelihood_ratio, normal_tails, regress, without_columns

UTTERANCES = 5000
"""Utterances of each group."""
WORDS, WER = 10, 0.05
RESAMPLES = 1000
LEVEL = 0.05
SEED = 1


@dataclass(frozen=True)
class Figures:
    """Mean estimated ratio (the truth is 1) and the share of repetitions that claim a gap, by method."""

    baseline_ratio: float
    baseline_fp: float
    model_ratio: float
    model_fp: float
    """By the 95 % Wald interval of the group effect."""
    model_fp_lrt: float | None = None
    """By the likelihood-ratio test."""
    speaker_bootstrap_fp: float | None = None
    """By resampling speakers instead of utterances."""


@dataclass(frozen=True)
class Row:
    """One setting of a table: what was published and what was found here."""

    setting: dict[str, float]
    published: Figures
    found: Figures
    repetitions: int

    def monte_carlo_error(self, name: str) -> float:
        """Return the standard error of a false-positive rate found here."""
        rate = float(getattr(self.found, name) or 0.0)
        return float(np.sqrt(max(rate * (1.0 - rate), 1e-9) / self.repetitions))


Setting = dict[str, float]

PUBLISHED: dict[str, tuple[tuple[Setting, Figures], ...]] = {
    "liu-table1": (
        ({"p_case": 0.5, "p_control": 0.5}, Figures(1.000, 0.049, 1.000, 0.047)),
        ({"p_case": 0.6, "p_control": 0.4}, Figures(1.021, 0.121, 1.001, 0.058)),
        ({"p_case": 0.7, "p_control": 0.3}, Figures(1.041, 0.298, 1.000, 0.054)),
        ({"p_case": 0.9, "p_control": 0.1}, Figures(1.084, 0.833, 1.001, 0.051)),
    ),
    "liu-table2": (
        ({"speakers": 500, "sigma": 0.2}, Figures(1.000, 0.080, 1.000, 0.048)),
        ({"speakers": 500, "sigma": 0.4}, Figures(1.001, 0.149, 1.001, 0.045)),
        ({"speakers": 100, "sigma": 0.2}, Figures(1.000, 0.166, 1.000, 0.050)),
        ({"speakers": 100, "sigma": 0.4}, Figures(0.999, 0.426, 0.999, 0.052)),
    ),
}
"""Tables 1 and 2 of the paper. Speakers are counted per group."""

Progress = Callable[[int, int], None]
Once = Callable[..., dict[str, float]]
_BATCH = 50


def simulate(
    table: str, repetitions: int = 1000, seed: int = SEED, workers: int = 1, progress: Progress | None = None
) -> tuple[Row, ...]:
    """Repeat one of the paper's tables; `progress` is called with (repetitions done, repetitions in all)."""
    once = confounder if table == "liu-table1" else speakers
    settings = [setting for setting, _ in PUBLISHED[table]]
    runs = repeat(once, settings, repetitions, seed, workers, progress)
    return tuple(
        Row(setting, published, Figures(**_mean(found)), repetitions)
        for (setting, published), found in zip(PUBLISHED[table], runs, strict=True)
    )


def repeat(
    once: Once,
    settings: Sequence[Setting],
    repetitions: int,
    seed: int = SEED,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[list[dict[str, float]]]:
    """Call `once(generator, **setting)` so often for every setting, and return what it returned.

    Every repetition has a generator of its own, so the result does not depend on the number of worker processes.
    """
    batches = [
        (once, setting, place, range(first, min(first + _BATCH, repetitions)), seed)
        for place, setting in enumerate(settings)
        for first in range(0, repetitions, _BATCH)
    ]
    runs: list[list[dict[str, float]]] = [[] for _ in settings]
    done = 0
    with ExitStack() as stack:
        results: Iterator[list[dict[str, float]]] = map(_batch, batches)
        if workers > 1:
            # Fresh processes: a fork would copy the locks of this process's threads.
            pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
            results = stack.enter_context(pool).map(_batch, batches)
        for (_, _, place, numbers, _), found in zip(batches, results, strict=True):
            runs[place] += found
            done += len(numbers)
            if progress is not None:
                progress(done, repetitions * len(settings))
    return runs


def _batch(batch: tuple[Once, Setting, int, range, int]) -> list[dict[str, float]]:
    once, setting, place, numbers, seed = batch
    return [once(np.random.default_rng([seed, place, number]), **setting) for number in numbers]


def confounder(generator: np.random.Generator, p_case: float, p_control: float) -> dict[str, float]:
    """Simulate Table 1 once (Eq. 8): an attribute that raises errors by 11 % is commoner in one group."""
    case = np.repeat([False, True], UTTERANCES)
    present = generator.random(2 * UTTERANCES) < np.where(case, p_case, p_control)
    errors = generator.poisson(WORDS * WER * np.exp(0.1 * present)).astype(np.float64)
    design = np.column_stack([np.ones(2 * UTTERANCES), case, present]).astype(np.float64)
    return _one(errors, case, design, None, generator)


def speakers(generator: np.random.Generator, speakers: float, sigma: float) -> dict[str, float]:
    """Simulate Table 2 once (Eq. 9): speakers differ, groups do not."""
    people = 2 * int(speakers)
    speaker = np.repeat(np.arange(people), UTTERANCES // int(speakers))
    case = speaker >= people // 2
    effect = generator.normal(0.0, sigma, people)
    errors = generator.poisson(WORDS * WER * np.exp(effect[speaker])).astype(np.float64)
    design = np.column_stack([np.ones(len(case)), case]).astype(np.float64)
    return _one(errors, case, design, speaker, generator)


def _one(
    errors: FloatArray,
    case: np.ndarray[Any, np.dtype[np.bool_]],
    design: FloatArray,
    speaker: IntArray | None,
    generator: np.random.Generator,
) -> dict[str, float]:
    words = np.full(len(errors), float(WORDS))
    baseline = ratio_bootstrap(
        errors, words, case, ~case, speaker, resamples=RESAMPLES, seed=int(generator.integers(1 << 63))
    )
    codes = np.zeros(len(errors), dtype=np.int64) if speaker is None else speaker
    model = regress(collapse(errors, words, codes, design), Settings(random=speaker is not None))
    estimate, se = model.estimate(1)
    test = likelihood_ratio(model, without_columns(model, (1,)))
    return {
        "baseline_ratio": baseline.ratio,
        "baseline_fp": _excludes_one(baseline.utterances),
        "model_ratio": float(np.exp(estimate)),
        "model_fp": float(normal_tails(estimate / se) < LEVEL),
        "model_fp_lrt": float(test.p < LEVEL),
        **({} if speaker is None else {"speaker_bootstrap_fp": _excludes_one(baseline.speakers)}),
    }


def _excludes_one(limits: Limits | None) -> float:
    return float(limits is not None and not limits.ci_low <= 1.0 <= limits.ci_high)


def _mean(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row as plain data, with the Monte Carlo errors of the rates found."""
    errors = {name: row.monte_carlo_error(name) for name in ("baseline_fp", "model_fp")}
    return {**asdict(row), "monte_carlo_error": errors}
