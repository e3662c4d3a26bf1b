"""Printing for people and for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from voxaudit.report.invisible import printable

__all__ = ["note", "print_json", "print_table", "printable"]

PIPED_WIDTH = 160
"""Columns of a table that goes to no terminal, where COLUMNS does not say how many."""
_WORD = re.compile(r"\(?[+-]?\d\S*(?: %)?(?: to [+-]?\d\S*(?: %)?)?(?!\S)\s*|\S+\s*|^\s*")
"""A word with the spaces after it; a number stays with its unit, an interval in one piece."""
LONG_TOKEN = 32
"""A word with more characters than this may be folded after `_`, `:` and `,`."""


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
    """Print a table; columns whose cells are numbers are set to the right.

    Cells are folded between words only. A table that cannot be as narrow as the terminal has the width it needs.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts = [[printable(str(cell)) for cell in row] for row in (columns, *rows)]
    borders = 3 * len(columns) + 1
    widths = _widths(texts, _screen() - borders)
    table = Table(box=box.SIMPLE_HEAD)
    folded = [[_folded(text, width) for text, width in zip(row, widths, strict=True)] for row in texts]
    for number, head in enumerate(folded[0]):
        numeric = bool(rows) and all(_numeric(row[number]) for row in rows)
        table.add_column(Text(head), justify="right" if numeric else "left", no_wrap=True)
    for row in folded[1:]:
        table.add_row(*map(Text, row))
    console = Console(width=max(_screen(), sum(widths) + borders))
    if title:
        console.print(Text(printable(title), style="bold"), soft_wrap=True)
    console.print(table)


def _screen() -> int:
    """Return how many columns a table should have: the terminal's, or COLUMNS where that is set."""
    import shutil

    if sys.stdout.isatty():
        return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    # Piped output is not cut to a terminal's width that is not there.
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and 0 < len(said) < 6 and int(said) else PIPED_WIDTH


def _widths(texts: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the columns' widths: as their cells are, or the widest ones narrower, never than their longest word."""
    from rich.cells import cell_len

    columns = list(zip(*texts, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(cell_len(part.rstrip()) for text in column for part in _parts(text)) for column in columns]
    while sum(widths) > room:
        width, place = max((widths[n], n) if widths[n] > least[n] else (0, n) for n in range(len(widths)))
        if not width:
            break
        widths[place] -= 1
    return widths


def _parts(text: str) -> list[str]:
    """Return the parts between which a cell may be folded, each with the spaces after it."""
    parts: list[str] = []
    for word in re.findall(_WORD, text):
        parts += re.findall(r"[^_:,]*[_:,]+\s*|[^_:,]+", word) if len(word) > LONG_TOKEN else [word]
    return parts or [""]


def _folded(text: str, width: int) -> str:
    """Return a cell in lines of at most `width` columns; one that fits stays as it is."""
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    lines = [""]
    for part in _parts(text):
        if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


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
