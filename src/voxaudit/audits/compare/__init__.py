"""Compare two runs of the same utterances: did it get better or worse, for whom, and is it more than noise?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.answer import Answer

REGRESSIONS = "compare/regressions"
"""The finding that counts what got worse: what a gate looks at."""


def gate(answer: Answer) -> str | None:
    """Return what got worse, in words; None where nothing is shown to."""
    found = answer.finding(REGRESSIONS)
    return found.sentence if found.estimate else None


AUDIT = Audit(
    name="compare",
    title="Two runs compared",
    summary=SUMMARIES["compare"],
    example=("runs/v1 runs/v2", {"attributes": ("gender", "accent"), "out": "runs/v1-v2"}),
    options={
        "attributes": OPTIONS["attributes"].noting("their groups are slices of their own"),
        "renamed": Option(
            "recognizers that have another name after: OLD=NEW (default: those of one name belong together)",
            "pairs",
            "OLD=NEW,...",
        ),
        "margin": OPTIONS["margin"].noting("such as 0.005; default: 0"),
        "alpha": OPTIONS["alpha"].noting("of any in the whole comparison; half of it for a false alarm"),
    },
    source="BEFORE AFTER",
    source_help="two runs of the same utterances, or two tables of scores: what there was, and what is to be judged",
    gate=gate,
    page="voxaudit.report.comparison:comparison_report",
)
