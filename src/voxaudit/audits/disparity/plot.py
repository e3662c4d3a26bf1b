"""A forest plot of a disparity audit: every ratio with its interval, and the raw ratio beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from voxaudit.audits.disparity.result import Disparity, Effect, Fit
from voxaudit.errors import VoxauditError, missing_extra
from voxaudit.tables import write_atomically

ENDINGS = (".png", ".svg")
_LIMIT = 64.0
"""Ratios beyond this (or below its inverse) are drawn at the edge, with an arrow."""


def check_plot_path(path: str | Path) -> Path:
    """Return the path, or refuse an ending or folder that cannot be written to, before any work is done."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise VoxauditError(f"{path}: a plot is written as {' or '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise VoxauditError(f"{path}: there is no folder '{path.parent}'")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing_extra("matplotlib", "plot") from error
    return path


def forest_plot(result: Disparity, path: str | Path) -> None:
    """Write a forest plot as PNG or SVG, by the file's ending.

    Black: the model's ratio and interval. Grey: the ratio of raw word error rates, speakers resampled.
    """
    path = check_plot_path(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [(fit, effect) for fit in result.fits for effect in fit.effects]
    # A fixed salt and no date: the same audit writes the same file.
    with rc_context({"svg.hashsalt": "voxaudit", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7.5, 1.2 + 0.42 * max(len(rows), 1)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(1.0, color="0.5", linewidth=0.8)
        for place, (_, effect) in enumerate(rows):
            _draw(axes, effect, place)
        axes.set_yticks(range(len(rows)), [_label(fit, effect) for fit, effect in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        _scale(axes, rows)
        figure.supxlabel(
            f"errors relative to {result.attribute} = {result.reference}\n({result.interval} 95 % interval;"
            " filled: gap shown; grey: raw WER ratio, speakers resampled)",
            fontsize=9,
        )
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)
        kind = path.suffix.lower()[1:]
        metadata = {"Date": None} if kind == "svg" else None
        write_atomically(path, lambda to: figure.savefig(to, format=kind, dpi=150, metadata=metadata))


def _draw(axes: Any, effect: Effect, place: int) -> None:
    if effect.baseline is not None and effect.baseline.speakers is not None:
        limits = effect.baseline.speakers
        axes.plot(_clip(limits.ci_low, limits.ci_high), [place + 0.18] * 2, color="0.7", linewidth=1.2)
        axes.plot(_clip(effect.baseline.ratio), [place + 0.18], "o", color="0.7", markersize=3.5)
    low, high = effect.ci_low or 0.0, float("inf") if effect.ci_high is None else effect.ci_high
    shown = not effect.verdict.startswith(("no gap", "refused"))
    axes.plot(_clip(low, high), [place] * 2, color="black", linewidth=1.6)
    axes.plot(
        _clip(effect.ratio), [place], "s", color="black", markersize=5, fillstyle="full" if shown else "none"
    )
    for value, marker in ((low, "<"), (high, ">")):
        if not 1.0 / _LIMIT <= value <= _LIMIT:
            axes.plot(_clip(value), [place], marker, color="black", markersize=5)


def _clip(*values: float) -> list[float]:
    return [min(max(value, 1.0 / _LIMIT), _LIMIT) for value in values]


def _scale(axes: Any, rows: list[tuple[Fit, Effect]]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    values = [value for _, e in rows for value in _clip(e.ci_low or 0.0, e.ci_high or _LIMIT, e.ratio)]
    low, high = min([*values, 0.9]) / 1.1, max([*values, 1.1]) * 1.1
    ticks = [0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0]
    if high / low > 10.0:
        ticks = [0.02, 0.1, 0.33, 1.0, 3.0, 10.0, 50.0]
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _label(fit: Fit, effect: Effect) -> str:
    # A name may hold anything, and matplotlib reads dollar signs as mathematics.
    name = ", ".join([*(str(value) for value in fit.by.values()), effect.group])
    return name.replace("$", r"\$")
