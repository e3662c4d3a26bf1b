"""References: where most recognizers agree against what is said to have been said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: three recognizers or more, on clean speech whose words are known."""
    if len(scores.clean.recognizers) < 3:
        return []
    return [{"attributes": tuple(name for name in attributes if scores.is_comparable(name))}]


AUDIT = Audit(
    name="references",
    title="References in doubt",
    summary=SUMMARIES["references"],
    example=("runs/first", {"attributes": ("gender",)}),
    questions=questions,
    source_help="a run's folder, or a table of transcripts of three recognizers or more with their references",
    options={
        "attributes": OPTIONS["attributes"].noting("error rates before and after are shown for their groups"),
        "normalizer": OPTIONS["normalizer"].noting("default: the spoken form of each language, else basic"),
    },
)
