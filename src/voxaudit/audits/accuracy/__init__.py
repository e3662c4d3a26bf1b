"""Accuracy: error rates of recognizers, scenarios and groups, with intervals that respect speakers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import SUMMARIES, Audit

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: every recognizer in every scenario, then by each attribute with groups to compare."""
    yield {}
    for name in attributes:
        if scores.is_comparable(name):
            yield {"by": ("recognizer", "scenario", name)}


AUDIT = Audit(
    name="accuracy",
    title="Accuracy",
    summary=SUMMARIES["accuracy"],
    example=("runs/first", {"by": ("recognizer", "gender"), "scenario": "clean"}),
    questions=questions,
)
