"""Slices: who is failed without a label? Speech that is served worse, searched in one half and confirmed in another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores

FEWEST = 8
"""Speakers that a slice has in either half at least; four times as many are needed in all."""


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: kinds of speech by what was measured and by the groups that were named."""
    people = scores.frame["speaker"].n_unique() if "speaker" in scores.frame.columns else 0
    measured = {"snr", "speaking_rate", "perplexity_bits"} & set(scores.frame.columns)
    if not measured or people < 4 * FEWEST:
        return []
    return [{"attributes": tuple(name for name in attributes if scores.is_comparable(name))}]


AUDIT = Audit(
    name="slices",
    title="Who is failed without a label",
    summary=SUMMARIES["slices"],
    example=("runs/first", {"attributes": ("gender", "accent")}),
    questions=questions,
    options={
        "attributes": OPTIONS["attributes"].noting("searched, too, and crossed with what was measured"),
        "fewest": Option(
            "slices with fewer speakers in either half are not searched", "count", "N", at_least=4
        ),
        "most": Option(
            "slices that are tested again in the other half", "count", "N", at_least=1, at_most=100
        ),
    },
)
