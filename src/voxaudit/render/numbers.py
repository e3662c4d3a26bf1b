"""How the values of a table are written: once for all files, with the signs of a terminal or of a printed page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from voxaudit.answer import Cell, Column, Kind
from voxaudit.render.document import VERDICT_WORDS
from voxaudit.wording import p_cell

NONE = "\u2013"
MINUS = "\u2212"
NUMERIC: tuple[Kind, ...] = ("count", "percent", "points", "ratio", "number", "p")


_NO_NUMBERS = (str, type(None), bool, tuple, list)


def real(value: Any) -> float | None:
    """Return a value as a float, None where it is no number or NaN; infinities stay."""
    kind = type(value)
    if kind is not float:
        # What most cells hold is told by its type: to ask for an abstract one takes longer than all the rest.
        if kind in _NO_NUMBERS or (kind is not int and not isinstance(value, Real)):
            return None
        value = float(value)
    return None if math.isnan(value) else value


def finite(value: Any) -> float | None:
    """Return a value as a float that can be drawn, or None."""
    number = real(value)
    return number if number is not None and math.isfinite(number) else None


def shown(value: Any, kind: Kind, *, plain: bool = False) -> str:
    """Return a value of a column as text; fractions of `percent` and `points` are shown times 100.

    `plain` has the signs of a keyboard, for terminals and text files; otherwise minus signs and dashes are typeset.
    """
    number = real(value)
    if number is None or kind == "text":
        if value is None or (number is None and isinstance(value, float)):
            return "-" if plain else NONE
        if isinstance(value, bool):
            return "yes" if value else "no"
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if math.isinf(number):
        text = "inf" if plain else "∞"
        text = text if number > 0 else f"-{text}"
    else:
        text = _number(number, kind)
    return text if plain else text.replace("-", MINUS)


def _number(number: float, kind: Kind) -> str:
    """Return a finite number; beyond the usual sizes with a power of ten."""
    match kind:
        case "percent":
            return f"{_tenths(number)} %"
        case "points":
            text = _tenths(number)
            return text if text == "0.0" or number < 0 else f"+{text}"
        case "ratio":
            return f"{number:.1e}" if abs(number) >= 1e6 or 0 < abs(number) < 0.005 else f"{number:.2f}"
        case "count":
            return f"{int(number):,}" if number == int(number) else f"{number:,.1f}"
        case "p":
            return p_cell(number)
        case _:
            return f"{number:.4g}"


def _tenths(fraction: float) -> str:
    text = f"{100 * fraction:.1f}"
    return "0.0" if text == "-0.0" else text


def with_interval(cell: Cell, kind: Kind, *, plain: bool = False) -> str:
    """Return `12.3 % (10.1 to 14.9)`, or the value alone where there is no interval; `?` for one limit that is not."""
    value = shown(cell.value, kind, plain=plain)
    limits = [real(cell.low), real(cell.high)]
    if real(cell.value) is None or limits == [None, None]:
        return value
    low, high = ("?" if one is None else shown(one, kind, plain=plain).removesuffix(" %") for one in limits)
    return f"{value} ({low} to {high})"


def cell_text(value: Any, column: Column, *, plain: bool = False) -> str:
    """Return what `Table.rows` holds for a column as text: a value, or a value with its limits."""
    if column.name == "verdict" and value in VERDICT_WORDS:
        return VERDICT_WORDS[value]
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and (column.low or column.high):
        limits = dict(zip((name for name in (column.low, column.high) if name), value[1:], strict=True))
        cell = Cell(value[0], limits.get(column.low), limits.get(column.high))
        return with_interval(cell, column.kind, plain=plain)
    return shown(value, column.kind, plain=plain)


def headings(columns: Sequence[Column]) -> list[str]:
    """Return the headings of a table, with the unit where no cell carries it."""
    return [
        f"{column.heading}, points"
        if column.kind == "points" and "point" not in column.heading
        else column.heading
        for column in columns
    ]
