"""Word counts that somebody made elsewhere: one row for each recogniser, perturbation, setting, group and word."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import with_own_names
from voxaudit.audits.localize.drops import CELL
from voxaudit.audits.localize.settings import remaining
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import ORIGINALS, read_setting, show_setting
from voxaudit.tables import require_columns

COLUMNS = ("recognizer", "perturbation", "setting", "group", "word", "count")


def is_counted(columns: Iterable[str]) -> bool:
    """Say whether a table with these columns holds counts of words rather than transcripts."""
    return {"word", "count"} <= set(columns)


def read_counts(
    table: pl.DataFrame,
    where: str | Path,
    *,
    exclude: Iterable[str] = (),
    vocabulary: Iterable[str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (originals, counts) as `word_drops` takes them.

    `table` has recognizer, perturbation, setting, group, word and count (AequeVox's names of columns will do), with
    clean speech as the perturbation `Original`. Every group needs the same settings, and nothing may be counted twice.
    """
    table = with_own_names(table)
    require_columns(table, COLUMNS, where)
    table = _typed(table.select(COLUMNS), where)
    if vocabulary is not None:
        table = table.filter(pl.col("word").is_in(list(vocabulary)))
        if table.is_empty():
            raise VoxauditError(
                f"{where}: none of the words asked for is counted there; write them as it does"
            )
    twice = table.filter(pl.struct(COLUMNS[:-1]).is_duplicated())
    if twice.height:
        row = ", ".join(str(value) for value in twice.row(0)[:-1])
        raise VoxauditError(
            f"{where}: counted twice: {one_line(row, 150)}. Leave one row for each word and cell"
        )
    clean = pl.col("perturbation").str.to_lowercase().is_in(ORIGINALS)
    originals, counts = table.filter(clean), table.filter(~clean)
    if originals.is_empty():
        raise VoxauditError(
            f"{where}: no rows of clean speech. Add them with 'Original' as the perturbation and an empty setting"
        )
    if counts.is_empty():
        raise VoxauditError(
            f"{where}: no rows besides clean speech: a drop needs a disturbance to compare with"
        )
    counts = _without(counts, exclude, where)
    _check_cells(originals, counts, where)
    cells = counts.select(CELL).unique(maintain_order=True)
    base = originals.select("recognizer", "group", "word", pl.col("count").alias("original"))
    return cells.join(base, on=["recognizer", "group"], maintain_order="left_right"), counts


def _typed(table: pl.DataFrame, where: str | Path) -> pl.DataFrame:
    counted = table["count"].cast(pl.Float64, strict=False)
    bad = counted.is_null() | ~counted.is_finite() | (counted < 0) | (counted != counted.round())
    if bad.any():
        row = bad.arg_true()[0]
        raise VoxauditError(
            f"{where}: row {row + 2}, column 'count': '{one_line(str(table['count'][row]), 40)}' is not a whole number"
            " of times a word was heard"
        )
    names = ("recognizer", "perturbation", "group", "word")
    setting = table["setting"].cast(pl.String).fill_null("")
    spelt = {value: show_setting(read_setting(value)) for value in setting.unique().to_list()}
    typed = table.with_columns(
        *(pl.col(name).cast(pl.String).str.strip_chars() for name in names),
        setting.replace_strict(spelt, return_dtype=pl.String).alias("setting"),
        counted.cast(pl.Int64).alias("count"),
    )
    empty = typed.select(pl.any_horizontal(pl.col(names).is_null() | (pl.col(names) == "")))
    if empty.to_series().any():
        row = empty.to_series().arg_true()[0]
        raise VoxauditError(
            f"{where}: row {row + 2}: one of {', '.join(names)} is empty; fill it in or leave the row out"
        )
    return typed


def _without(counts: pl.DataFrame, exclude: Iterable[str], where: str | Path) -> pl.DataFrame:
    present = counts.select("perturbation", "setting").unique(maintain_order=True)
    grouped = present.group_by("perturbation", maintain_order=True).agg("setting")
    settings = remaining(dict(grouped.iter_rows()), exclude)
    if not settings:
        raise VoxauditError(f"{where}: nothing is left after --exclude")
    kept = [(name, setting) for name, settings in settings.items() for setting in settings]
    wanted = pl.DataFrame(kept, schema={"perturbation": pl.String, "setting": pl.String}, orient="row")
    return counts.join(wanted, on=["perturbation", "setting"], how="semi", maintain_order="left")


def _check_cells(originals: pl.DataFrame, counts: pl.DataFrame, where: str | Path) -> None:
    """Refuse a group that a recognizer has no clean speech for, or that lacks a setting: 0 is not unknown."""
    who = counts.select("recognizer", "group").unique(maintain_order=True)
    lacking = who.join(originals, on=["recognizer", "group"], how="anti", maintain_order="left")
    if lacking.height:
        recognizer, group = lacking.row(0)
        raise VoxauditError(
            f"{where}: no rows of clean speech for {recognizer} and group {group}. Add them as 'Original'"
        )
    heard = counts.select("recognizer", "perturbation", "setting").unique(maintain_order=True)
    cells = heard.join(who, on="recognizer", maintain_order="left_right")
    columns = ["recognizer", "perturbation", "setting", "group"]
    missing = cells.join(counts, on=columns, how="anti", maintain_order="left")
    if missing.height:
        recognizer, perturbation, setting, group = missing.select(columns).row(0)
        raise VoxauditError(
            f"{where}: {recognizer} has no counts for group {group} at {perturbation} {setting}."
            f" Add rows (a count may be 0), or --exclude {perturbation}:{setting}"
        )
