"""Sums of fractions are the same numbers to the last digit, whatever the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ASKED = """
import numpy as np, polars as pl
from voxaudit.stats.rates import rate_intervals
from voxaudit.tables import mean_of, total
generator = np.random.default_rng(1)
table = pl.DataFrame({
    "of": generator.integers(0, 3, 6000), "speaker": generator.integers(0, 12, 6000),
    "errors": generator.integers(0, 9, 6000) / 3, "words": generator.random(6000) * 10,
})
sums = table.group_by("of", "speaker", maintain_order=True).agg(total("words"), mean_of("errors"))
print(sums.rows(), sorted(rate_intervals(table, ["of"]).rows()))
"""


def said(threads: int) -> str:
    """Return what a process with so many threads says."""
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    asked = subprocess.run(
        [sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True
    )
    return asked.stdout


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    assert said(threads) == said(1)
