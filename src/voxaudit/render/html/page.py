"""The whole page: a head that forbids everything from outside, then the report from its summary to its appendix."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from voxaudit.answer import Finding, Verdict
from voxaudit.render.document import Case, Chapter, Report, labels_of, sentence_of
from voxaudit.render.escape import Ids, asset, attribute, json_text, marked, prose, shorten, text, visible
from voxaudit.render.figures.svg import TEXTURES, number, tag
from voxaudit.render.html.parts import figure_list, note_list, refusal_list, table_list
from voxaudit.render.html.tables import stacked_table
from voxaudit.render.html.verdicts import (
    badge,
    estimate,
    finding_list,
    gate_badge,
    refused_html,
    sprite,
    verdict_badge,
    verdict_icon,
)
from voxaudit.render.numbers import MINUS, finite, shown
from voxaudit.wording import in_points

WORDS = 400
"""Words of a diff in sight."""
WORD = 80
"""Characters of a word in a diff."""
_MEDIA = re.compile(r"audio/[a-z0-9.+-]{1,40}(;\s?codecs=[a-z0-9.]{1,20})?")

LEGEND = (
    '<p class="note legend-diff">Marks: <span class="d-del"><del>said, not heard</del></span>'
    ' <span class="d-ins"><ins>heard, not said</ins></span>'
    ' <span class="d-sub"><del>said</del><ins>heard instead</ins></span></p>'
)


def case_list(cases: Sequence[Case], scenarios: Mapping[str, str]) -> str:
    """Return cards of cases, with the meaning of the marks first; `scenarios` are what they do, in words."""
    if not cases:
        return ""
    cards = (_case_card(case, scenarios.get(case.scenario, "")) for case in cases)
    return LEGEND + f'<div class="cases">{"".join(cards)}</div>'


def _case_card(case: Case, does: str) -> str:
    wer = "" if case.wer is None else f'<span class="wer"><b>{shown(case.wer, "percent")}</b> WER</span>'
    who = [("speaker", case.speaker)] if case.speaker is not None else []
    chips = "".join(
        f'<li><span class="muted">{text(name, 40)}</span> {text(value, 60)}</li>'
        for name, value in [("heard by", case.recognizer), *who, *case.attributes.items()]
    )
    heard = diff_html(case.diff) if case.diff else _said(case.heard, "nothing was heard")
    return (
        f'<article class="case"><header><h4>{text(case.scenario, 80)}</h4>{wer}'
        f'<p class="muted utterance">{text(case.utterance, 90)}{_case_does(does)}</p></header>'
        f'<ul class="chips">{chips}</ul>'
        f"<dl><dt>Reference</dt><dd>{_said(case.reference, 'no reference')}</dd>"
        f"<dt>Heard clean</dt><dd>{_said(case.clean, 'nothing was heard')}</dd>"
        f"<dt>Heard disturbed</dt><dd>{heard}</dd></dl>"
        f"{_players(case)}</article>"
    )


def _case_does(words: str) -> str:
    return f"<br>{text(words, 200)}" if words else ""


def _said(words: str | None, otherwise: str) -> str:
    return prose(words) if words else f'<span class="muted">({otherwise})</span>'


def diff_html(diff: Sequence[tuple[str, str, str]]) -> str:
    """Return an alignment as words with marks that are seen (strike, underline, signs) and read aloud."""
    words = " ".join(_word(*step) for step in diff[:WORDS])
    rest = f' <span class="muted">and {len(diff) - WORDS:,} more words</span>' if len(diff) > WORDS else ""
    return f'<p class="diff">{words}{rest}</p>'


def _word(operation: str, reference: str, heard: str) -> str:
    if operation == "deletion":
        return f'<span class="d-del">{_aloud("missed: ")}<del>{text(reference, WORD)}</del></span>'
    if operation == "insertion":
        return f'<span class="d-ins">{_aloud("added: ")}<ins>{text(heard, WORD)}</ins></span>'
    if operation == "substitution":
        return (
            f'<span class="d-sub">{_aloud("said: ")}<del>{text(reference, WORD)}</del>'
            f"{_aloud(' heard: ')}<ins>{text(heard, WORD)}</ins></span>"
        )
    return text(heard or reference, WORD)


def _aloud(words: str) -> str:
    return f'<span class="vh">{words}</span>'


def _players(case: Case) -> str:
    players = [
        _player(name, data, case)
        for name, data in (("Original", case.original), ("Disturbed", case.audio))
        if data is not None
    ]
    if not players:
        return '<p class="players note">Listen with: <code>voxaudit review RUN</code></p>'
    return f'<div class="players">{"".join(players)}</div>'


def _player(name: str, data: bytes, case: Case) -> str:
    """Return a player that decodes nothing before somebody presses play."""
    media = case.media_type if _MEDIA.fullmatch(case.media_type) else "audio/ogg"
    label = attribute(f"{name} recording of {shorten(case.utterance, 60)}, {shorten(case.scenario, 60)}")
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'<div class="player"><span aria-hidden="true">{name}</span><audio controls preload="none"'
        f' aria-label="{label}" src="data:{attribute(media)};base64,{encoded}"></audio></div>'
    )


CARDS = 12
"""Recognizers with a card; the others are in the tables."""
FIRST = 7
"""Sentences of the summary in sight, under each question."""
WHOM, OPEN = "Whom it serves worse", "What these data cannot tell"
TOPICS = ("", "How well it hears", "What breaks it", WHOM, OPEN)
"""The questions of a summary, in their order."""
_TOPIC_OF = {
    "accuracy": TOPICS[1],
    "versus": TOPICS[1],
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


def _reviewed(said: str) -> str:
    return f' <span class="note">{marked(said, 500)}</span>' if said else ""


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
            f"{marked(sentence_of(one), 3000)}{_reviewed(labels_of(one, report))}</li>"
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
    # Which words get lost and which recognizer is better are questions of their own, also where asked by group.
    gaps = [one for one in findings if one.attribute is not None and one.audit not in ("localize", "versus")]
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


MARK = (
    '<svg width="22" height="16" viewBox="0 0 22 16" aria-hidden="true"><path d="M1 6v4M5 3v10M9 0v16M13 5v6M17'
    ' 2v12M21 6v4" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></svg>'
)


def render_html(report: Report) -> str:
    """Return a report as one HTML page: it asks for nothing from anywhere, and reads and prints without scripts.

    Everything in the report is taken to be hostile: text is escaped and isolated, ids are made anew, and the
    content policy lets only the page's own style and script run.
    """
    style, script = _style(), asset("page.js")
    ids = Ids()
    named = [(ids.new("s", chapter.id), chapter) for chapter in report.chapters]
    main = [
        glance_html(report),
        summary_html(report),
        gates_html(report),
        *(_chapter(id_, chapter, ids, report.scenarios) for id_, chapter in named),
        _unanswered(named),
        _appendix(report),
    ]
    title = attribute(shorten(report.title, 200))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " img-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style><script>{script}</script></head><body>"
        f'<a class="skip" href="#main">Skip to the report</a>{sprite()}'
        f'<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false">{TEXTURES}</svg>'
        f"{_header(report)}"
        f'<div class="layout">{_contents(report, named)}<main id="main" tabindex="-1">{"".join(main)}</main></div>'
        "<footer><p>Made by voxaudit. Intervals are 95 % unless said otherwise.</p></footer></body></html>\n"
    )


def _style() -> str:
    """Return the style; the dark colors serve two rules, the reader's choice and that of the system."""
    light, dark = asset("light.css"), asset("dark.css")
    return "\n".join(
        (
            f":root {{ color-scheme: light; {light} }}",
            f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ color-scheme: dark; {dark} }} }}",
            f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}",
            asset("style.css"),
            asset("drawing.css"),
            f"@media print {{ :root:root:root {{ color-scheme: light; {light} }} }}",
        )
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _header(report: Report) -> str:
    subtitle = f'<p class="subtitle">{text(report.subtitle, 400)}</p>' if report.subtitle else ""
    return (
        f'<header class="top"><div class="inside"><div class="titles"><p class="brand">{MARK}voxaudit</p>'
        f"<h1>{text(report.title, 200)}</h1>{subtitle}{badges(report)}</div></div></header>"
    )


