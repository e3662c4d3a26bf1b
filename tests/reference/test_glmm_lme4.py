"""Live comparison with R's lme4 on random data, where R is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from voxaudit.stats.cells import collapse
from voxaudit.stats.poisson_glmm import evaluate, fit_mixed
from voxaudit.stats.quadrature import gauss_hermite
from voxaudit.stats.regression import Settings, likelihood_ratio, regress, without_columns

# lme4 1.1 leaves the saturated log-likelihood out of logLik at nAGQ > 1; it is added back.
DRIVER = r"""
suppressMessages(library(lme4))
input <- file("stdin", "r")
cat("ready\n"); flush(stdout())
number <- function(x) paste0("[", paste(formatC(x, digits = 17, format = "g"), collapse = ","), "]")
while (length(path <- readLines(input, 1)) > 0) {
  d <- read.csv(path)
  control <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-13, optCtrl = list(rhoend = 1e-9, maxfun = 1e5),
                          check.conv.singular = "ignore", check.nobs.vs.nlev = "ignore",
                          check.nobs.vs.nRE = "ignore")
  fit <- function(formula) suppressWarnings(suppressMessages(
    glmer(formula, d, poisson, nAGQ = 25, control = control)))
  full <- tryCatch(fit(errors ~ case + x + offset(log(words)) + (1 | speaker)), error = function(e) NULL)
  null <- tryCatch(fit(errors ~ x + offset(log(words)) + (1 | speaker)), error = function(e) NULL)
  if (is.null(full) || is.null(null)) { cat("null\n"); flush(stdout()); next }
  constant <- sum(dpois(d$errors, d$errors, log = TRUE))
  version <- as.character(packageVersion("lme4"))
  loglik <- as.numeric(logLik(full)) + if (packageVersion("lme4") < "2.0") constant else 0
  cat(sprintf('{"coef": %s, "se": %s, "sigma": %s, "loglik": %s, "chi2": %s, "modes": %s, "version": "%s"}\n',
    number(fixef(full)), number(sqrt(diag(as.matrix(vcov(full))))), number(getME(full, "theta")), number(loglik),
    number(2 * (as.numeric(logLik(full)) - as.numeric(logLik(null)))),
    number(ranef(full, condVar = FALSE)[[1]][[1]]), version))
  flush(stdout())
}
"""


class Lme4:
    """One R process that fits a file at a time."""

    def __init__(self, folder: Path) -> None:
        script = folder / "driver.R"
        script.write_text(DRIVER, encoding="utf-8")
        self.file = folder / "data.csv"
        self.process = subprocess.Popen(
            ["Rscript", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip() == "ready"

    def fit(self, **columns: np.ndarray) -> dict[str, Any] | None:
        """Return lme4's fit, or None where it stops with an error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(f"{value:.17g}" for value in row) for row in rows)]
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.process.stdin.write(f"{self.file}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return None if answer is None else dict(answer)

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def lme4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lme4]:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    r = Lme4(tmp_path_factory.mktemp("lme4"))
    if not r.ready:
        r.close()
        pytest.skip("R's lme4 is not installed")
    yield r
    r.close()


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    speakers=st.integers(8, 60),
    each=st.integers(1, 12),
    sigma=st.sampled_from([0.0, 0.15, 0.4, 0.8]),
    wer=st.sampled_from([0.03, 0.15, 0.4]),
    within=st.booleans(),
)
def test_random_data(
    lme4: Lme4, seed: int, speakers: int, each: int, sigma: float, wer: float, within: bool
) -> None:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(speakers), each)
    case = (speaker % 2).astype(float)
    x = generator.normal(0, 1, len(speaker)) if within else generator.normal(0, 1, speakers)[speaker]
    words = generator.integers(2, 30, len(speaker)).astype(float)
    rate = wer * np.exp(0.2 * case + 0.1 * x + generator.normal(0, sigma, speakers)[speaker])
    errors = generator.poisson(words * rate).astype(float)
    for group in (0.0, 1.0):  # no group without errors: that is a test of its own
        errors[np.flatnonzero(case == group)[0]] += 1
    cells = collapse(errors, words, speaker, np.column_stack([np.ones(len(case)), case, x]))
    ours = fit_mixed(cells, grow=False)
    theirs = lme4.fit(errors=errors, words=words, case=case, x=x, speaker=speaker)
    assume(theirs is not None)
    assert theirs is not None

    # Ours is at least as good a maximum of the same function ...
    assert ours.loglik >= theirs["loglik"][0] - 1e-6
    their_sigma = theirs["sigma"][0]
    if their_sigma > 1e-3:
        rule, nothing = gauss_hermite(25), np.zeros(len(cells.errors))
        at = evaluate(
            cells, cells.design, nothing, np.array(theirs["coef"]), float(np.log(their_sigma)), rule
        )
        assert at.loglik == pytest.approx(theirs["loglik"][0], abs=1e-6)
    # ... and where lme4 found it too, everything else agrees.
    if ours.loglik - theirs["loglik"][0] < 1e-6:
        np.testing.assert_allclose(ours.coefficients, theirs["coef"], atol=2e-3 * ours.standard_errors.max())
        assert ours.sigma == pytest.approx(their_sigma, abs=5e-3)
        np.testing.assert_allclose(ours.modes, theirs["modes"], atol=1e-2)
        if ours.sigma > 0.05:
            np.testing.assert_allclose(ours.standard_errors, theirs["se"], rtol=2e-3)
        full = regress(cells, Settings(grow=False))
        test = likelihood_ratio(full, without_columns(full, (1,)))
        assert test.chi2 == pytest.approx(max(theirs["chi2"][0], 0.0), abs=1e-4)
