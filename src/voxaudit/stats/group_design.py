"""Utterances with their speakers, groups and controls, and the design matrix of a regression on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.labels import FloatArray, IntArray, Labels


@dataclass(frozen=True)
class Numeric:
    """A control attribute in numbers, one an utterance; nan where there is none."""

    column: str
    values: FloatArray

    def at(self, rows: IntArray | None) -> Numeric:
        """Return the values of some rows."""
        return self if rows is None else Numeric(self.column, self.values[rows])

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)


@dataclass(frozen=True)
class Categorical:
    """A control attribute in labels."""

    column: str
    labels: Labels

    def at(self, rows: IntArray | None) -> Categorical:
        """Return the labels of some rows."""
        return Categorical(self.column, self.labels.at(rows))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no label."""
        return np.asarray(self.labels.codes < 0)


Control = Numeric | Categorical


@dataclass(frozen=True)
class Group:
    """What was observed in one group."""

    group: str
    utterances: int
    speakers: int | None
    words: int
    errors: int
    wer: float


@dataclass(frozen=True)
class Frame:
    """The utterances of one fit."""

    group: dict[str, Any]
    """The values of the columns that split the table."""
    errors: FloatArray
    words: FloatArray
    attribute: Labels
    speaker: Labels | None
    controls: tuple[Control, ...]
    interaction: Categorical | None
    left_out: dict[str, int] = field(default_factory=dict)
    """How many utterances were left out, by the reason."""
    prompt: Labels | None = None
    """The text of every utterance, where several speakers read the same ones."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """What was observed in every group."""
        found = []
        for code, group in enumerate(self.attribute.names):
            here = self.attribute.codes == code
            errors, words = int(self.errors[here].sum()), int(self.words[here].sum())
            people = None if self.speaker is None else len(np.unique(self.speaker.codes[here]))
            found.append(Group(group, int(here.sum()), people, words, errors, errors / words))
        return tuple(found)


@dataclass(frozen=True)
class Term:
    """A column of the design: the intercept, a control, or a group (kind `attribute`)."""

    kind: str
    column: str | None = None
    level: str | None = None

    @property
    def name(self) -> str:
        """The name as R writes it: column and level without anything between."""
        return "(Intercept)" if self.column is None else f"{self.column}{self.level or ''}"


def group_design(
    frame: Frame, attribute: str, reference: str, *, base: str | None = None
) -> tuple[tuple[Term, ...], FloatArray]:
    """Return the terms of a frame and a column for each: intercept, controls, every group but the reference.

    `base` is the reference value of the interaction column, which is held fixed like a control.
    """
    pairs = list(_columns(frame, attribute, reference, base))
    return tuple(term for term, _ in pairs), np.column_stack([column for _, column in pairs])


def _columns(
    frame: Frame, attribute: str, reference: str, base: str | None
) -> Iterator[tuple[Term, FloatArray]]:
    yield Term("intercept"), np.ones(len(frame.errors))
    for control in (*frame.controls, *([] if frame.interaction is None else [frame.interaction])):
        if isinstance(control, Numeric):
            yield Term("control", control.column), control.values
            continue
        first = base if control is frame.interaction else None
        for level, column in _dummies(control.labels, first or _base(control, frame)):
            yield Term("control", control.column, level), column
    for level, column in _dummies(frame.attribute, reference):
        yield Term("attribute", attribute, level), column


def _dummies(labels: Labels, base: str) -> list[tuple[str, FloatArray]]:
    return [
        (name, (labels.codes == code).astype(np.float64))
        for code, name in enumerate(labels.names)
        if name != base
    ]


def _base(control: Categorical, frame: Frame) -> str:
    """Return the first value with errors: against one without, every coefficient would be infinite."""
    labels = control.labels
    errors = np.bincount(labels.codes, frame.errors, len(labels.names))
    return labels.names[int((errors > 0).argmax())]
