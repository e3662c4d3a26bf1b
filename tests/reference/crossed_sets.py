"""Random sets with crossed effects of speakers and prompts, and what R's lme4 says of them.

    python tests/reference/crossed_sets.py

fits all sets again with lme4 (`glmer`, Laplace, bobyqa with tight tolerances) and writes `crossed_lme4.json`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

KEPT = Path(__file__).with_name("crossed_lme4.json")
SETS = 20
_FIT = r"""
suppressMessages(library(lme4))
number <- function(x) paste0("[", paste(formatC(x, digits = 12, format = "g"), collapse = ","), "]")
control <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-13, optCtrl = list(rhoend = 1e-9, maxfun = 1e5),
                        check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore")
for (path in commandArgs(TRUE)) {
  d <- read.csv(path)
  f <- suppressWarnings(glmer(errors ~ case + x + offset(log(words)) + (1 | speaker) + (1 | prompt), d, poisson,
                              control = control))
  spread <- as.data.frame(VarCorr(f))
  sigma <- function(name) spread$sdcor[spread$grp == name]
  cat(sprintf('{"coef": %s, "se": %s, "sigma": %s, "prompt_sigma": %s, "loglik": %s, "version": "%s"}\n',
    number(fixef(f)), number(sqrt(diag(as.matrix(vcov(f))))), number(sigma("speaker")), number(sigma("prompt")),
    number(as.numeric(logLik(f))), as.character(packageVersion("lme4"))))
}
"""


def make_set(seed: int) -> dict[str, np.ndarray]:
    """Return one random set: balanced or not, few prompts or many, with small and large effects."""
    generator = np.random.default_rng([22, seed])
    speakers, prompts = int(generator.integers(10, 60)), int(generator.integers(4, 50))
    rows = int(generator.integers(3, 12)) * max(speakers, prompts)
    speaker = np.concatenate([np.arange(speakers), generator.integers(0, speakers, rows - speakers)])
    prompt = np.concatenate([np.arange(prompts), generator.integers(0, prompts, rows - prompts)])
    case = (speaker % 2).astype(float)
    x = generator.normal(0.0, 1.0, rows)
    words = generator.integers(2, 30, rows).astype(float)
    sigma, rho = generator.choice([0.0, 0.2, 0.5, 0.9]), generator.choice([0.0, 0.2, 0.5, 0.9])
    effects = generator.normal(0.0, sigma, speakers)[speaker] + generator.normal(0.0, rho, prompts)[prompt]
    rate = generator.choice([0.03, 0.1, 0.3]) * np.exp(0.3 * case + 0.1 * x + effects)
    errors = generator.poisson(words * rate).astype(float)
    return {"errors": errors, "words": words, "case": case, "x": x, "speaker": speaker, "prompt": prompt}


def main() -> None:
    """Fit all sets with lme4 and keep what it says."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for seed in range(SETS):
            columns = make_set(seed)
            paths.append(Path(folder) / f"{seed}.csv")
            rows = zip(*columns.values(), strict=True)
            lines = [",".join(columns), *(",".join(f"{value:.17g}" for value in row) for row in rows)]
            paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
        script = Path(folder) / "fit.R"
        script.write_text(_FIT, encoding="utf-8")
        done = subprocess.run(
            ["Rscript", str(script), *map(str, paths)], capture_output=True, text=True, check=True
        )
    fits = [json.loads(line) for line in done.stdout.splitlines()]
    KEPT.write_text(json.dumps(fits, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
