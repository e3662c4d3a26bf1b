"""An answer on a terminal, or as the text that `print(answer)` gives: tables, notes, refusals, the conclusion."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.answer import Answer, Finding, Refusal, Table
from voxaudit.errors import arguments_named
from voxaudit.render.document import sentence_of
from voxaudit.render.invisible import printable
from voxaudit.render.numbers import NUMERIC, cell_text, headings
from voxaudit.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    from voxaudit.render.document import Report

PIPED_WIDTH = 160
"""Columns of a table that goes to no terminal, where COLUMNS does not say how many."""
MOST_ROWS, MOST_LISTED = 24, 60
"""Rows of a table that are shown beside findings, and where the table is the answer; the JSON has all."""
MOST_REFUSALS = 4
"""Questions without an answer that are named after a run; the report has all of them."""
_WORD = re.compile(r"\(?[+-]?\d\S*(?: %)?(?: to [+-]?\d\S*(?: %)?)?(?!\S)\s*|\S+\s*|^\s*")
"""A word with the spaces after it; a number stays with its unit, an interval in one piece."""
LONG_TOKEN = 32
"""A word with more characters than this may be folded after `_`, `:` and `,`."""


def answer_text(answer: Answer, *, flags: bool = False, width: int | None = None) -> str:
    """Return an answer as text, tables folded to `width` columns.

    With `flags`, arguments are named as the command line has them, and what is left out is in its JSON; without, they
    are Python's, and what is left out is in `tables` and `findings`.
    """
    from rich.console import Console

    file = io.StringIO()
    _write(answer, Console(file=file, width=10**6, color_system=None, highlight=False), flags, width)
    return file.getvalue().strip("\n")


def print_answer(answer: Answer, *, flags: bool = True) -> None:
    """Print an answer on standard output, as the commands do."""
    from rich.console import Console

    _write(answer, Console(width=10**6, highlight=False), flags, None)


def _write(answer: Answer, console: Console, flags: bool, width: int | None) -> None:
    _say(console, answer.title, "bold")
    most = MOST_ROWS if answer.findings else MOST_LISTED
    for number, table in enumerate(answer.tables.shown):
        title = "" if number == 0 and table.title == answer.title else table.title
        rows = counted(table.frame.height, "row")
        if table.folded:
            continue
        if title:
            _say(console, title, "bold")
        console.print(_table_grid(table, width or _screen(), most))
        if table.frame.height > most:
            _say(console, f"  The first {most} of {rows}; all are {_elsewhere('tables', table.id, flags)}.\n")
        if table.note:
            _say(console, f"  {table.note}\n")
    folded = [table.id for table in answer.tables.shown if table.folded]
    if folded:
        _say(console, f"More tables: {', '.join(folded)} ({_elsewhere('tables', '', flags)})\n")
    for note in answer.notes:
        _say(console, f"note: {note.text}{named_arguments(note.see, flags)}")
    for refusal in answer.refusals:
        _say(console, refusal_text(refusal, flags=flags))
    said = answer.conclusion
    if len(said) < len(answer.findings):
        more = counted(len(answer.findings) - len(said), "more finding")
        _say(console, f"{more}: {_elsewhere('findings', '', flags)}")
    for finding in said:
        _say(console, f"- {finding.sentence}")


def print_report(report: Report) -> None:
    """Print what a report says first: error rates, the sentences of its summary, what is open, and its gates."""
    from rich.console import Console

    console = Console(width=10**6, highlight=False)
    rates = [table for chapter in report.chapters for table in chapter.all_tables if table.id == "rates"]
    for number, table in enumerate(rates):
        clean = number > 0 and "scenario" in table.frame.columns  # of groups, clean speech is enough here
        shown = replace(table, frame=table.frame.filter(pl.col("scenario") == "clean")) if clean else table
        _say(console, f"{table.title} on clean speech" if clean else table.title, "bold")
        console.print(_table_grid(shown, _screen()))
        if shown.frame.height > MOST_ROWS:
            _say(console, f"  The first {MOST_ROWS} of {shown.frame.height:,} rows; all are in the report.\n")
    for question in report.summary:
        if question.title:
            _say(console, question.title, "bold")
        for item in question.answers:
            _say(console, f"- {sentence_of(item)}")
    open_ = {
        (one.code, one.attribute)
        for question in report.summary
        for one in question.answers
        if isinstance(one, Finding) and one.verdict == "refused"
    }
    asked = [
        one
        for chapter in report.chapters
        for one in chapter.all_refusals
        if one.code != "not_asked" and (one.code, one.about) not in open_
    ]
    refusals = list({(one.about, one.text): one for one in reversed(asked)}.values())[::-1]
    for refusal in refusals[:MOST_REFUSALS]:
        _say(console, f"- {refusal_text(refusal, flags=True)}")
    if len(refusals) > MOST_REFUSALS:
        more = counted(len(refusals) - MOST_REFUSALS, "more question")
        _say(console, f"- Not answered: {more}; the report says why.")
    for gate in report.gates:
        _say(console, f"- gate {gate.name}: {gate.outcome}. {gate.sentence}")


def refusal_text(refusal: Refusal, *, flags: bool = False) -> str:
    """Return `Not answered: what: why. To get it: how`, in one line."""
    about = f"{refusal.about}: " if refusal.about else ""
    see = named_arguments(refusal.see, flags)
    remedy = f"{refusal.text.rstrip('.')}. To get it: {refusal.remedy}" if refusal.remedy else refusal.text
    return f"Not answered: {about}{remedy}{see}"


def named_arguments(see: tuple[str, ...], flags: bool) -> str:
    """Return which arguments to see, after a message: as flags on the command line, else as Python's arguments."""
    if not flags or not see:
        return arguments_named(see)
    named = (f"--{name.replace('_', '-')}" for name in see)
    return f" (see {', '.join(named)})"


