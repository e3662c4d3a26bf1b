"""The first screen: whether the gates hold, what was found in sentences, and a card for each recognizer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from voxaudit.report.document import Document, Finding, Verdict
from voxaudit.report.html.escape import prose, text
from voxaudit.report.html.tables import stacked_table
from voxaudit.report.html.values import finite
from voxaudit.report.html.verdicts import badge, estimate, gate_badge, verdict_badge, verdict_icon

CARDS = 12
"""Recognizers with a card; the others are in the tables."""
_LOUDEST: tuple[Verdict, ...] = ("shown", "undecided", "refused", "not_shown", "measured")


def badges(document: Document) -> str:
    """Return the badges under the title: gates first, then how many findings of each verdict there are."""
    found = []
    if document.gates:
        failed = sum(not gate.passed for gate in document.gates)
        count = len(document.gates)
        if failed:
            found.append(badge("failed", f"{failed} of {count} gates failed"))
        else:
            found.append(badge("passed", "the gate holds" if count == 1 else f"all {count} gates hold"))
    counts = Counter(finding.verdict for finding in document.findings)
    refused = counts["refused"] + sum(len(section.refusals) for section in document.sections)
    for verdict, count, words in (
        ("shown", counts["shown"], "differences shown" if counts["shown"] > 1 else "difference shown"),
        ("undecided", counts["undecided"], "undecided"),
        ("refused", refused, "without an answer"),
    ):
        if count:
            found.append(badge(verdict, f"{count:,} {words}"))
    return f'<p class="badges">{"".join(found)}</p>' if found else ""


def summary_html(document: Document) -> str:
    """Return the summary sentences."""
    if not document.summary:
        return ""
    verdicts = {one.sentence: one.verdict for one in document.findings}
    items = "".join(
        f"<li>{verdict_icon(verdicts.get(sentence, 'measured'))}{prose(sentence, 3000)}</li>"
        for sentence in document.summary
    )
    return (
        '<section id="summary" aria-labelledby="summary-h"><h2 id="summary-h">Summary</h2>'
        f'<ul class="summary">{items}</ul></section>'
    )


def glance_html(document: Document) -> str:
    """Return a card for each recognizer that the findings speak of."""
    names = list(dict.fromkeys(one.recognizer for one in document.findings if one.recognizer))
    if not names:
        return ""
    cards = "".join(
        _card(name, [one for one in document.findings if one.recognizer == name]) for name in names[:CARDS]
    )
    more = (
        "" if len(names) <= CARDS else f'<p class="note">{len(names) - CARDS} more in the tables below.</p>'
    )
    return (
        '<section id="glance" aria-labelledby="glance-h"><h2 id="glance-h">At a glance</h2>'
        f'<div class="cards">{cards}</div>{more}</section>'
    )


def _card(name: str, findings: Sequence[Finding]) -> str:
    rates = [
        one for one in findings if one.measure == "wer" and one.attribute is None and one.estimate is not None
    ]
    clean = next((one for one in rates if one.scenario in (None, "clean")), None)
    disturbed = [one for one in rates if one.scenario not in (None, "clean")]
    worst = max(disturbed, key=lambda one: one.estimate or 0.0, default=None)
    # Which words get lost is a question of its own, also where it is asked by group.
    gaps = [one for one in findings if one.attribute is not None and one.measure != "words"]
    gap = min(
        gaps, key=lambda one: (_LOUDEST.index(one.verdict), not one.headline, -_size(one)), default=None
    )
    parts = []
    if clean is not None:
        parts.append(
            f'<p class="big">{_split(estimate(clean))}<span class="what">WER on clean speech</span></p>'
        )
    if worst is not None:
        parts.append(
            f'<div class="row"><dt>Worst scenario</dt><dd class="pairing"><code>{text(worst.scenario, 60)}</code>'
            f"<span>{_split(estimate(worst))}</span></dd></div>"
        )
    if gap is not None:
        parts.append(
            f'<div class="row"><dt>Groups</dt><dd>{verdict_badge(gap.verdict)} {prose(gap.sentence, 400)}</dd></div>'
        )
    if not parts:
        told = [one for one in findings if one.headline] or findings
        parts = [
            f'<div class="row"><dt>{verdict_badge(one.verdict)}</dt><dd>{prose(one.sentence, 400)}</dd></div>'
            for one in told[:3]
        ]
    big = "".join(part for part in parts if part.startswith("<p"))
    rows = "".join(part for part in parts if not part.startswith("<p"))
    return (
        f'<article class="card"><h3>{text(name, 60)}</h3>{big}'
        + (f"<dl>{rows}</dl>" if rows else "")
        + "</article>"
    )


def _size(finding: Finding) -> float:
    """Return how far a finding is from no difference; a half is as far as a double."""
    value = finite(finding.estimate)
    if value is None:
        return 0.0
    return abs(math.log(value)) if finding.unit == "ratio" and value > 0 else abs(value)


def _split(words: str) -> str:
    """Return the estimate large and its interval small."""
    value, bracket, interval = words.partition(" (")
    return f'<b class="num">{value}</b>' + (f' <span class="ci-text">({interval}</span>' if bracket else "")


def gates_html(document: Document) -> str:
    """Return the gates as a table; one that could not be judged did not pass."""
    if not document.gates:
        return ""
    rows = [
        (f"<code>{text(gate.name, 120)}</code>", gate_badge(gate), prose(gate.sentence))
        for gate in sorted(document.gates, key=lambda gate: gate.passed)
    ]
    return (
        '<section id="gates" aria-labelledby="gates-h"><h2 id="gates-h">Gates</h2>'
        + stacked_table("Gates", ("Gate", "Result", "What was found"), rows)
        + "</section>"
    )