def _contents(report: Report, named: Sequence[tuple[str, Chapter]]) -> str:
    links = [("glance", "At a glance")] if measured(report) else []
    if report.summary:
        links.append(("summary", "Summary"))
    if report.gates:
        links.append(("gates", "Gates"))
    links += [(id_, chapter.title) for id_, chapter in named]
    if any(chapter.all_refusals for _, chapter in named):
        links.append(("unanswered", "What could not be concluded"))
    links.append(("appendix", "Appendix"))
    items = "".join(f'<li><a href="#{id_}">{text(title, 60)}</a></li>' for id_, title in links)
    return (
        '<nav class="toc" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{items}</ol></details></nav>"
    )


def _chapter(id_: str, chapter: Chapter, ids: Ids, scenarios: Mapping[str, str]) -> str:
    parts = [
        f'<section id="{id_}" aria-labelledby="{id_}--h"><h2 id="{id_}--h">{text(chapter.title, 160)}</h2>',
        *(f'<div class="lead">{marked(words)}</div>' for words in chapter.all_leads),
        finding_list(chapter.findings),
        figure_list(chapter.figures, ids),
        table_list(chapter.all_tables, chapter.figures, ids),
    ]
    if chapter.cases:
        parts.append(f"<h3>Cases to listen to</h3>{case_list(chapter.cases, scenarios)}")
    parts += [note_list(chapter.all_notes), refusal_list(chapter.all_refusals), "</section>"]
    return "".join(parts)


def _unanswered(named: Sequence[tuple[str, Chapter]]) -> str:
    """Return all refusals in one place, each with a link to where it belongs."""
    rows = [
        (text(one.about, 200), refused_html(one), f'<a href="#{id_}">{text(chapter.title, 60)}</a>')
        for id_, chapter in named
        for one in chapter.all_refusals
    ]
    if not rows:
        return ""
    return (
        '<section id="unanswered" aria-labelledby="unanswered-h"><h2 id="unanswered-h">What could not be concluded'
        '</h2><p class="lead">Where the data cannot carry an answer, none is given.</p>'
        + stacked_table(
            "What could not be concluded", ("Question", "Why, and what would enable it", "Chapter"), rows
        )
        + "</section>"
    )


def _appendix(report: Report) -> str:
    facts = "".join(
        f"<div><dt>{text(name, 120)}</dt><dd>{prose(value)}</dd></div>" for name, value in report.facts
    )
    config = ""
    if report.config:
        dumped = visible(json_text(report.config, indent=2))
        config = (
            '<details class="fold numbers"><summary>Configuration of the run</summary><pre tabindex="0" role="region"'
            f' aria-label="Configuration as JSON"><code>{text(dumped)}</code></pre></details>'
        )
    return (
        '<section id="appendix" aria-labelledby="appendix-h"><h2 id="appendix-h">Appendix</h2>'
        + (f'<dl class="facts">{facts}</dl>' if facts else "")
        + config
        + "</section>"
    )
