"""Head to head: which recognizer makes fewer errors on the same trials, where, for whom, and beyond chance?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: all recognizers against each other, where there are two or more."""
    if len(scores.recognizers) < 2:
        return []
    named = tuple(name for name in attributes if scores.is_comparable(name))
    return [{"attributes": named} if named else {}]


AUDIT = Audit(
    name="versus",
    title="Head to head",
    summary=SUMMARIES["versus"],
    example=("runs/first", {"attributes": ("gender", "accent")}),
    options={
        "attributes": OPTIONS["attributes"].noting("recognizers are compared for each of their groups"),
        "margin": OPTIONS["margin"].noting(
            "such as 0.005: within it recognizers are called alike; default: 0"
        ),
        "alpha": OPTIONS["alpha"].noting("of any in all comparisons together"),
        "by": OPTIONS["by"].noting("one column, such as language; alpha is shared"),
        "normalizer": OPTIONS["normalizer"].noting(
            "for tables of transcripts; default: the spoken form of each language"
        ),
    },
    source="RUN",
    several=True,
    source_help=(
        "a run's folder, a table of scores, or a table of transcripts with the columns utterance, speaker, reference,"
        " recognizer and text; then the names of two recognizers (default: all of them). Or tables: what was said"
        " (utterance, speaker, reference), then what each recognizer wrote (utterance, text)"
    ),
    questions=questions,
)
