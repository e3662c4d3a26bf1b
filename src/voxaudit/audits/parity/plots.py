"""Figures of the parity audit that a paper could print. Needs matplotlib (`pip install 'voxaudit[plot]'`)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.parity.findings import Findings
from voxaudit.audits.parity.options import COMPLEXITY, MEAN, QUALITY
from voxaudit.errors import VoxauditError, missing_extra, one_line

INK, PALE, ACCENT = "#1f2933", "#9aa5b1", "#b4451f"
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Marks of adjusted p-values, as in the paper's figures."""
MOST_GROUPS = 30
"""Groups drawn of one attribute: those with the most speakers."""


def write_plots(found: Findings, folder: str | Path) -> list[Path]:
    """Draw all figures the findings have data for, as PDF and PNG; return the files.

    Of several recognizers each has figures of its own, `parity_groups_NAME`; those without a name are of their mean.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing_extra("matplotlib", "plot") from error
    folder = Path(folder)
    figures = {
        "quality": _measures(found, tuple(QUALITY)),
        "complexity": _measures(found, tuple(COMPLEXITY)),
    }
    for name in found.recognizers:
        own = replace(found, main=name)
        ending = "" if name == found.main else "_" + re.sub(r"[^\w-]+", "_", name)
        figures[f"groups{ending}"] = _groups(own)
        figures[f"conditional{ending}"] = _conditional(own)
        figures[f"speakers{ending}"] = _speakers(own)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            if figure is None:
                continue
            for ending, metadata in ((".pdf", {"CreationDate": None}), (".png", {"Software": None})):
                path = folder / f"parity_{name}{ending}"
                figure.savefig(path, dpi=200, metadata=metadata)
                written.append(path)
    except OSError as error:
        raise VoxauditError(f"{folder}: cannot write the figures ({one_line(error, 200)})") from error
    return written


def stars(p: float | None) -> str:
    """Return the mark of a p-value: * below 0.05, ** below 0.01, *** below 0.001."""
    return "" if p is None else next((mark for limit, mark in STARS if p < limit), "")


def _panels(heights: list[int], columns: int = 1, width: float = 6.3) -> tuple[Any, list[list[Any]]]:
    """Return a figure with one row of panels for each entry of `heights` (groups), `columns` wide."""
    from matplotlib.figure import Figure

    inches = [0.55 + 0.24 * count for count in heights]
    figure = Figure(figsize=(width * max(1.0, 0.62 * columns), sum(inches) + 0.5), layout="constrained")
    axes = figure.subplots(len(heights), columns, squeeze=False, gridspec_kw={"height_ratios": inches})
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8, colors=INK)
        axis.grid(axis="x", color="#e4e7eb", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, [list(row) for row in axes]


def _shown(found: Findings, attribute: str) -> list[str]:
    """Return the groups to draw, the last at the bottom."""
    groups = found.order[attribute]
    if len(groups) <= MOST_GROUPS:
        return list(groups)
    counts = dict(found.people.group_by(attribute).agg(pl.len().alias("speakers")).iter_rows())
    kept = set(sorted(groups, key=lambda group: -counts.get(group, 0))[:MOST_GROUPS])
    return [group for group in groups if group in kept]


def _label(axis: Any, groups: list[str], attribute: str, names: list[str] | None = None) -> None:
    # matplotlib takes dollar signs for mathematics; a group may be called anything.
    shown = [name.replace("$", r"\$") for name in names or groups]
    axis.set_yticks(range(len(groups)), shown)
    axis.set_ylim(len(groups) - 0.5, -0.5)
    axis.set_title(attribute.replace("$", r"\$"), loc="left", fontsize=9, color=INK, fontweight="bold")


def _groups(found: Findings) -> Any:
    """Group word error rates with intervals and numbers of speakers; other recognizers as pale ticks below."""
    figure, axes = _panels([len(_shown(found, name)) for name in found.attributes])
    for (axis,), name in zip(axes, found.attributes, strict=True):
        groups = _shown(found, name)
        rows = found.univariate.filter(pl.col("attribute") == name)
        for row in rows.iter_rows(named=True):
            if row["group"] not in groups:
                continue
            y = groups.index(row["group"])
            if row["recognizer"] != found.main:
                axis.plot(100 * row["wer_speaker_mean"], y + 0.27, "|", color=PALE, markersize=5)
                continue
            color = ACCENT if row["enough_speakers"] else PALE
            if row["wer_low"] is not None:
                axis.plot([100 * row["wer_low"], 100 * row["wer_high"]], [y, y], color=color, linewidth=1.6)
            axis.plot(100 * row["wer_speaker_mean"], y, "o", color=color, markersize=4.5)
            right = row["wer_high"] if row["wer_high"] is not None else row["wer_speaker_mean"]
            axis.annotate(
                f" {stars(row['p_adjusted'])}", (100 * right, y), fontsize=8, va="center", color=INK
            )
        counts = dict(rows.filter(pl.col("recognizer") == found.main).select("group", "speakers").iter_rows())
        _label(axis, groups, name, [f"{group} (n = {counts.get(group, 0)})" for group in groups])
        axis.set_xlim(left=0)
        axis.margins(x=0.12)
    axes[-1][0].set_xlabel("word error rate, mean over speakers (%)", fontsize=8)
    _caption(
        figure,
        f"{_whose(found)}; pale: not enough speakers; small ticks: other recognizers; stars: adjusted p",
    )
    return figure


def _conditional(found: Findings) -> Any:
    """Relative errors with all other attributes fixed, a dot a stratum, as in the paper's Figure 6."""
    if not found.conditional.height:
        return None
    names = [name for name in found.attributes if name in found.conditional["attribute"].to_list()]
    figure, axes = _panels([len(_shown(found, name)) for name in names])
    generator = np.random.default_rng(0)  # spreads dots that would hide each other
    for (axis,), name in zip(axes, names, strict=True):
        groups = _shown(found, name)
        own = (pl.col("attribute") == name) & (pl.col("recognizer") == found.main)
        for row in found.conditional_strata.filter(own).iter_rows(named=True):
            if row["group"] not in groups or row["err_rel"] is None:
                continue
            y = groups.index(row["group"]) + generator.uniform(-0.22, 0.22)
            clear = row["p"] is not None and row["p"] < found.settings.alpha
            axis.plot(
                row["err_rel"],
                y,
                "o",
                markersize=3.2,
                markeredgewidth=0.7,
                markeredgecolor=ACCENT if clear else PALE,
                color=ACCENT if clear else "white",
            )
        for row in found.conditional.filter(own).iter_rows(named=True):
            if row["group"] in groups and row["err_rel"] is not None:
                y = groups.index(row["group"])
                axis.plot(row["err_rel"], y, "D", color=INK, markersize=5)
                axis.annotate(
                    stars(row["p_adjusted"]),
                    (row["err_rel"], y - 0.28),
                    fontsize=9,
                    ha="center",
                    va="center",
                    color=INK,
                )
        axis.axvline(0, color=INK, linewidth=0.8)
        _label(axis, groups, f"{name}, with {' and '.join(found.held[name])} fixed")
    axes[-1][0].set_xlabel("relative error within a stratum (%)", fontsize=8)
    _caption(
        figure,
        f"{_whose(found)}; a dot is a stratum, full where it differs by itself; diamond: mean; stars: adjusted p",
    )
    return figure


