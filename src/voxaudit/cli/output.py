"""Printing for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.render.invisible import printable

if TYPE_CHECKING:
    from voxaudit.answer import Answer

__all__ = ["note", "print_answer", "print_json", "print_table", "printable"]


def note(text: str) -> None:
    """Print lines to standard error: standard output is for results."""
    print("\n".join(printable(line) for line in text.split("\n")), file=sys.stderr)


def print_answer(answer: Answer) -> None:
    """Print an audit's answer on standard output."""
    from voxaudit.render.terminal import print_answer

    print_answer(answer, flags=True)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table of a command that is no audit."""
    from voxaudit.render.terminal import print_table

    print_table(title, columns, rows)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output: an answer, a report, or plain data."""
    from voxaudit.render.json import to_json

    print(to_json(document), end="")
