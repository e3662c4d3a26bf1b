"""Show an alignment: reference over hypothesis over marks, in columns that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from voxaudit.score.align import Edit

GAP = "*"
"""Stands, repeated, where one side has no word."""

_MARKS = {"equal": "", "substitute": "S", "delete": "D", "insert": "I"}


def alignment_block(edits: Sequence[Edit], width: int = 100) -> str:
    """Return an alignment as lines of at most `width` columns (one word may be wider), in blocks of three.

    >>> from voxaudit.score.align import align_words
    >>> print(alignment_block(align_words("turn the lamp off", "turn a lamp off now")))
    REF: turn the lamp off ***
    HYP: turn a   lamp off now
              S            I
    """
    blocks: list[list[str]] = [["REF:", "HYP:", "    "]]
    for column in _columns(edits):
        size = max(map(display_width, column))
        if display_width(blocks[-1][0]) + 1 + size > width and blocks[-1][0] != "REF:":
            blocks.append(["REF:", "HYP:", "    "])
        for row, cell in enumerate(column):
            blocks[-1][row] += " " + cell + " " * (size - display_width(cell))
    return "\n".join(line.rstrip() for block in blocks for line in block if line.strip())


def _columns(edits: Sequence[Edit]) -> list[tuple[str, str, str]]:
    columns = []
    for edit in edits:
        for said, heard in edit.pairs:
            gap = GAP * max(display_width(said), display_width(heard))
            columns.append((said or gap, heard or gap, _MARKS[edit.kind]))
    return columns


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: marks none, East Asian wide characters two."""
    width = 0
    for character in text:
        if unicodedata.category(character) not in ("Mn", "Me", "Cf"):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width