def _speakers(found: Findings) -> Any:
    """Every speaker's word error rate, by group."""
    main = found.speakers.filter(pl.col("recognizer") == found.main)
    return _distribution(
        found, main.with_columns(pl.col("wer") * 100), "wer", "word error rate of a speaker (%)"
    )


def _distribution(found: Findings, table: pl.DataFrame, value: str, label: str) -> Any:
    figure, axes = _panels([len(_shown(found, name)) for name in found.attributes])
    for (axis,), name in zip(axes, found.attributes, strict=True):
        _boxes(axis, table, name, _shown(found, name), value)
    axes[-1][0].set_xlabel(label, fontsize=8)
    _caption(figure, f"{_whose(found)}; a dot is a speaker; box: quartiles")
    return figure


def _measures(found: Findings, measures: tuple[str, ...]) -> Any:
    """What was recorded and said, by group: a column of panels for each measure."""
    known = [name for name in measures if name in found.people.columns and found.people[name].count()]
    if not known:
        return None
    figure, axes = _panels([len(_shown(found, name)) for name in found.attributes], len(known))
    tests = {(row["measure"], row["attribute"]): row for row in found.balance_tests.iter_rows(named=True)}
    for row, name in zip(axes, found.attributes, strict=True):
        for place, (axis, measure) in enumerate(zip(row, known, strict=True)):
            _boxes(axis, found.people, name, _shown(found, name), measure)
            p = tests[measure, name]["p_adjusted"]
            verdict = (
                ""
                if p is None
                else "balanced"
                if tests[measure, name]["balanced"]
                else f"NOT balanced {stars(p)}"
            )
            axis.set_title(f"{name}: {verdict}", loc="left", fontsize=8, color=INK)
            if place:
                axis.set_yticklabels([])
            if row is axes[-1]:
                axis.set_xlabel((QUALITY | COMPLEXITY)[measure], fontsize=8)
    _caption(figure, "a dot is a speaker's mean; box: quartiles; test: Kruskal-Wallis, adjusted")
    return figure


def _boxes(axis: Any, table: pl.DataFrame, attribute: str, groups: list[str], value: str) -> None:
    generator = np.random.default_rng(0)
    for y, group in enumerate(groups):
        values = table.filter(pl.col(attribute) == group)[value].drop_nulls().to_numpy()
        if not len(values):
            continue
        some = values if len(values) <= 400 else generator.choice(values, 400, replace=False)
        axis.plot(
            some,
            y + generator.uniform(-0.3, 0.3, len(some)),
            ".",
            color=PALE,
            markersize=2.5,
            rasterized=len(some) > 100,
        )
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        axis.plot([low, high], [y, y], color=ACCENT, linewidth=4, alpha=0.55, solid_capstyle="butt")
        axis.plot(middle, y, "o", color=ACCENT, markersize=4)
    _label(axis, groups, attribute)


def _whose(found: Findings) -> str:
    return "mean of recognizers" if found.main == MEAN else f"recognizer {found.main}".replace("$", r"\$")


def _caption(figure: Any, text: str) -> None:
    figure.supxlabel(text, fontsize=6.5, color=PALE, x=0.01, ha="left")
