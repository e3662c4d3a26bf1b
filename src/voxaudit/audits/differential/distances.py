"""Tables of distances that somebody else measured: columns asr_pair, transformation, theta, group, distance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from voxaudit.audits.differential.violations import Grid
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.condition import Condition, is_original, parse_theta, show_theta
from voxaudit.registry import suggest
from voxaudit.tables import require_columns

COLUMNS = ("asr_pair", "transformation", "theta", "distance")
NO_SPEAKERS = "a table of distances has no speakers: only the paper's rule can be applied, and no test"


def is_distances(columns: list[str]) -> bool:
    """Say whether a table's columns are those of distances rather than of transcripts."""
    return "distance" in columns and "text" not in columns


def read_grids(
    table: pl.DataFrame, where: str | Path, *, group: str = "group", dataset: str | None = None
) -> dict[str, Grid]:
    """Return the degradations of every dataset of a table of distances; without a column `dataset` there is one, ''.

    Undisturbed speech is the transformation `Original` (or `clean`): one row for every group and pair.
    """
    require_columns(table, (*COLUMNS, group), where)
    if "dataset" not in table.columns:
        if dataset is not None:
            raise VoxauditError(
                f"{where}: no column 'dataset', so --dataset {one_line(dataset, 80)} names nothing"
            )
        return {"": _grid(table, where, group)}
    names = [str(name) for name in table["dataset"].unique(maintain_order=True).to_list()]
    if dataset is not None:
        if dataset not in names:
            raise VoxauditError(
                f"{where}: no dataset '{one_line(dataset, 80)}'.{suggest(dataset, names)} There: {', '.join(names)}"
            )
        names = [dataset]
    as_text = table["dataset"].cast(pl.String).fill_null("None")
    return {name: _grid(table.filter(as_text == name), f"{where}, dataset {name}", group) for name in names}


def _grid(table: pl.DataFrame, where: str | Path, group: str) -> Grid:
    rows = table.select(
        pair=pl.col("asr_pair").cast(pl.String),
        transformation=pl.col("transformation").cast(pl.String),
        theta=pl.col("theta").cast(pl.String),
        group=pl.col(group).cast(pl.String),
        distance=pl.col("distance").cast(pl.Float64, strict=False),
    )
    for column in ("pair", "transformation", "group"):
        if rows[column].null_count():
            row = int(rows[column].is_null().arg_true()[0]) + 1
            raise VoxauditError(
                f"{where}, row {row}: column {column.replace('pair', 'asr_pair')} is empty; fill it in"
            )
    wrong = (rows["distance"].is_null() | ~rows["distance"].is_finite() | (rows["distance"] < 0)).arg_true()
    if len(wrong):
        value = table["distance"][int(wrong[0])]
        raise VoxauditError(
            f"{where}, row {wrong[0] + 1}, column distance: '{value}' is no distance (0 or more)"
        )
    groups, pairs = (tuple(rows[name].unique(maintain_order=True).to_list()) for name in ("group", "pair"))
    if len(groups) < 2:
        raise VoxauditError(f"{where}: there is only one group ({groups[0]}); a gap needs two")
    conditions: dict[tuple[str, str], Condition] = {}
    values: dict[tuple[str, str, str, str], float] = {}
    for pair, transformation, setting, name, distance in rows.iter_rows():
        original = is_original(transformation)
        theta = None if original else parse_theta(setting)
        key = ("", "") if original else (transformation, show_theta(theta))
        if not original:
            id_ = f"{transformation}:{key[1]}" if key[1] else transformation
            conditions.setdefault(key, Condition(id_, transformation, theta))
        if (pair, name, *key) in values:
            raise VoxauditError(
                f"{where}: {pair}, {transformation} {key[1]}, {name} has two rows; keep one".replace(
                    "  ", " "
                )
            )
        values[pair, name, *key] = distance
    missing = [(pair, name) for pair in pairs for name in groups if (pair, name, "", "") not in values]
    if missing:
        which = (
            "no row"
            if len(missing) == len(pairs) * len(groups)
            else f"no row of {missing[0][0]}, {missing[0][1]}"
        )
        raise VoxauditError(
            f"{where}: {which} has the transformation 'Original'; degradation is measured from undisturbed speech,"
            " one row for every group and pair"
        )
    if not conditions:
        raise VoxauditError(
            f"{where}: all rows are of undisturbed speech; there is no transformation to compare"
        )
    degradations = np.array(
        [
            [
                [values.get((pair, name, *key), np.nan) - values[pair, name, "", ""] for key in conditions]
                for pair in pairs
            ]
            for name in groups
        ]
    )
    return Grid(groups, pairs, tuple(conditions.values()), degradations)
