"""Rates as people read them: the same on the terminal and in files."""

from __future__ import annotations

from voxaudit.report.document import Kind


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


def ratio_interval(ratio: float | None, low: float | None, high: float | None) -> str:
    """Return `1.25 (0.97 to 1.61)`; a limit that is not known is a question mark."""
    if ratio is None:
        return "-"
    limits = ("?" if limit is None else f"{limit:.2f}" for limit in (low, high))
    return f"{ratio:.2f} ({' to '.join(limits)})"


def p_value(p: float | None) -> str:
    """Return a p-value as it is printed: `p = 0.012`, `p < 0.0001`, or a dash."""
    if p is None:
        return "-"
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


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
        "p": lambda number: p_value(number).removeprefix("p ").removeprefix("= "),
    }.get(kind, str)(value)
