"""Word counts that somebody made elsewhere: one row for each recogniser, transformation, theta, group and word."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from voxaudit.audits.localize.drops import CELL
from voxaudit.audits.localize.thetas import remaining
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.condition import ORIGINALS, parse_theta, show_theta
from voxaudit.tables import require_columns

COLUMNS = ("recognizer", "transformation", "theta", "group", "word", "count")


def is_counted(columns: Iterable[str]) -> bool:
    """Say whether a table with these columns holds counts of words rather than transcripts."""
    return {"word", "count"} <= set(columns)


def read_counts(
    table: pl.DataFrame, where: str | Path, *, exclude: Iterable[str] = (), words: Iterable[str] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (originals, counts) as `word_drops` takes them.

    `table` has asr (or recognizer), transformation, theta, group, word and count, with clean speech as the
    transformation `Original`. Every group needs the same thetas, and nothing may be counted twice.
    """
    if "recognizer" not in table.columns and "asr" in table.columns:
        table = table.rename({"asr": "recognizer"})
    require_columns(table, COLUMNS, where)
    table = _typed(table.select(COLUMNS), where)
    if words is not None:
        table = table.filter(pl.col("word").is_in(list(words)))
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
    clean = pl.col("transformation").str.to_lowercase().is_in(ORIGINALS)
    originals, counts = table.filter(clean), table.filter(~clean)
    if originals.is_empty():
        raise VoxauditError(
            f"{where}: no rows of clean speech. Add them with 'Original' as the transformation and an empty theta"
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
    names = ("recognizer", "transformation", "group", "word")
    theta = table["theta"].cast(pl.String).fill_null("")
    spelt = {value: show_theta(parse_theta(value)) for value in theta.unique().to_list()}
    typed = table.with_columns(
        *(pl.col(name).cast(pl.String).str.strip_chars() for name in names),
        theta.replace_strict(spelt, return_dtype=pl.String).alias("theta"),
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
    present = counts.select("transformation", "theta").unique(maintain_order=True)
    grouped = present.group_by("transformation", maintain_order=True).agg("theta")
    settings = remaining(dict(grouped.iter_rows()), exclude)
    if not settings:
        raise VoxauditError(f"{where}: nothing is left after --exclude")
    kept = [(name, theta) for name, thetas in settings.items() for theta in thetas]
    wanted = pl.DataFrame(kept, schema={"transformation": pl.String, "theta": pl.String}, orient="row")
    return counts.join(wanted, on=["transformation", "theta"], how="semi", maintain_order="left")


def _check_cells(originals: pl.DataFrame, counts: pl.DataFrame, where: str | Path) -> None:
    """Refuse a group that a recognizer has no clean speech for, or that lacks a theta: 0 is not the same as unknown."""
    who = counts.select("recognizer", "group").unique(maintain_order=True)
    lacking = who.join(originals, on=["recognizer", "group"], how="anti", maintain_order="left")
    if lacking.height:
        recognizer, group = lacking.row(0)
        raise VoxauditError(
            f"{where}: no rows of clean speech for {recognizer} and group {group}. Add them as 'Original'"
        )
    heard = counts.select("recognizer", "transformation", "theta").unique(maintain_order=True)
    cells = heard.join(who, on="recognizer", maintain_order="left_right")
    columns = ["recognizer", "transformation", "theta", "group"]
    missing = cells.join(counts, on=columns, how="anti", maintain_order="left")
    if missing.height:
        recognizer, transformation, theta, group = missing.select(columns).row(0)
        raise VoxauditError(
            f"{where}: {recognizer} has no counts for group {group} at {transformation} {theta}."
            f" Add rows (a count may be 0), or --exclude {transformation}:{theta}"
        )
