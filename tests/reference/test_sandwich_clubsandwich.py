"""The speaker sandwich against R's clubSandwich, where R has it: Poisson errors without a spread between speakers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from club_sandwich import answers

from voxaudit.stats.cells import collapse
from voxaudit.stats.regression import regress
from voxaudit.stats.robust import robust_test, speaker_sandwich

SCRIPT = r"""
suppressMessages(library(clubSandwich))
number <- function(x) paste0("[", paste(formatC(x, digits = 17, format = "g"), collapse = ","), "]")
d <- read.csv(commandArgs(trailingOnly = TRUE)[1])
for (seed in unique(d$seed)) {
  own <- d[d$seed == seed, ]
  fit <- glm(errors ~ case * x + offset(log(words)), poisson, own, control = glm.control(epsilon = 1e-14))
  covariance <- vcovCR(fit, cluster = own$speaker, type = "CR2")
  single <- coef_test(fit, covariance, test = "Satterthwaite")
  joint <- Wald_test(fit, constrain_zero(c(2, 4)), covariance, test = "HTZ")
  cat(sprintf('{"se": %s, "df": %s, "f": %s, "df_joint": %s}\n', number(single$SE), number(single$df),
    number(joint$Fstat), number(joint$df_denom)))
}
"""


@pytest.mark.slow
def test_sandwich_and_degrees_of_freedom(tmp_path: Path) -> None:
    models, rows = [], []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        speaker = np.repeat(np.arange(14), generator.integers(2, 9, 14))
        case, x = (speaker < 4).astype(float), generator.integers(0, 3, len(speaker)).astype(float)
        words = generator.integers(5, 25, len(speaker)).astype(float)
        errors = generator.poisson(words * 0.15).astype(float)
        model = regress(
            collapse(errors, words, speaker, np.column_stack([np.ones(len(x)), case, x, case * x]))
        )
        if model.sigma != 0.0 or model.infinite:
            continue
        models.append(model)
        rows.append(np.column_stack([np.full(len(x), seed), errors, words, speaker, case, x]))
    assert len(models) > 10
    found = answers(tmp_path, SCRIPT, "seed,errors,words,speaker,case,x", rows)
    ratios = []
    for model, theirs in zip(models, found, strict=True):
        sandwich = speaker_sandwich(model)
        joint = robust_test(model, (1, 3), sandwich)
        assert joint is not None
        # Both corrections are unbiased under the model; theirs turns residuals of utterances, ours scores of speakers.
        np.testing.assert_allclose(np.sqrt(sandwich.covariance.diagonal()), theirs["se"], rtol=0.1)
        np.testing.assert_allclose(sandwich.freedom, theirs["df"], rtol=0.05)
        np.testing.assert_allclose(joint.df_speakers, theirs["df_joint"], rtol=0.05)
        ratios.append(joint.f / theirs["f"][0])
    assert 0.98 < float(np.median(ratios)) < 1.02
    assert max(abs(np.log(ratios))) < np.log(1.5)
