"""Tables of distances that somebody else measured: columns pair, perturbation, setting, group, distance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from voxaudit.audits.differential.violations import Grid
from voxaudit.audits.inputs import with_own_names
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import ScenarioId, is_original, read_setting, show_setting
from voxaudit.registry import suggest
from voxaudit.tables import require_columns

COLUMNS = ("pair", "perturbation", "setting", "distance")
NO_SPEAKERS = "a table of distances has no speakers: only the paper's rule can be applied, and no test"


def is_distances(columns: list[str]) -> bool:
    """Say whether a table's columns are those of distances rather than of transcripts."""
    return "distance" in columns and "text" not in columns


def read_grids(
    table: pl.DataFrame, where: str | Path, *, attribute: str = "group", corpus: str | None = None
) -> dict[str, Grid]:
    """Return the degradations of every corpus of a table of distances; without a column `corpus` there is one, ''.

    AequeVox's names of columns will do. Undisturbed speech is the perturbation `Original` (or `clean`): one row for
    every group and pair.
    """
    table = with_own_names(table)
    require_columns(table, (*COLUMNS, attribute), where)
    if "corpus" not in table.columns:
        if corpus is not None:
            raise VoxauditError(
                f"{where}: no column 'corpus', so --corpus {one_line(corpus, 80)} names nothing"
            )
        return {"": _grid(table, where, attribute)}
    names = [str(name) for name in table["corpus"].unique(maintain_order=True).to_list()]
    if corpus is not None:
        if corpus not in names:
            raise VoxauditError(
                f"{where}: no corpus '{one_line(corpus, 80)}'.{suggest(corpus, names)} There: {', '.join(names)}"
            )
        names = [corpus]
    as_text = table["corpus"].cast(pl.String).fill_null("None")
    return {
        name: _grid(table.filter(as_text == name), f"{where}, corpus {name}", attribute) for name in names
    }


def _grid(table: pl.DataFrame, where: str | Path, attribute: str) -> Grid:
    rows = table.select(
        pair=pl.col("pair").cast(pl.String),
        perturbation=pl.col("perturbation").cast(pl.String),
        setting=pl.col("setting").cast(pl.String),
        group=pl.col(attribute).cast(pl.String),
        distance=pl.col("distance").cast(pl.Float64, strict=False),
    )
    for column in ("pair", "perturbation", "group"):
        if rows[column].null_count():
            row = int(rows[column].is_null().arg_true()[0]) + 1
            named = attribute if column == "group" else column
            raise VoxauditError(f"{where}, row {row}: column {named} is empty; fill it in")
    wrong = (rows["distance"].is_null() | ~rows["distance"].is_finite() | (rows["distance"] < 0)).arg_true()
    if len(wrong):
        value = table["distance"][int(wrong[0])]
        raise VoxauditError(
            f"{where}, row {wrong[0] + 1}, column distance: '{value}' is no distance (0 or more)"
        )
    groups, pairs = (tuple(rows[name].unique(maintain_order=True).to_list()) for name in ("group", "pair"))
    if len(groups) < 2:
        raise VoxauditError(f"{where}: there is only one group ({groups[0]}); a gap needs two")
    scenarios: dict[tuple[str, str], ScenarioId] = {}
    values: dict[tuple[str, str, str, str], float] = {}
    for pair, perturbation, text, name, distance in rows.iter_rows():
        original = is_original(perturbation)
        setting = None if original else read_setting(text)
        key = ("", "") if original else (perturbation, show_setting(setting))
        if not original:
            id_ = f"{perturbation}:{key[1]}" if key[1] else perturbation
            scenarios.setdefault(key, ScenarioId(id_, perturbation, setting))
        if (pair, name, *key) in values:
            raise VoxauditError(
                f"{where}: {pair}, {perturbation} {key[1]}, {name} has two rows; keep one".replace("  ", " ")
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
            f"{where}: {which} has the perturbation 'Original'; degradation is measured from undisturbed speech,"
            " one row for every group and pair"
        )
    if not scenarios:
        raise VoxauditError(
            f"{where}: all rows are of undisturbed speech; there is no perturbation to compare"
        )
    degradations = np.array(
        [
            [
                [values.get((pair, name, *key), np.nan) - values[pair, name, "", ""] for key in scenarios]
                for pair in pairs
            ]
            for name in groups
        ]
    )
    return Grid(groups, pairs, tuple(scenarios.values()), degradations)
