"""Where the disparity audit can be trusted: false positives with few speakers, lumpy errors, and uneven reactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from voxaudit.audits.disparity.simulation import LEVEL, SEED, Progress, Setting, repeat

from voxaudit.stats.cells import FloatArray, collapse
from voxaudit.stats.regression import likelihood_ratio, normal_tails, regress, without_columns
from voxaudit.stats.robust import robust_test, speaker_sandwich

CHECKS: dict[str, tuple[Setting, ...]] = {
    "few-speakers": tuple(
        {"speakers": speakers, "dispersion": dispersion}
        for dispersion in (1.0, 2.5)
        for speakers in (3, 5, 10, 20, 50)
    ),
    "interaction": tuple(
        {"speakers": speakers, "dispersion": dispersion, "slope": slope}
        for speakers in (10, 30)
        for dispersion in (1.0, 2.5)
        for slope in (0.0, 0.3)
    ),
}
"""Speakers are counted per group; `dispersion` is the variance of errors within a speaker over the Poisson's; `slope`
is how much speakers differ in their reaction to a scenario (standard deviation of log-rates)."""


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
    once = few_speakers if name == "few-speakers" else interaction
    runs = repeat(once, CHECKS[name], repetitions, seed, workers, progress)
    return tuple(
        CheckRow(
            setting,
            {test: float(np.mean([run[test] < LEVEL for run in found])) for test in found[0]},
            repetitions,
        )
        for setting, found in zip(CHECKS[name], runs, strict=True)
    )


def few_speakers(generator: np.random.Generator, speakers: float, dispersion: float) -> dict[str, float]:
    """Draw 20 utterances a speaker without any gap; test the group and a control that varies within speakers."""
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


def interaction(
    generator: np.random.Generator, speakers: float, dispersion: float, slope: float
) -> dict[str, float]:
    """Draw four scenarios that hurt both groups alike; test the group x scenario interaction."""
    people, scenarios = 2 * int(speakers), 4
    speaker = np.repeat(np.arange(people), 10 * scenarios)
    scenario = np.tile(np.repeat(np.arange(scenarios), 10), people)
    case = (speaker >= speakers).astype(np.float64)
    reaction = generator.normal(0.0, 1.0, (people, scenarios)) * slope
    reaction[:, 0] = 0.0
    log_rate = generator.normal(0.0, 0.4, people)[speaker] + 0.3 * scenario + reaction[speaker, scenario]
    errors, words = _errors(generator, log_rate, dispersion)
    levels = [(scenario == one).astype(np.float64) for one in range(1, scenarios)]
    design = np.column_stack([np.ones(len(case)), case, *levels, *(case * level for level in levels)])
    columns = tuple(range(1 + scenarios, 2 * scenarios))
    model = regress(collapse(errors, words, speaker, design))
    robust = robust_test(model, columns, speaker_sandwich(model))
    return {
        "likelihood ratio": likelihood_ratio(model, without_columns(model, columns)).p,
        "robust": 1.0 if robust is None else robust.p,
    }


def _errors(
    generator: np.random.Generator, log_rate: FloatArray, dispersion: float
) -> tuple[FloatArray, FloatArray]:
    words = generator.integers(5, 25, len(log_rate)).astype(np.float64)
    mean = 0.1 * words * np.exp(log_rate)
    if dispersion > 1.0:
        mean = generator.gamma(mean / (dispersion - 1.0), dispersion - 1.0)
    return generator.poisson(mean).astype(np.float64), words
