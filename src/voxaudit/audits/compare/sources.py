"""What a comparison reads, and what the configurations of two runs say about comparing them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import is_run, read_scores
from voxaudit.errors import VoxauditError
from voxaudit.run import open_run
from voxaudit.run.folder import require_whole


def read_pair(base: str | Path, new: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the scores of two runs or tables; runs scored by different normalizers are refused."""
    if is_run(base) and is_run(new):
        before, after = (open_run(path).config.get("normalizer") for path in (base, new))
        if before != after:
            raise VoxauditError(
                f"{base} was scored with the normalizer {before} and {new} with {after}: score both the same way"
            )
    return read_scores(base), read_scores(new)


def describe_difference(base: str | Path, new: str | Path, recognizers: Mapping[str, str]) -> tuple[str, ...]:
    """Return what else differs between two runs and may move the rates; nothing where one is only a table."""
    if not (is_run(base) and is_run(new)):
        return ()
    old, late = open_run(base), open_run(new)
    for run in (old, late):
        require_whole(run.folder, run.config)
    notes = []
    if old.config["seed"] != late.config["seed"]:
        notes.append("the runs have different seeds: their random noise differs too")
    if old.config.get("sources") != late.config.get("sources"):
        notes.append("the runs took noise or rooms from different sources: scenarios of one name differ")
    for mine, theirs in recognizers.items():
        failed = (_failed(old.failures, mine), _failed(late.failures, theirs))
        if any(failed):
            notes.append(f"{theirs}: {failed[0]} trials failed in the base and {failed[1]} in the new run")
        before, after = (run.config["recognizers"][name] for run, name in ((old, mine), (late, theirs)))
        if before["fingerprint"] == after["fingerprint"]:
            notes.append(f"{theirs} is the same recognizer with the same settings in both runs")
    return tuple(notes)


def _failed(failures: pl.DataFrame, recognizer: str) -> int:
    return failures.filter(pl.col("recognizer") == recognizer).height
