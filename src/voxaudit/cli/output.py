"""Printing for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from voxaudit.report.invisible import printable

__all__ = ["note", "print_json", "print_table", "printable"]


def note(text: str) -> None:
    """Print lines to standard error: standard output is for results."""
    print("\n".join(printable(line) for line in text.split("\n")), file=sys.stderr)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output. NaN and infinity become null: JSON has neither.

    What could drive a terminal or is no valid Unicode is written as an escape, which reads back as the same text.
    """
    text = json.dumps(_finite(document), indent=2, ensure_ascii=False)
    print("\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n")))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; columns whose cells are numbers are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(title)) if title else None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
    )
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(_numeric(row[number]) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    # Piped output is not cut to a terminal's width that is not there.
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)


def _escaped(line: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _numeric(cell: Any) -> bool:
    text = str(cell)
    return text == "-" or text[:1].isdigit() or (text[:1] in "+-" and text[1:2].isdigit())


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
