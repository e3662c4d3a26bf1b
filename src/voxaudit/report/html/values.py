"""Values as people read them, and as files hold them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from voxaudit.report.document import Cell, Kind
from voxaudit.report.numbers import show_value

NONE = "\u2013"
MINUS = "\u2212"
NUMERIC: tuple[Kind, ...] = ("count", "percent", "points", "ratio", "number", "p", "interval")


def real(value: Any) -> float | None:
    """Return a value as a float, None where it is no number or NaN; infinities stay."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number = float(value)
    return None if math.isnan(number) else number


def finite(value: Any) -> float | None:
    """Return a value as a float that can be drawn, or None."""
    number = real(value)
    return number if number is not None and math.isfinite(number) else None


def shown(value: Any, kind: Kind) -> str:
    """Return a value of a column as text; fractions of `percent`, `points` and `interval` are shown times 100."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind == "interval" and isinstance(value, list | tuple) and len(value) == 2:
        low, high = (real(limit) for limit in value)
        return NONE if low is None and high is None else f"{_limit(low)} to {_limit(high)}"
    number = real(value)
    if number is None or kind in ("text", "interval"):
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if math.isinf(number):
        return "∞" if number > 0 else f"{MINUS}∞"
    return _number(number, kind).replace("-", MINUS)


def _limit(limit: float | None) -> str:
    if limit is None:
        return "?"
    return (
        ("∞" if limit > 0 else f"{MINUS}∞") if math.isinf(limit) else f"{100 * limit:.1f}".replace("-", MINUS)
    )


def _number(number: float, kind: Kind) -> str:
    """Return a finite number as the other files of a report have it, beyond their usual sizes with a power of ten."""
    if kind == "count":
        return show_value(int(number), kind) if number == int(number) else f"{number:,.1f}"
    if kind == "points":
        return ("+" if number > 0 else "") + show_value(number, kind)
    if kind == "ratio" and (abs(number) >= 1e6 or 0 < abs(number) < 0.005):
        return f"{number:.1e}"
    return show_value(number, kind)


def with_interval(cell: Cell, kind: Kind) -> str:
    """Return `12.3 % (10.1 to 14.9)`, or the value alone where there is no interval."""
    value = shown(cell.value, kind)
    if cell.low is None or cell.high is None:
        return value
    low, high = (shown(limit, kind).removesuffix(" %") for limit in (cell.low, cell.high))
    return f"{value} ({low} to {high})"
