"""Rates as people read them: the same on the terminal and in files."""

from __future__ import annotations

from collections.abc import Sequence

from voxaudit.report.document import Column, Kind
from voxaudit.wording import p_cell


def percent(rate: float | None) -> str:
    """Return a rate as a percentage with one decimal, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f} %"


def percent_interval(rate: float | None, low: float | None, high: float | None) -> str:
    """Return `12.3 % (10.1 to 14.9)`, or the rate alone where there is no interval."""
    return (
        percent(rate)
        if low is None or high is None
        else f"{percent(rate)} ({100 * low:.1f} to {100 * high:.1f})"
    )


def points_interval(difference: float | None, low: float | None, high: float | None) -> str:
    """Return a difference of rates in points: `12.3 (10.1 to 14.9)`, or alone where there is no interval."""
    if difference is None:
        return "-"
    return f"{100 * difference:.1f}" + (
        "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    )


def in_points(difference: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a difference of rates with its unit: `12.3 percentage points (10.1 to 14.9)`."""
    value, bracket, limits = points_interval(difference, low, high).partition(" ")
    return f"{value} percentage points{bracket}{limits}"


def ratio_interval(ratio: float | None, low: float | None, high: float | None) -> str:
    """Return `1.25 (0.97 to 1.61)`; a limit that is not known is a question mark."""
    if ratio is None:
        return "-"
    limits = ("?" if limit is None else f"{limit:.2f}" for limit in (low, high))
    return f"{ratio:.2f} ({' to '.join(limits)})"


def headings(columns: Sequence[Column]) -> list[str]:
    """Return the headings of a table, with the unit where no cell carries it; an interval has that of its estimate."""
    titles = []
    for place, column in enumerate(columns):
        title = column.title or column.name
        before = columns[place - 1].kind if place else column.kind
        kind = before if column.kind == "interval" else column.kind
        unit = {"points": "points", "percent": "%"}.get(kind, "")
        if column.kind != "percent" and unit and unit.removesuffix("s") not in title.replace("95 %", ""):
            title = f"{title}, {unit}"
        titles.append(title)
    return titles


def show_value(value: object, kind: Kind) -> str:
    """Return a value of a table's column as people read it; a dash where there is none."""
    if value is None:
        return "-"
    if kind == "interval":
        limits: tuple[float | None, ...] = tuple(value) if isinstance(value, list | tuple) else ()
        return " to ".join("?" if limit is None else f"{100 * limit:.1f}" for limit in limits)
    if isinstance(value, str) or not isinstance(value, int | float):
        return str(value)
    return {
        "percent": lambda number: f"{100 * number:.1f} %",
        "points": lambda number: f"{100 * number:.1f}",
        "ratio": lambda number: f"{number:.2f}",
        "number": lambda number: f"{number:.4g}",
        "count": lambda number: f"{number:,}",
        "p": p_cell,
    }.get(kind, str)(value)
