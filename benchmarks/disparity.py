"""Disparity: ratios of groups beside scipy; the model's fit and a whole audit beside lme4::glmer (R) and glmm.

Ours starts at a polars table with text columns and includes reading speakers and groups and collapsing to sufficient
statistics; glmer starts at a data frame with factors and is charged its own CPU time, glmm starts at a dict of columns.
Estimates are compared before a time is reported.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.measure import (
    Call,
    Missing,
    Peer,
    Row,
    Settings,
    Took,
    absent,
    alone,
    compare,
    named,
    peak_megabytes,
    row_of,
    took,
)

from voxaudit import disparity, slices
from voxaudit.audits.disparity.frames import Question, frames
from voxaudit.audits.disparity.model import fit_frame
from voxaudit.audits.scores import Scores
from voxaudit.stats.crossed_glmm import fit_crossed
from voxaudit.stats.group_ratios import Rates, judge
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.regression import Settings as Fit

APART = 0.01
"""Standard errors that estimates may differ by."""
NO_LME4 = Missing("R with lme4 is not installed")
R_SCRIPT = r"""
suppressMessages(library(lme4))
input <- file("stdin", "r")
cat("ready\n"); flush(stdout())
number <- function(x) paste0("[", paste(formatC(x, digits = 17, format = "g"), collapse = ","), "]")
cpu <- function(code) { t <- proc.time(); code; sum((proc.time() - t)[1:2]) }
while (length(line <- readLines(input, 1)) > 0) {
  part <- strsplit(line, "\t")[[1]]
  d <- read.csv(part[1], stringsAsFactors = TRUE)
  d$group <- relevel(d$group, ref = "control")
  right <- paste(c("offset(log(words))", "(1 | speaker)", strsplit(part[2], ",")[[1]]), collapse = " + ")
  full <- as.formula(paste("errors ~ group +", right))
  f <- NULL
  quiet <- function(x) suppressWarnings(suppressMessages(x))
  seconds <- cpu(f <- quiet(glmer(full, d, poisson, nAGQ = 10)))
  audit <- NA
  if (part[3] == "audit") audit <- cpu({
    f <- quiet(glmer(full, d, poisson, nAGQ = 10))
    quiet(glmer(as.formula(paste("errors ~", right)), d, poisson, nAGQ = 10))
    quiet(confint(f, parm = "groupcase", method = "profile", quiet = TRUE))
  })
  peak <- sub("[^0-9]*([0-9]+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))
  cat(sprintf('{"seconds": %s, "audit": %s, "coef": %s, "se": %s, "sigma": %s, "peak_mb": %s}\n', number(seconds),
    if (is.na(audit)) "null" else number(audit), number(fixef(f)[["groupcase"]]),
    number(sqrt(diag(as.matrix(vcov(f))))[["groupcase"]]), number(getME(f, "theta")), as.numeric(peak) / 1024))
  flush(stdout())
}
"""


@dataclass(frozen=True)
class Case:
    name: str
    table: pl.DataFrame
    controls: tuple[str, ...] = ()


def table2(speakers: int, seed: int) -> pl.DataFrame:
    """Make Table 2 of Liu et al.: 10,000 utterances of 10 words, sigma 0.4, `speakers` in all."""
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(speakers), 10_000 // speakers)
    errors = generator.poisson(0.5 * np.exp(generator.normal(0, 0.4, speakers)[speaker]))
    return pl.DataFrame(
        {
            "speaker": [f"speaker_{one:05d}" for one in speaker],
            "group": ["case" if one >= speakers // 2 else "control" for one in speaker],
            "words": np.full(10_000, 10),
            "errors": errors,
        }
    )


def grown(utterances: int, seed: int, *, within: bool = False) -> pl.DataFrame:
    """Make a corpus of ten utterances per speaker, lengths all different."""
    generator = np.random.default_rng(seed)
    speakers = utterances // 10
    speaker = np.repeat(np.arange(speakers), 10)
    words, snr = generator.integers(3, 40, utterances), np.round(generator.normal(15, 6, utterances), 3)
    log_rate = np.log(0.1) + generator.normal(0, 0.4, speakers)[speaker] - 0.03 * (snr - 15) * within
    table = pl.DataFrame(
        {
            "speaker": speaker,
            "group": speaker % 2,
            "words": words,
            "errors": generator.poisson(words * np.exp(log_rate)),
            "snr": snr,
            "rate": np.round(generator.gamma(16, 0.25, utterances), 3),
        }
    )
    return table.with_columns(
        pl.format("speaker_{}", "speaker").alias("speaker"),
        pl.when(pl.col("group") == 1).then(pl.lit("case")).otherwise(pl.lit("control")).alias("group"),
    )


def ours(case: Case) -> tuple[float, float]:
    """Return the estimate of the group's effect and its standard error."""
    question = Question("group", controls=case.controls)
    model = fit_frame(next(frames(Scores.of(case.table), question)), "group", "control", Fit(nodes=25))
    estimate, error = model.regression.estimate(model.columns("attribute")[0])
    return float(estimate), float(error)


def grown_fit(utterances: int, within: bool) -> dict[str, float]:
    """Return the CPU seconds of a fit, and the peak of memory before it, when the table is made."""
    case = Case("growth", grown(utterances, 5, within=within), ("snr", "rate") if within else ())
    before = peak_megabytes()
    return {"cpu": took(lambda: ours(case)).cpu, "before": before}


def grown_crossed(utterances: int) -> dict[str, float]:
    """Return the same of a fit with two crossed effects: 5,000 speakers (or a tenth) who read 200 texts."""
    generator = np.random.default_rng(7)
    people, texts = min(5_000, utterances // 10), 200
    speaker, text = generator.integers(0, people, utterances), generator.integers(0, texts, utterances)
    words = generator.integers(3, 40, utterances)
    rate = 0.1 * np.exp(generator.normal(0, 0.4, people)[speaker] + generator.normal(0, 0.3, texts)[text])
    design = np.column_stack([np.ones(utterances), speaker % 2])
    errors = generator.poisson(words * rate)
    before = peak_megabytes()
    return {"cpu": took(lambda: fit_crossed(errors, words, design, speaker, text)).cpu, "before": before}


def grown_slices(utterances: int) -> dict[str, float]:
    """Return the same of `slices`: a hundred trials of every speaker, five measures and a region."""
    generator = np.random.default_rng(8)
    people = utterances // 100
    speaker, words = np.repeat(np.arange(people), 100), generator.integers(3, 40, utterances)
    names = ("speaking_rate", "snr", "pitch", "duration", "word_frequency")
    table = pl.DataFrame(
        {
            "speaker": speaker,
            "region": [f"r{number}" for number in speaker % 4],
            "words": words,
            "errors": generator.poisson(0.1 * words),
            **{name: generator.normal(size=utterances) for name in names},
        }
    )
    before = peak_megabytes()
    return {"cpu": took(lambda: slices(table, attributes=["region"])).cpu, "before": before}


class Glmer:
    """One R process that fits what it is given."""

    def __init__(self, folder: Path) -> None:
        (folder / "driver.R").write_text(R_SCRIPT, encoding="utf-8")
        self.folder = folder
        self.process = subprocess.Popen(
            ["Rscript", str(folder / "driver.R")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip() == "ready"

    def fit(self, case: Case, *, audit: bool = False) -> Took:
        """Return what a fit took, or a fit, a null model and a profile interval; R's own CPU seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        path = self.folder / "data.csv"
        case.table.write_csv(path)
        self.process.stdin.write(f"{path}\t{','.join(case.controls)}\t{'audit' if audit else 'fit'}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        seconds = answer["audit" if audit else "seconds"][0]
        return Took(seconds, seconds, value=answer["coef"][0])

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def glmm_fit(case: Case) -> Call:
    import glmm

    columns: dict[str, Any] = {name: case.table[name].to_numpy() for name in (*case.controls, "errors")}
    columns |= {name: case.table[name].to_list() for name in ("speaker", "group")}
    offset = np.log(case.table["words"].to_numpy())
    formula = " + ".join(["errors ~ group", *case.controls, "(1 | speaker)"])
    # "Wald": the fit alone, without the refits for tests that it adds to a Poisson model otherwise.
    return lambda: glmm.fit(columns, formula, "poisson", offset=offset, nagq=11, anova_test="Wald")


def agreement(case: Case, glmer: Glmer | None, fit: Peer) -> str:
    """Return how far the estimates lie from ours; a peer that finds something else fails the benchmark."""
    estimate, error = ours(case)
    others = {}
    if glmer is not None:
        others["glmer"] = glmer.fit(case).value
    if not isinstance(fit, Missing):
        others["glmm"] = -fit().beta[1]  # type: ignore[attr-defined]  # its reference level is the first by name: case
    for name, other in others.items():
        if abs(float(other) - estimate) > APART * error:
            raise ValueError(f"{case.name}: {name} estimates {float(other):.5f}, ours is {estimate:.5f}")
    worst = max((abs(float(other) - estimate) / error for other in others.values()), default=0.0)
    return f"estimates within {worst:.0e} standard errors" if others else ""


def shuffled(settings: Settings) -> Iterator[Row]:
    """Time the test of group ratios in many cells, beside scipy's permutation test of the same statistic."""
    generator = np.random.default_rng(4)
    people, cells = 100, settings.pick(20, 200)
    group = np.arange(people) < people // 2
    words = generator.integers(20, 300, (people, cells)).astype(np.float64)
    errors = generator.poisson(0.1 * words).astype(np.float64)
    sums, side = np.stack([errors, words]), group[None, :, None]

    def test() -> float:
        rates = Rates(sums * side, sums * ~side, Shuffles(people))
        return judge([rates], limits=False)[0][0].p or 0.0

    def scipys() -> float:
        from scipy.stats import permutation_test

        def log_ratio(cell: int, first: Any, second: Any, axis: int) -> Any:
            logs, spread = 0.0, 0.0
            for people_, sign in ((first, 1.0), (second, -1.0)):
                own = people_.astype(np.int64)
                e, w = errors[:, cell][own], words[:, cell][own]
                pull = e / e.sum(axis, keepdims=True) - w / w.sum(axis, keepdims=True)
                logs = logs + sign * np.log(e.sum(axis) / w.sum(axis))
                spread = spread + own.shape[axis] / (own.shape[axis] - 1) * (pull**2).sum(axis)
            return logs / np.sqrt(spread)

        parts = (np.flatnonzero(group).astype(float), np.flatnonzero(~group).astype(float))
        found = [
            permutation_test(
                *(parts, partial(log_ratio, cell)),
                n_resamples=9999,
                vectorized=True,
                batch=500,
                rng=np.random.default_rng(1),
            )
            for cell in range(cells)
        ]
        return float(found[0].pvalue)

    yield from compare(
        f"{cells} ratios of 100 speakers, 9,999 shuffles",
        "CPU s",
        test,
        {f"{named('scipy')} permutation_test": scipys},
        rounds=settings.pick(1, 3),
    )


def measure(settings: Settings) -> Iterator[Row]:
    yield from shuffled(settings)
    with tempfile.TemporaryDirectory() as folder:
        glmer = Glmer(Path(folder)) if shutil.which("Rscript") else None
        try:
            yield from fits(settings, glmer)
        finally:
            if glmer is not None:
                glmer.close()
    size = settings.pick(10_000, 1_000_000)
    texts = f"fit, {size:,} utterances, {min(5_000, size // 10):,} speakers crossed with 200 texts"
    kinds = f"slices, {size:,} trials, {size // 100:,} speakers, five measures and a region"
    cases: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        (f"fit, {size:,} utterances, {size // 10:,} speakers", grown_fit, {"within": False}),
        (f"fit, {size:,} utterances, {size // 10:,} speakers, two controls", grown_fit, {"within": True}),
        (texts, grown_crossed, {}),
        (kinds, grown_slices, {}),
    )
    for what, grow, more in cases:
        runs = [alone(grow, utterances=size, **more) for _ in range(settings.pick(1, 3))]
        peak, table = max(one.megabytes for one in runs), max(one.value["before"] for one in runs)
        note = f"the process peaks at {peak:.0f} MB, {table:.0f} with the table alone"
        yield row_of(what, "CPU ms", [1e3 * one.value["cpu"] for one in runs], note=note)


def fits(settings: Settings, glmer: Glmer | None) -> Iterator[Row]:
    glmer = glmer if glmer is not None and glmer.ready else None
    rounds = settings.pick(1, 5)
    cases = [
        Case("10,000 utterances, 200 speakers", table2(200, 1)),
        Case("10,000 utterances, 1,000 speakers", table2(1000, 2)),
        Case(
            "10,000 utterances, 1,000 speakers, two controls", grown(10_000, 3, within=True), ("snr", "rate")
        ),
        Case("2,000 utterances, 200 speakers, two controls", grown(2000, 3, within=True), ("snr", "rate")),
    ]
    for case in settings.pick(cases[3:], cases):
        fit: Peer = absent("glmm") or glmm_fit(case)
        peers: dict[str, Peer] = {
            "lme4::glmer, nAGQ = 10": partial(glmer.fit, case) if glmer else NO_LME4,
            f"{named('glmm')}, 11 nodes": fit,
        }
        note = agreement(case, glmer, fit)
        yield from compare(
            *(f"fit, {case.name}", "CPU ms", lambda case=case: ours(case), peers),
            rounds=rounds,
            scale=1e3,
            note=note,
        )
    case = cases[3]
    yield from compare(
        f"whole audit, {case.name}",
        "CPU ms",
        lambda: disparity(case.table, attribute="group", against="control", controls=case.controls),
        {
            "lme4: fit, null model, profile interval": partial(glmer.fit, case, audit=True)
            if glmer
            else NO_LME4
        },
        rounds=settings.pick(1, 3),
        scale=1e3,
        warm=False,
    )
