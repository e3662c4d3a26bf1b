"""The regression of parity against R's clubSandwich, where R has it: CR2, Satterthwaite and HTZ, a row a speaker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from club_sandwich import answers

from voxaudit.stats.cell_regression import CellFit, fit_cells, prepare_cells, wald

SCRIPT = r"""
suppressMessages(library(clubSandwich))
number <- function(x) paste0("[", paste(formatC(x, digits = 17, format = "g"), collapse = ","), "]")
d <- read.csv(commandArgs(trailingOnly = TRUE)[1])
d$a <- factor(d$a); d$b <- factor(d$b)
for (seed in unique(d$seed)) {
  own <- d[d$seed == seed, ]
  for (form in list(rate ~ a + b, rate ~ a * b)) {
    fit <- lm(form, own)
    covariance <- vcovCR(fit, cluster = seq_len(nrow(own)), type = "CR2")
    single <- coef_test(fit, covariance, test = "Satterthwaite")
    last <- length(coef(fit)) - 1:0
    joint <- Wald_test(fit, constrain_zero(last), covariance, test = "HTZ")
    cat(sprintf('{"estimate": %s, "se": %s, "df": %s, "joint": %s}\n', number(single$beta), number(single$SE),
      number(single$df_Satt), number(c(joint$Fstat, joint$df_denom, joint$p_val))))
  }
}
"""


def _fit(a: np.ndarray, b: np.ndarray, rate: np.ndarray, crossed: bool) -> CellFit:
    columns = [np.ones(len(a)), a == 1, b == 1, b == 2]
    if crossed:
        columns += [(a == 1) & (b == 1), (a == 1) & (b == 2)]
    rows, member = np.unique(np.column_stack(columns).astype(float), axis=0, return_inverse=True)
    member = member.reshape(-1)
    n = np.bincount(member).astype(float)
    mean = np.bincount(member, rate) / n
    return fit_cells(prepare_cells(rows, n), mean, np.bincount(member, (rate - mean[member]) ** 2))


@pytest.mark.slow
def test_errors_degrees_of_freedom_and_tests(tmp_path: Path) -> None:
    rows, fits = [], []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        # Every crossed group has two speakers and more.
        a, b = (np.repeat(one, 2) for one in ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]))
        more = generator.integers(3, 30)
        a = np.concatenate([a, generator.integers(0, 2, more) * generator.integers(0, 2, more)])
        b = np.concatenate([b, generator.integers(0, 3, more)])
        rate = 0.15 * np.exp((0.3 + 0.3 * a) * generator.standard_normal(len(a)))
        rows.append(np.column_stack([np.full(len(a), seed), a, b, rate]))
        fits += [_fit(a, b, rate, crossed) for crossed in (False, True)]
    theirs = answers(tmp_path, SCRIPT, "seed,a,b,rate", rows)
    assert len(theirs) == len(fits)
    for fit, other in zip(fits, theirs, strict=True):
        np.testing.assert_allclose(fit.coefficients, other["estimate"], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(fit.standard_errors, other["se"], rtol=1e-8)
        np.testing.assert_allclose(fit.df, other["df"], rtol=1e-7)
        last = len(fit.coefficients)
        test = wald(fit, [last - 2, last - 1])
        assert test is not None
        assert (test.f, test.df_speakers, test.p) == pytest.approx(tuple(other["joint"]), rel=1e-6)
