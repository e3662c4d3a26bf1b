"""The first screen: whether the gates hold, what was found in sentences, and a card for each recognizer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from voxaudit.answer import Finding, Verdict
from voxaudit.render.document import Report, sentence_of
from voxaudit.render.escape import marked, text
from voxaudit.render.figures.svg import number, tag
from voxaudit.render.html.tables import stacked_table
from voxaudit.render.html.verdicts import badge, estimate, gate_badge, verdict_badge, verdict_icon
from voxaudit.render.numbers import MINUS, finite
from voxaudit.wording import in_points

CARDS = 12
"""Recognizers with a card; the others are in the tables."""
FIRST = 7
"""Sentences of the summary in sight, under each question."""
WHOM, OPEN = "Whom it serves worse", "What these data cannot tell"
TOPICS = ("", "How well it hears", "What breaks it", WHOM, OPEN)
"""The questions of a summary, in their order."""
_TOPIC_OF = {
    "accuracy": TOPICS[1],
    "robustness": TOPICS[2],
    "attack": TOPICS[2],
    "localize": TOPICS[2],
    "disparity": WHOM,
    "parity": WHOM,
    "differential": WHOM,
    "stutter": WHOM,
}
BRACKETS = (
    "12.3 % (10.1 to 14.9): the estimate and its 95 % interval. Speakers are the sample: with other speakers of the"
    " same kind, the estimate would mostly lie in an interval like this."
)
MEANINGS: dict[Verdict, str] = {
    "shown": "The data carry the claim, with as many questions as were asked allowed for.",
    "not_shown": "The data do not contradict that there is no difference. That is no proof that there is none.",
    "alike": "The difference is smaller than a margin that was asked for.",
    "refused": "The data lack what an answer needs; beside it stands what would help.",
    "measured": "An estimate without a claim, such as an error rate.",
}
_LOUDEST: tuple[Verdict, ...] = ("shown", "not_shown", "alike", "refused", "measured")


def badges(report: Report) -> str:
    """Return the badges under the title: gates first, then how many findings of each verdict there are."""
    found = []
    if report.gates:
        failed = sum(not gate.passed for gate in report.gates)
        count = len(report.gates)
        if failed:
            found.append(
                badge("failed", "the gate failed" if count == 1 else f"{failed} of {count} gates failed")
            )
        else:
            found.append(badge("passed", "the gate holds" if count == 1 else f"all {count} gates hold"))
    counts = Counter(finding.verdict for finding in report.findings)
    refused = counts["refused"] + sum(len(chapter.all_refusals) for chapter in report.chapters)
    for verdict, count, words in (
        ("shown", counts["shown"], "differences shown" if counts["shown"] > 1 else "difference shown"),
        ("refused", refused, "without an answer"),
    ):
        if count:
            found.append(badge(verdict, f"{count:,} {words}"))
    return f'<p class="badges">{"".join(found)}</p>' if found else ""


def summary_html(report: Report) -> str:
    """Return the summary sentences, under the questions they answer where they answer several."""
    if not report.summary:
        return ""
    topics: dict[str, list[Finding | str]] = {}
    for item in report.summary:
        topics.setdefault(_topic(item), []).append(item)
    parts = []
    for title in (topic for topic in TOPICS if topic in topics):
        items = [
            f"<li>{verdict_icon('measured' if isinstance(one, str) else one.verdict)}"
            f"{marked(sentence_of(one), 3000)}</li>"
            for one in topics[title]
        ]
        head = f"<h3>{title}</h3>" if title and len(topics) > 1 else ""
        parts.append(f"{head}<ul>{''.join(items[:FIRST])}</ul>")
        if items[FIRST:]:
            parts.append(
                f'<details class="fold"><summary>{len(items) - FIRST} more</summary>'
                f"<ul>{''.join(items[FIRST:])}</ul></details>"
            )
    return (
        '<section id="summary" aria-labelledby="summary-h"><h2 id="summary-h">Summary</h2>'
        f'<div class="summary">{"".join(parts)}</div>{_reading()}</section>'
    )


def _topic(finding: Finding | str) -> str:
    if isinstance(finding, str) or finding.audit not in _TOPIC_OF:
        return ""
    if finding.verdict == "refused":
        return OPEN
    by_group = finding.attribute is not None and finding.audit == "robustness"
    return WHOM if by_group else _TOPIC_OF[finding.audit]


def _reading() -> str:
    """Return what brackets and verdicts mean, for those who read such a report for the first time."""
    meanings = "".join(
        f"<div><dt>{verdict_badge(verdict)}</dt><dd>{words}</dd></div>" for verdict, words in MEANINGS.items()
    )
    return (
        '<details class="fold reading"><summary>How to read this</summary>'
        f'<p class="note">{BRACKETS}</p><dl class="facts">{meanings}</dl></details>'
    )


def glance_html(report: Report) -> str:
    """Return a card for each recognizer that was measured."""
    names = measured(report)
    if not names:
        return ""
    own = {name: [one for one in report.findings if one.recognizer == name] for name in names[:CARDS]}
    end = max([1.0, *(value for found in own.values() for one in _rates(found) for value in _reach(one))])
    cards = "".join(_card(name, found, min(end, 2.0), report.scenarios) for name, found in own.items())
    more = (
        "" if len(names) <= CARDS else f'<p class="note">{len(names) - CARDS} more in the tables below.</p>'
    )
    return (
        '<section id="glance" aria-labelledby="glance-h"><h2 id="glance-h">At a glance</h2>'
        f'<div class="cards">{cards}</div>{more}</section>'
    )


def measured(report: Report) -> list[str]:
    """Return the recognizers with a word error rate, which have a card; the summary says what else there is."""
    names = dict.fromkeys(one.recognizer for one in report.findings if one.recognizer)
    return [name for name in names if _rates([one for one in report.findings if one.recognizer == name])]


def _rates(findings: Sequence[Finding]) -> list[Finding]:
    """Return the word error rates on clean speech and in the worst scenario, as far as they are there."""
    rates = [
        one
        for one in findings
        if one.measure == "wer"
        and one.attribute is None
        and one.estimate is not None
        and one.scenario != "overall"  # a mean is no scenario
    ]
    clean = [one for one in rates if one.scenario in (None, "clean")][:1]
    disturbed = [one for one in rates if one.scenario not in (None, "clean")]
    return [*clean, *([max(disturbed, key=lambda one: one.estimate or 0.0)] if disturbed else [])]


def _reach(finding: Finding) -> list[float]:
    return [value for value in (finite(finding.estimate), finite(finding.high)) if value is not None]


def _card(name: str, findings: Sequence[Finding], end: float, scenarios: Mapping[str, str]) -> str:
    rates = _rates(findings)
    clean = next((one for one in rates if one.scenario in (None, "clean")), None)
    worst = next((one for one in rates if one is not clean), None)
    cost = next((one for one in findings if one.measure == "werd" and one.scenario == "overall"), None)
    # Which words get lost is a question of its own, also where it is asked by group.
    gaps = [one for one in findings if one.attribute is not None and one.audit != "localize"]
    gap = min(
        gaps,
        key=lambda one: (
            one.verdict != "shown",
            not one.headline,
            _LOUDEST.index(one.verdict),
            -_size(one),
        ),
        default=None,
    )
    big, rows = "", []
    if clean is not None:
        big = (
            f'<p class="big">{_split(estimate(clean))}<span class="what">of the words wrong on clean speech'
            " (word error rate, WER)</span></p>"
        )
    if worst is not None:
        does = _what(scenarios.get(worst.scenario or "", ""))
        rows.append(
            f'<div class="row"><dt>Worst scenario</dt><dd class="pairing"><code>{text(worst.scenario, 60)}</code>'
            f"<span>{_split(estimate(worst))}</span></dd>{does}{_meter(clean, worst, end)}</div>"
        )
    if cost is not None and cost.estimate is not None:
        points = in_points(cost.estimate, cost.low, cost.high)
        rows.append(
            '<div class="row"><dt>What disturbances add on average</dt>'
            f"<dd>{_split(points.replace('-', MINUS))}</dd></div>"
        )
    if gap is not None:
        rows.append(
            f'<div class="row"><dt>Groups of speakers</dt><dd>{verdict_badge(gap.verdict)}'
            f" {marked(gap.sentence, 400)}</dd></div>"
        )
    return (
        f'<article class="card"><h3>{text(name, 60)}</h3>{big}'
        + (f"<dl>{''.join(rows)}</dl>" if rows else "")
        + "</article>"
    )


def _what(words: str) -> str:
    # The first sentence says what it does; three dots do not end one.
    words = re.split(r"(?<!\.)\. ", words, maxsplit=1)[0].rstrip(".")
    return f'<dd class="muted does">{text(words, 160)}</dd>' if words else ""


def _meter(clean: Finding | None, worst: Finding, end: float) -> str:
    """Return two bars, clean speech above the worst scenario, with their intervals; all cards share the scale."""
    wide, thick = 300.0, 9.0
    parts = []
    for place, (one, kind) in enumerate(((clean, "m-clean"), (worst, "m-worst"))):
        value = None if one is None else finite(one.estimate)
        if one is None or value is None:
            continue
        top = place * (thick + 4)
        ends = [value if (limit := finite(side)) is None else limit for side in (one.low, one.high)]
        across = [wide * min(1.0, max(0.0, spot) / end) for spot in (value, *ends)]
        parts.append(tag("rect", "m-ground", x=0, y=top, width=wide, height=thick, rx=4.5))
        parts.append(tag("rect", kind, x=0, y=top, width=max(2.0, across[0]), height=thick, rx=4.5))
        parts.append(
            tag("line", "m-interval", x1=across[1], x2=across[2], y1=top + thick / 2, y2=top + thick / 2)
        )
    return (
        f'<dd class="meter" aria-hidden="true"><svg viewBox="0 0 {number(wide)} 22" preserveAspectRatio="none">'
        f"{''.join(parts)}</svg><span>clean</span><span>worst</span></dd>"
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


def gates_html(report: Report) -> str:
    """Return the gates as a table; one that could not be judged did not pass."""
    if not report.gates:
        return ""
    rows = [
        (f"<code>{text(gate.name, 120)}</code>", gate_badge(gate), marked(gate.sentence))
        for gate in sorted(report.gates, key=lambda gate: gate.passed)
    ]
    return (
        '<section id="gates" aria-labelledby="gates-h"><h2 id="gates-h">Gates</h2>'
        + stacked_table("Gates", ("Gate", "Result", "What was found"), rows)
        + "</section>"
    )
