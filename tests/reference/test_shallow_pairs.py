"""Labelled pairs of SHALLOW: unsupported stretches are told from the other kinds of error, and nobody loops."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from benchmarks.studies.hallucination import labelled, real_loops

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reference"


@pytest.fixture(scope="module")
def folder() -> Path:
    if not FOLDER.exists():
        pytest.skip("no reference data here: the optional folder ../shared/reference is missing")
    return FOLDER


def test_fabricated_pairs_are_told_from_others(folder: Path) -> None:
    found = labelled(pl.read_csv(folder / "hallucination" / "shallow_pairs.csv"))
    against_others, against_mixed, recall, precision, _ = (float(value) for _, value in found)
    assert against_others > 0.985
    assert against_mixed > 0.88
    assert min(recall, precision) > 0.9


def test_people_do_not_loop_or_speak_impossibly_fast(folder: Path) -> None:
    calls = pl.read_csv(folder / "mu_bench" / "transcripts.csv.gz")
    loops, heard, fast, _ = (
        int(value)
        for _, value in real_loops(calls.with_columns(pl.col("text", "reference").fill_null("")), [])
    )
    # Beside what was said nothing is a loop; by itself one text is: a caller says no ten times in a row.
    assert (loops, heard, fast) == (1, 0, 0)
