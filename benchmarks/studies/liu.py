"""How often methods claim a gap that does not exist: the simulations of Liu et al. (2022, section 3), and one more.

    python -m benchmarks.studies.liu liu-table2 --repetitions 200 [--workers 2] [--json]

`liu-table1` and `liu-table2` stand beside what was published. `few-speakers` asks where the model can be trusted: with
few speakers and lumpy errors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from voxaudit.render.terminal import print_table
from voxaudit.stats.cells import FloatArray, IntArray, collapse
from voxaudit.stats.ratio_bootstrap import Limits, ratio_bootstrap
from voxaudit.stats.regression import Settings, likelihood_ratio, normal_tails, regress, without_columns
from voxaudit.stats.robust import robust_test, speaker_sandwich

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


def as_dict(row: Row | CheckRow) -> dict[str, Any]:
    """Return a row as plain data, with the Monte Carlo errors of the rates found."""
    if isinstance(row, CheckRow):
        return asdict(row)
    errors = {name: row.monte_carlo_error(name) for name in ("baseline_fp", "model_fp")}
    return {**asdict(row), "monte_carlo_error": errors}


CHECKS: dict[str, tuple[Setting, ...]] = {
    "few-speakers": tuple(
        {"speakers": speakers, "dispersion": dispersion}
        for dispersion in (1.0, 2.5)
        for speakers in (3, 5, 10, 20, 50)
    ),
}
"""Speakers are counted per group; `dispersion` is the variance of errors within a speaker over the Poisson's."""


@dataclass(frozen=True)
class CheckRow:
    """The share of repetitions that claim an effect that does not exist, by test."""

    setting: Setting
    false_positives: dict[str, float]
    repetitions: int


def check(
    name: str, repetitions: int = 1000, seed: int = SEED, workers: int = 1, progress: Progress | None = None
) -> tuple[CheckRow, ...]:
    """Repeat one of `CHECKS`."""
    runs = repeat(few_speakers, CHECKS[name], repetitions, seed, workers, progress)
    return tuple(
        CheckRow(
            setting,
            {test: float(np.mean([run[test] < LEVEL for run in found])) for test in found[0]},
            repetitions,
        )
        for setting, found in zip(CHECKS[name], runs, strict=True)
    )


def few_speakers(generator: np.random.Generator, speakers: float, dispersion: float) -> dict[str, float]:
    """Draw 20 utterances per speaker without any gap; test the group and a control that varies within speakers."""
    people = 2 * int(speakers)
    speaker = np.repeat(np.arange(people), 20)
    case = (speaker >= speakers).astype(np.float64)
    within = generator.normal(0.0, 1.0, len(speaker))
    log_rate = generator.normal(0.0, 0.5, people)[speaker]
    errors, words = _errors(generator, log_rate, dispersion)
    design = np.column_stack([np.ones(len(speaker)), case, within])
    model = regress(collapse(errors, words, speaker, design))
    robust = speaker_sandwich(model)
    (estimate, se), (other, other_se) = model.estimate(1), model.estimate(2)
    group, control = robust_test(model, (1,), robust), robust_test(model, (2,), robust)
    return {
        "group, likelihood ratio": likelihood_ratio(model, without_columns(model, (1,))).p,
        "group, Wald": float(normal_tails(estimate / se)),
        "group, robust": 1.0 if group is None else group.p,
        "control, Wald": float(normal_tails(other / other_se)),
        "control, robust": 1.0 if control is None else control.p,
    }


def _errors(
    generator: np.random.Generator, log_rate: FloatArray, dispersion: float
) -> tuple[FloatArray, FloatArray]:
    words = generator.integers(5, 25, len(log_rate)).astype(np.float64)
    mean = 0.1 * words * np.exp(log_rate)
    if dispersion > 1.0:
        mean = generator.gamma(mean / (dispersion - 1.0), dispersion - 1.0)
    return generator.poisson(mean).astype(np.float64), words


TITLES = {
    "liu-table1": "Liu et al. 2022, Table 1: a confounder that is commoner in one group. The true ratio is 1",
    "liu-table2": "Liu et al. 2022, Table 2: speakers differ, groups do not. The true ratio is 1",
    "few-speakers": "How few speakers are enough? Groups that do not differ, 20 utterances per speaker, sigma 0.5",
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("simulation", choices=tuple(TITLES))
    parser.add_argument("--repetitions", type=int, default=1000, metavar="N", help="of each row")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N")
    parser.add_argument("--workers", type=int, metavar="N", help="processes: they change nothing but time")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # thousands of small fits: threads of workers would only wait
    workers = args.workers or min(os.cpu_count() or 1, 1 + args.repetitions // _BATCH)
    progress = _progress if sys.stderr.isatty() else None
    asked = (args.simulation, args.repetitions, args.seed, workers, progress)
    rows: Sequence[Row | CheckRow] = check(*asked) if args.simulation in CHECKS else simulate(*asked)
    if args.json:
        known = {"simulation": args.simulation, "repetitions": args.repetitions, "seed": args.seed}
        print(json.dumps({**known, "rows": [as_dict(row) for row in rows]}, indent=2))
        return
    print(TITLES[args.simulation])
    for title, columns, lines in _tables(rows):
        print_table(f"{title}, {args.repetitions:,} repetitions", columns, lines)
    if args.simulation in PUBLISHED:
        print(
            "Utterance bootstrap: the ratio of word error rates, utterances resampled (the paper's baseline)."
        )
    error = 100 * (0.05 * 0.95 / args.repetitions) ** 0.5
    print(f"Monte Carlo error of a rate near 5 %: {error:.1f} %.")


def _progress(done: int, total: int) -> None:
    print(f"\r{done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _tables(rows: Sequence[Row | CheckRow]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    settings = [[f"{value:g}" for value in row.setting.values()] for row in rows]
    names = list(rows[0].setting)
    checks = [row.false_positives for row in rows if isinstance(row, CheckRow)]
    if checks:
        cells = [[f"{100 * rate:.1f}" for rate in one.values()] for one in checks]
        yield "% false positives at 5 %", [*names, *checks[0]], _beside(settings, cells)
        return
    pairs = [(row.published, row.found) for row in rows if isinstance(row, Row)]
    ratios = [[_both(*pair, name, 1, 4) for name in ("baseline_ratio", "model_ratio")] for pair in pairs]
    methods = ["utterance bootstrap", "model"]
    yield "mean ratio: published / found", [*names, *methods], _beside(settings, ratios)
    rates = {"baseline_fp": methods[0], "model_fp": methods[1], "model_fp_lrt": "model, likelihood ratio"}
    if pairs[0][1].speaker_bootstrap_fp is not None:
        rates["speaker_bootstrap_fp"] = "speaker bootstrap"
    cells = [[_both(*pair, name, 100, 1) for name in rates] for pair in pairs]
    yield "% false positives: published / found", [*names, *rates.values()], _beside(settings, cells)


def _beside(left: Iterable[list[str]], right: Iterable[list[str]]) -> list[list[str]]:
    return [[*first, *second] for first, second in zip(left, right, strict=True)]


def _both(published: Figures, found: Figures, name: str, times: int, digits: int) -> str:
    old, new = getattr(published, name), getattr(found, name)
    return f"{'-' if old is None else f'{times * old:.{min(digits, 3)}f}'} / {times * new:.{digits}f}"


if __name__ == "__main__":
    main()
