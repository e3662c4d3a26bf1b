"""What a reviewer asks for and gets: filters, pages of cases, and one case in full."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

from voxaudit.audio import Audio
from voxaudit.score.align import align_words

ERRORS = ("any", "substitutions", "deletions", "insertions", "empty", "failed")
SORTS = ("wer", "excess", "order")
PAGE = 25

ORIGINAL, CHANGED = "original", "changed"
SIDES = (ORIGINAL, CHANGED)
"""The two recordings of a case: as it was, and as the recognizer heard it."""


@dataclass(frozen=True)
class Filters:
    """Which cases are wanted; empty means all. `group` is `attribute=level`; `only` and `without` are case ids."""

    scenario: str = ""
    recognizer: str = ""
    group: str = ""
    error: str = ""
    text: str = ""
    kind: str = ""
    sort: str = "wer"
    only: Collection[str] | None = None
    without: Collection[str] = ()


@dataclass(frozen=True)
class Sound:
    """A recording to listen to, and where it was changed: (first second, last second, what) of each edit."""

    audio: Audio
    edits: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """Some of the cases that match, and how many match in all."""

    total: int
    cases: list[dict[str, Any]]


@dataclass(frozen=True)
class Facets:
    """What can be filtered by: the values there are, in order."""

    scenarios: list[str] = field(default_factory=list)
    recognizers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    sorts: list[str] = field(default_factory=list)


class Source(Protocol):
    """Where cases come from."""

    @property
    def total(self) -> int:
        """How many cases there are."""
        ...

    def facets(self) -> Facets:
        """Return what can be filtered by."""
        ...

    def page(self, filters: Filters, first: int, size: int) -> Page:
        """Return `size` of the cases that match, from the `first` on: id, texts and numbers for a list."""
        ...

    def case(self, id_: str) -> dict[str, Any] | None:
        """Return one case in full, None where there is no such case."""
        ...

    def sound(self, id_: str, side: str) -> Sound | None:
        """Return one of the two recordings of a case, None where it has none."""
        ...


def word_diff(said: str, heard: str) -> list[tuple[str, str, str]]:
    """Return an alignment word by word: (equal, substitute, delete or insert, word said, word heard)."""
    rows: list[tuple[str, str, str]] = []
    for edit in align_words(said, heard):
        if edit.kind == "delete":
            rows += [("delete", word, "") for word in edit.reference]
        elif edit.kind == "insert":
            rows += [("insert", "", word) for word in edit.hypothesis]
        else:
            rows += [(edit.kind, *pair) for pair in zip(edit.reference, edit.hypothesis, strict=True)]
    return rows
