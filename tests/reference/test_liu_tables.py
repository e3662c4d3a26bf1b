"""Tables 1 and 2 of Liu et al. (2022) with 1,000 repetitions, as the paper has them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the installed package

from benchmarks.studies.liu import PUBLISHED, simulate  # noqa: E402

REPETITIONS = 1000
EXPECTED_BASELINE = {
    "liu-table1": [0.0516, 0.1128, 0.3072, 0.8234],
    "liu-table2": [0.0718, 0.1472, 0.1746, 0.3850],
}
"""False-positive rates of the utterance bootstrap from 10,000 repetitions with another implementation."""


@pytest.mark.slow
@pytest.mark.parametrize("table", list(PUBLISHED))
def test_the_published_table(table: str) -> None:
    rows = simulate(table, REPETITIONS, workers=2)
    for row, expected in zip(rows, EXPECTED_BASELINE[table], strict=True):
        found, published = row.found, row.published
        assert found.baseline_ratio == pytest.approx(published.baseline_ratio, abs=0.005)
        assert found.model_ratio == pytest.approx(published.model_ratio, abs=0.005)
        five = np.sqrt(0.05 * 0.95 / REPETITIONS)
        assert abs(found.model_fp - 0.05) < 2.6 * five
        assert abs((found.model_fp_lrt or 0.0) - 0.05) < 2.6 * five
        # Two experiments of 1,000 repetitions each, and one against an expectation.
        spread = np.sqrt(published.baseline_fp * (1 - published.baseline_fp) / REPETITIONS)
        assert abs(found.baseline_fp - published.baseline_fp) < 2.6 * np.sqrt(2) * spread
        assert abs(found.baseline_fp - expected) < 2.6 * np.sqrt(expected * (1 - expected) / REPETITIONS)
        if found.speaker_bootstrap_fp is not None:
            assert found.speaker_bootstrap_fp < 0.08
