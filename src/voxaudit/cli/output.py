"""Printing for people and for programs."""

from __future__ import annotations

import sys
from typing import Any

from voxaudit.render.invisible import printable

__all__ = ["note", "print_json", "printable"]


def note(text: str) -> None:
    """Print lines to standard error: standard output is for results."""
    print("\n".join(printable(line) for line in text.split("\n")), file=sys.stderr)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output: an answer, a report, or plain data."""
    from voxaudit.render.json import to_json

    print(to_json(document), end="")
