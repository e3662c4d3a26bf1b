"""Speed of the disparity model: voxaudit against lme4::glmer (R) and the package glmm, in one run on the same data.

    python benchmarks/disparity.py                      a few minutes; peers that are not installed are left out
    python benchmarks/disparity.py --json results.json

Seconds are CPU seconds (user and system, all threads) of the fitting call, data in memory, first call dropped. Ours
starts at a polars table with text columns and includes reading speakers and groups and collapsing to sufficient
statistics; glmer starts at a data frame with factors, glmm at a dict of columns. Peers take turns, so that a busy
machine slows all of them; a ratio is of medians. Answers are compared before a time is reported.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before numpy is loaded

import argparse
import json
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.disparity import disparity
from voxaudit.audits.disparity.model import fit_frame
from voxaudit.audits.disparity.table import Question, frames
from voxaudit.stats.regression import Settings

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "glmm"

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
    covariates: tuple[str, ...] = ()
    target: int | None = None
    """How many times faster than glmer this has to be."""


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
    """Make a corpus of ten utterances a speaker, lengths all different."""
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


def cases() -> list[Case]:
    found = [
        Case("Table 2, 200 speakers", table2(200, 1), (), 300),
        Case("Table 2, 1,000 speakers", table2(1000, 2), (), 300),
        Case("covariates within speakers", grown(10_000, 3, within=True), ("snr", "rate"), 150),
        Case("the same, a fifth of it", grown(2000, 3, within=True), ("snr", "rate")),
    ]
    if REFERENCE.is_dir():
        real = pl.read_csv(REFERENCE / "real_matched_google" / "data.csv").select(
            "speaker",
            pl.when(pl.col("black_flag") == 1)
            .then(pl.lit("case"))
            .otherwise(pl.lit("control"))
            .alias("group"),
            pl.col("wordcount").alias("words"),
            *("errors", "female_flag", "age"),
        )
        found.append(Case("real (Koenecke et al., Google)", real))
        found.append(Case("real, with gender and age", real, ("female_flag", "age")))
        continuous = pl.read_csv(REFERENCE / "continuous_covariates" / "data.csv")
        found.append(Case("age, SNR and rate", continuous, ("age", "snr_db", "rate"), 150))
    return found


def ours(case: Case, nodes: int = 25) -> tuple[float, float, float]:
    question = Question("group", covariates=case.covariates)
    model = fit_frame(next(frames(case.table, question)), "group", "control", Settings(nodes=nodes))
    estimate, se = model.regression.estimate(model.columns("factor")[0])
    return estimate, se, model.regression.sigma or 0.0


def our_audit(case: Case) -> None:
    disparity(case.table, factor="group", reference="control", covariates=case.covariates, resamples=0)


def cpu(call: Any, *arguments: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = call(*arguments)
    return time.process_time() - start, result


class Glmer:
    """One R process."""

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

    def fit(self, case: Case, *, audit: bool = False) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        path = self.folder / "data.csv"
        case.table.write_csv(path)
        self.process.stdin.write(f"{path}\t{','.join(case.covariates)}\t{'audit' if audit else 'fit'}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return {key: value[0] if isinstance(value, list) else value for key, value in answer.items()}


def glmm_fit(case: Case, columns: dict[str, Any]) -> Any:
    import glmm

    formula = " + ".join(["errors ~ group", *case.covariates, "(1 | speaker)"])
    data = {name: values for name, values in columns.items() if name != "logwords"}
    # "Wald": the fit alone, without the refits for tests that it adds to a Poisson model otherwise.
    return glmm.fit(data, formula, "poisson", offset=columns["logwords"], nagq=11, anova_test="Wald")


def compare(case: Case, glmer: Glmer | None, with_glmm: bool, turns: int) -> dict[str, Any]:
    columns: dict[str, Any] = {name: case.table[name].to_numpy() for name in (*case.covariates, "errors")}
    columns |= {name: case.table[name].to_list() for name in ("speaker", "group")}
    columns["logwords"] = np.log(case.table["words"].to_numpy())
    estimate, se, sigma = ours(case)
    times: dict[str, list[float]] = {
        name: [] for name in ("ours", "ours, 10 nodes", "audit", "glmer", "glmm")
    }
    row: dict[str, Any] = {"case": case.name, "utterances": case.table.height}
    row["speakers"] = case.table["speaker"].n_unique()
    for turn in range(turns + 1):
        for _ in range(8):
            times["ours"].append(cpu(ours, case)[0])
            times["ours, 10 nodes"].append(cpu(ours, case, 10)[0])
        times["audit"].append(cpu(our_audit, case)[0])
        if glmer is not None:
            theirs = glmer.fit(case, audit=turn == 1 and "gender" in case.name)
            if turn:
                times["glmer"].append(theirs["seconds"])
            row["glmer difference in standard errors"] = abs(theirs["coef"] - estimate) / se
            row["glmer difference in sigma"] = abs(theirs["sigma"] - sigma)
            row["glmer peak MB"] = theirs["peak_mb"]
            if theirs["audit"] is not None:
                row["glmer audit seconds (fit, null, profile)"] = theirs["audit"]
        if with_glmm:
            seconds, fit = cpu(glmm_fit, case, columns)
            # Its reference level is the first by name, case: the sign is the other way round.
            row["glmm difference in standard errors"] = abs(abs(float(fit.beta[1])) - abs(estimate)) / se
            if turn:
                times["glmm"].append(seconds)
    row |= {f"{name} seconds": statistics.median(list(v)) for name, v in times.items() if v}
    for peer in ("glmer", "glmm"):
        if f"{peer} seconds" in row:
            row[f"times faster than {peer}"] = row[f"{peer} seconds"] / row["ours seconds"]
    if "glmer audit seconds (fit, null, profile)" in row:
        audit = row["glmer audit seconds (fit, null, profile)"] / row["audit seconds"]
        row["whole audit, times faster than glmer"] = audit
    row["target"] = case.target
    return row


GROWTH = r"""
import json, os, resource, sys, time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, {home!r})
import disparity
within = {within!r}
table = disparity.grown({utterances}, 5, within=within)
case = disparity.Case("growth", table, ("snr", "rate") if within else ())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, wall = time.process_time(), time.perf_counter()
disparity.ours(case)
print(json.dumps({{"cpu": time.process_time() - start, "wall": time.perf_counter() - wall,
                   "before_mb": before / 1024,
                   "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""


def growth(utterances: int, within: bool) -> dict[str, Any]:
    """Fit a corpus in a process of its own: time, and peak memory with and without the table."""
    code = GROWTH.format(home=str(Path(__file__).parent), within=within, utterances=utterances)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {
        "utterances": utterances,
        "speakers": utterances // 10,
        "within": within,
        **json.loads(done.stdout),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="fits of each peer (default: 3)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        glmer = Glmer(Path(folder)) if shutil.which("Rscript") else None
        if glmer is not None and not glmer.ready:
            glmer = None
        with_glmm = find_spec("glmm") is not None
        print(
            "peers:", "lme4" if glmer else "no lme4,", f"glmm {version('glmm')}" if with_glmm else "no glmm"
        )
        rows = []
        for case in cases():
            row = compare(case, glmer, with_glmm, args.turns)
            rows.append(row)
            print(f"\n{row['case']}: {row['utterances']:,} utterances, {row['speakers']:,} speakers")
            for name, value in row.items():
                if isinstance(value, float):
                    print(f"  {name:44} {value:.4g}")
        print("\ngrowth (fit from a table in memory, 10 utterances a speaker)")
        grow = [growth(n, within) for within in (False, True) for n in (10_000, 100_000, 1_000_000)]
        for one in grow:
            print(
                f"  {one['utterances']:>9,} utterances, {one['speakers']:>7,} speakers,"
                f" {'covariates within speakers' if one['within'] else 'group only':26}"
                f" {one['cpu']:.3f} s CPU, {one['wall']:.3f} s, peak {one['peak_mb']:.0f} MB"
                f" ({one['peak_mb'] - one['before_mb']:.0f} MB above the table)"
            )
    if args.json:
        machine = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
        }
        document = {"machine": machine, "rows": rows, "growth": grow}
        Path(args.json).write_text(json.dumps(document, indent=1), encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of this process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