def _elsewhere(part: str, id_: str, flags: bool) -> str:
    """Return where the rest of it is."""
    return "in the JSON" if flags else f'in `{part}["{id_}"]`' if id_ else f"in `{part}`"


def _say(console: Console, words: str, style: str = "") -> None:
    """Print words as they are, on one line however narrow the terminal is; a last line break of theirs stays."""
    from rich.text import Text

    end = "\n\n" if words.endswith("\n") else "\n"
    console.print(Text(printable(words.rstrip("\n")), style=style), soft_wrap=True, end=end)


def _table_grid(table: Table, width: int, most: int = MOST_ROWS) -> Grid:
    columns = table.columns
    rows = [
        [cell_text(value, column, plain=True) for value, column in zip(row, columns, strict=True)]
        for row in table.rows[:most]
    ]
    return _grid(headings(columns), rows, [column.kind in NUMERIC for column in columns], width)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table of a command that is no audit; columns whose cells are numbers are set to the right.

    Cells are folded between words only. A table that cannot be as narrow as the terminal has the width it needs.
    """
    from rich.console import Console

    numeric = [bool(rows) and all(_numeric(row[number]) for row in rows) for number in range(len(columns))]
    console = Console(width=10**6)
    if title:
        _say(console, title, "bold")
    console.print(_grid(columns, rows, numeric, _screen()))


def _grid(heads: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[bool], width: int) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    texts = [[printable(str(cell)) for cell in row] for row in (heads, *rows)]
    widths = _widths(texts, width - 3 * len(heads) - 1)
    table = Grid(box=box.SIMPLE_HEAD)
    folded = [[_folded(text, room) for text, room in zip(row, widths, strict=True)] for row in texts]
    for head, numeric in zip(folded[0], right, strict=True):
        table.add_column(Text(head), justify="right" if numeric else "left", no_wrap=True)
    for row in folded[1:]:
        table.add_row(*map(Text, row))
    return table


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
        width, index = max((widths[n], n) if widths[n] > least[n] else (0, n) for n in range(len(widths)))
        if not width:
            break
        widths[index] -= 1
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


def _numeric(cell: Any) -> bool:
    text = str(cell)
    return text == "-" or text[:1].isdigit() or (text[:1] in "+-" and text[1:2].isdigit())
