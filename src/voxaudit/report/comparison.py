"""A comparison of two runs as a page of its own: what got worse, what got better, what is not shown."""

from __future__ import annotations

from voxaudit.answer import Answer, Finding
from voxaudit.audits.compare import REGRESSIONS, gate
from voxaudit.audits.compare.audit import Comparison, points
from voxaudit.render.document import Chapter, GateResult, Question, Report
from voxaudit.wording import counted, percent

GATE = "no significant regression"
_MOST = 12
"""Changes on the first screen."""


def comparison_report(answer: Answer) -> Report:
    """Return the report of what `compare` answers: one chapter, and the gate that nothing got worse."""
    found = answer.detail
    assert isinstance(found, Comparison)
    before, after = answer.question["before"], answer.question["after"]
    renamed = [(old, new) for old, new in found.recognizers.items() if old != new]
    counting = answer.finding(REGRESSIONS)
    refused = counting.verdict == "refused"
    judged = GateResult(
        GATE,
        passed=None if refused else gate(answer) is None,
        sentence=counting.sentence,
        limit=0.0,
        estimate=counting.estimate,
        finding=counting.id,
        judged=not refused,
    )
    return Report(
        title="Comparison of two runs",
        subtitle=f"{after} against {before}",
        summary=(Question("", _summary(answer)),),
        chapters=(Chapter("compare", "What changed", (answer,)),),
        gates=(judged,),
        facts=(
            ("before", before),
            ("after", after),
            *((f"recognizer {new}", f"compared with {old}") for old, new in renamed),
            ("trials compared", f"{found.trials:,}"),
            ("trials only before", f"{found.only_before:,}"),
            ("trials only after", f"{found.only_after:,}"),
            ("level", f"{found.alpha:g}, two-sided, for {counted(found.judged, 'slice')} together"),
            ("margin", f"{percent(found.margin)} of the words"),
            ("visible over all trials", "-" if found.visible is None else f"from {points(found.visible)}"),
        ),
    )


def _summary(answer: Answer) -> tuple[Finding | str, ...]:
    changed = [one for one in answer.findings if one.verdict == "shown"]
    lines: list[Finding | str] = [answer.finding(REGRESSIONS), *changed[:_MOST]]
    if len(changed) > _MOST:
        lines.append(f"{len(changed) - _MOST} further slices changed; the table has them.")
    for verdict, words in (
        ("not_shown", "No change is shown in {}: each says the largest change that is not excluded."),
        ("alike", "Shown to be alike within the margin: {}."),
        ("refused", "Too few speakers to show any change: {}."),
    ):
        count = sum(one.verdict == verdict for one in answer.findings if one.id != REGRESSIONS)
        if count:
            lines.append(words.format(counted(count, "slice")))
    return tuple(lines)
