"""Severity curves as a figure: word error rate against severity, a panel a perturbation, a line a recognizer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.disparity.plot import check_plot_path
from voxaudit.audits.robustness.result import Robustness
from voxaudit.errors import VoxauditError
from voxaudit.tables import write_atomically

COLORS = ("#b4451f", "#1f5fa8", "#3c8031", "#7a4fa3", "#a07d00", "#1f2933")
_COLUMNS = 5


def severity_plot(found: Robustness, path: str | Path) -> None:
    """Write the severity curves as PNG or SVG, by the file's ending; bands are the speaker-bootstrap intervals."""
    path = check_plot_path(path)
    table = found.curves
    if table.is_empty():
        raise VoxauditError(f"{path}: nothing to draw: no perturbation was heard at several settings")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    lines = [name for name in ("recognizer", "language") if name in table.columns]
    names = table["perturbation"].unique(maintain_order=True).to_list()
    series = table.select(lines).unique(maintain_order=True).rows()
    columns = min(_COLUMNS, len(names))
    count = math.ceil(len(names) / columns)
    # A fixed salt and no date: the same audit writes the same file.
    with rc_context({"svg.hashsalt": "voxaudit", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(2.1 * columns + 0.6, 1.75 * count + 0.8), layout="constrained")
        axes = list(figure.subplots(count, columns, squeeze=False, sharey=True).flat)
        for axis, name in zip(axes, names, strict=False):
            own = table.filter(pl.col("perturbation") == name)
            for place, key in enumerate(series):
                rows = own.filter(
                    *(pl.col(column) == value for column, value in zip(lines, key, strict=True))
                )
                _draw(axis, rows.sort("step"), COLORS[place % len(COLORS)], ", ".join(key))
            _dress(axis, own, name)
        for axis in axes[len(names) :]:
            axis.set_visible(False)
        # One scale for all, up to the highest curve: a band may end above it.
        highest = table["wer"].drop_nulls().drop_nans().max()
        axes[0].set_ylim(0, 110 * max(float(highest or 0.0), 0.05))  # type: ignore[arg-type]
        figure.supylabel("word error rate (%)", fontsize=8)
        handles, labels = axes[0].get_legend_handles_labels()
        if len(series) > 1:
            figure.legend(handles, labels, loc="outside upper left", ncols=min(len(series), 4), frameon=False)
        kind = path.suffix.lower()[1:]
        metadata = {"Date": None} if kind == "svg" else None
        write_atomically(path, lambda to: figure.savefig(to, format=kind, dpi=150, metadata=metadata))


def _draw(axis: Any, rows: pl.DataFrame, color: str, label: str) -> None:
    known = rows.filter(pl.col("wer").is_not_null())
    axis.plot(
        known["step"].to_list(),
        [100 * rate for rate in known["wer"]],
        "o-",
        color=color,
        markersize=2.5,
        linewidth=1.2,
        label=label.replace("$", r"\$"),
    )
    band = rows.filter(pl.col("wer_low").is_not_null())
    if band.height:
        axis.fill_between(
            band["step"].to_list(),
            [100 * rate for rate in band["wer_low"]],
            [100 * rate for rate in band["wer_high"]],
            color=color,
            alpha=0.18,
            linewidth=0,
        )


def _dress(axis: Any, own: pl.DataFrame, name: str) -> None:
    # A name may hold anything, and matplotlib reads dollar signs as mathematics.
    steps = own.unique("step").sort("step")
    parameter = next((p for p in steps["parameter"] if p), None)
    marks = [
        "clean" if row["scenario"] == "clean" else _mark(row["value"], row["severity"], row["step"])
        for row in steps.iter_rows(named=True)
    ]
    axis.set_xticks(steps["step"].to_list(), marks, fontsize=6.5)
    axis.set_title(
        f"{name}{f' ({parameter})' if parameter else ''}".replace("$", r"\$"), fontsize=8, loc="left"
    )
    axis.grid(axis="y", color="#e4e7eb", linewidth=0.6)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _mark(value: float | None, severity: int | None, step: int) -> str:
    return f"{value:g}" if value is not None else str(severity if severity is not None else step)
