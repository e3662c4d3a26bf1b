"""The whole page: a head that forbids everything from outside, then the report from its summary to its appendix."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from voxaudit.answer import (
    Answer,
    Bars,
    Curves,
    Figure,
    Forest,
    HeatMap,
    Note,
    Points,
    Refusal,
    Table,
    Verdict,
)
from voxaudit.render.document import Case, Chapter, Question, Report, figures_of, labels_of, sentence_of
from voxaudit.render.escape import (
    Ids,
    asset,
    attribute,
    fold,
    json_text,
    marked,
    prose,
    shorten,
    text,
    themes,
    visible,
)
from voxaudit.render.figures.bars import draw_bars
from voxaudit.render.figures.curves import curves_html
from voxaudit.render.figures.forest import draw_forest
from voxaudit.render.figures.heatmap import heat_limits, heatmap_html, is_narrow
from voxaudit.render.figures.points import draw_points
from voxaudit.render.figures.svg import TEXTURES, on_page
from voxaudit.render.html.tables import FIRST_ROWS, OPEN_ROWS, folded_table, stacked_table, table_html
from voxaudit.render.html.verdicts import (
    badge,
    finding_list,
    gate_badge,
    refused_html,
    reviewed,
    sprite,
    verdict_badge,
    verdict_icon,
)
from voxaudit.render.numbers import shown
from voxaudit.wording import counted

WORDS = 400
"""Words of a diff in sight."""
WORD = 80
"""Characters of a word in a diff."""
_MEDIA = re.compile(r"audio/[a-z0-9.+-]{1,40}(;\s?codecs=[a-z0-9.]{1,20})?")

Links = Mapping[str, tuple[str, str]]
"""Where each chapter that is drawn stands on the page, and its title, by its id."""

LEGEND = (
    '<p class="note legend-diff">Marks: <span class="d-del"><del>said, not heard</del></span>'
    ' <span class="d-ins"><ins>heard, not said</ins></span>'
    ' <span class="d-sub"><del>said</del><ins>heard instead</ins></span></p>'
)


def case_list(cases: Sequence[Case], scenarios: Mapping[str, str]) -> str:
    """Return cards of cases; `scenarios` are what they do, in words."""
    cards = (_case_card(case, scenarios.get(case.scenario, "")) for case in cases)
    return f'<div class="cases">{"".join(cards)}</div>'


def _case_card(case: Case, does: str) -> str:
    wer = "" if case.wer is None else f'<span class="wer"><b>{shown(case.wer, "percent")}</b> WER</span>'
    who = [("speaker", case.speaker)] if case.speaker is not None else []
    chips = "".join(
        f'<li><span class="muted">{text(name, 40)}</span> {text(value, 60)}</li>'
        for name, value in [("heard by", case.recognizer), *who, *case.attributes.items()]
    )
    heard = diff_html(case.diff) if case.diff else _said(case.heard, "nothing was heard")
    title = "; ".join(case.events) or case.scenario
    surface = f"<dt>Said</dt><dd>{prose(case.surface)}</dd>" if case.surface else ""
    return (
        f'<article class="case"><header><h3>{text(title, 200 if case.marks else 80)}</h3>{wer}'
        f'<p class="muted utterance">{text(case.utterance, 90)}{does and f"<br>{text(does, 200)}"}</p></header>'
        f'<ul class="chips">{chips}</ul>'
        f"<dl><dt>{'Meant' if case.marks else 'Reference'}</dt><dd>{_said(case.reference, 'no reference')}</dd>"
        f"{surface}<dt>Heard clean</dt><dd>{_said(case.clean, 'nothing was heard')}</dd>"
        f"<dt>Heard {_changed(case).lower()}</dt><dd>{heard}</dd></dl>"
        f"{_players(case)}</article>"
    )


def _changed(case: Case) -> str:
    return "Stuttered" if case.marks else "Disturbed"


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
        for name, data in (("Original", case.original), (_changed(case), case.audio))
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
    bars = "".join(
        f'<rect x="{100 * first:.1f}" width="{max(100 * (last - first), 0.5):.1f}" height="6"><title>{text(what, 90)}'
        "</title></rect>"
        for first, last, what in case.marks
        if data is case.audio
    )
    where = (
        f'<svg class="marks" aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">{bars}</svg>'
        if bars
        else ""
    )
    return (
        f'<div class="player"><span aria-hidden="true">{name}</span><audio controls preload="none"'
        f' aria-label="{label}" src="data:{attribute(media)};base64,{encoded}"></audio>{where}</div>'
    )


UNANSWERED = "What could not be concluded"
FIRST_CASES = 2
"""Cases in sight; the others fold away."""
BRACKETS = (
    "12.3 % (10.1 to 14.9): the estimate and its 95 % interval. Speakers are the sample: with other speakers of the"
    " same kind, the estimate would mostly lie in an interval like this."
)
MEANINGS: dict[Verdict, str] = {
    "shown": "The data carry the claim, with as many questions as were asked allowed for.",
    "not_shown": "The data are compatible with no difference, which does not prove that there is none.",
    "alike": "The difference is smaller than a margin that was asked for.",
    "refused": "The data lack what an answer needs; what would help is said next to it.",
    "measured": "An estimate without a claim, such as an error rate.",
}


def badges(report: Report) -> str:
    """Return the badges under the title: gates first, then how many findings of each verdict there are."""
    found = []
    outcomes, count = Counter(gate.outcome for gate in report.gates), len(report.gates)
    if failed := outcomes["FAIL"]:
        found.append(
            badge("failed", "the gate failed" if count == 1 else f"{failed} of {count} gates failed")
        )
    elif passed := outcomes["pass"]:
        some = f"{passed} of {count}" if passed < count else f"all {count}"
        found.append(badge("passed", "the gate holds" if count == 1 else f"{some} gates hold"))
    if left := outcomes["not judged"]:
        found.append(badge("refused", "the gate is not judged" if count == 1 else f"{left} not judged"))
    counts = Counter(finding.verdict for finding in report.findings)
    refused = counts["refused"] + sum(len(chapter.all_refusals) for chapter in report.chapters)
    for verdict, count, words in (
        ("shown", counts["shown"], "differences shown" if counts["shown"] > 1 else "difference shown"),
        ("refused", refused, "without an answer"),
    ):
        if count:
            found.append(badge(verdict, f"{count:,} {words}"))
    return f'<p class="badges">{"".join(found)}</p>' if found else ""


def summary_html(report: Report, links: Links) -> str:
    """Return the first screen: questions, their answers, and where more is said."""
    if not report.summary:
        return ""
    questions = "".join(_question(one, report, links) for one in report.summary)
    return _section("summary", "Summary", f'<div class="summary">{questions}</div>{_reading()}')


def _question(question: Question, report: Report, links: Links) -> str:
    items = [
        f"<li>{verdict_icon('measured' if isinstance(one, str) else one.verdict)}"
        f"{marked(sentence_of(one), 3000)}{reviewed(labels_of(one, report))}</li>"
        for one in question.answers
    ]
    answers = f"<ul>{''.join(items[: question.first])}</ul>"
    if more := items[len(items) if question.first is None else question.first :]:
        answers += fold(f"{len(more):,} more", f"<ul>{''.join(more)}</ul>")
    if not question.title:
        return answers
    there = [links[id_] for id_ in question.chapters if id_ in links]
    more_in = ", ".join(f'<a href="#{id_}">{text(title, 60)}</a>' for id_, title in there)
    return (
        f'<div class="question"><div><h3>{text(question.title, 160)}</h3>'
        + (f'<p class="note">{more_in}</p>' if more_in else "")
        + f"</div><div>{answers}</div></div>"
    )


def _reading() -> str:
    """Return what brackets and verdicts mean, for those who read such a report for the first time."""
    meanings = "".join(
        f"<div><dt>{verdict_badge(verdict)}</dt><dd>{words}</dd></div>" for verdict, words in MEANINGS.items()
    )
    words = f'<p class="note">{BRACKETS}</p><dl class="facts">{meanings}</dl>'
    return fold("How to read this", words, "reading")


def gates_html(report: Report) -> str:
    """Return the gates as a table: what failed first, then what could not be judged."""
    if not report.gates:
        return ""
    rows = [
        (f"<code>{text(gate.name, 120)}</code>", gate_badge(gate), marked(gate.sentence))
        for gate in sorted(report.gates, key=lambda gate: (gate.passed is not False, gate.judged))
    ]
    table = stacked_table("Gates", ("Gate", "Result", "What was found"), rows)
    return _section("gates", "Gates", table)


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
    # A chapter that answers nothing is a line of what could not be concluded.
    drawn = [(ids.new("s", one.id), one) for one in report.chapters if one.answers or one.tables or one.cases]
    links = {chapter.id: (id_, chapter.title) for id_, chapter in drawn}
    main = [
        summary_html(report, links),
        gates_html(report),
        *(_chapter(id_, chapter, ids, report) for id_, chapter in drawn),
        _unanswered(report, links),
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
        f'<div class="layout">{_contents(report, links)}<main id="main" tabindex="-1">{"".join(main)}</main></div>'
        "<footer><p>Made by voxaudit. Intervals are 95 % unless said otherwise.</p></footer></body></html>\n"
    )


def _style() -> str:
    printed = f"@media print {{ :root:root:root {{ color-scheme: light; {asset('light.css')} }} }}"
    return themes() + "\n".join((asset("style.css"), asset("drawing.css"), printed))


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _header(report: Report) -> str:
    subtitle = f'<p class="subtitle">{text(report.subtitle, 400)}</p>' if report.subtitle else ""
    return (
        f'<header class="top"><div class="inside"><div class="titles"><p class="brand">{MARK}voxaudit</p>'
        f"<h1>{text(report.title, 200)}</h1>{subtitle}{badges(report)}</div></div></header>"
    )


def _contents(report: Report, chapters: Links) -> str:
    links = [("summary", "Summary")] if report.summary else []
    if report.gates:
        links.append(("gates", "Gates"))
    links += chapters.values()
    if any(chapter.all_refusals for chapter in report.chapters):
        links.append(("unanswered", UNANSWERED))
    links.append(("appendix", "Appendix"))
    items = "".join(f'<li><a href="#{id_}">{text(title, 60)}</a></li>' for id_, title in links)
    return (
        '<nav class="toc" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{items}</ol></details></nav>"
    )


def _chapter(id_: str, chapter: Chapter, ids: Ids, report: Report) -> str:
    """Return a chapter: claims, a figure and a short table in sight, and behind folds how to read it and the rest."""
    refused = len(chapter.all_refusals)
    unanswered = (
        f'<p class="note"><a href="#unanswered">{counted(refused, "question")} without an answer</a></p>'
        if refused
        else ""
    )
    return (
        f'<section id="{id_}" aria-labelledby="{id_}--h"><h2 id="{id_}--h">{text(chapter.title, 160)}</h2>'
        + finding_list(chapter.findings, 4, report.labels)
        + figure_list(chapter.figures, ids, folded=True)
        + table_list(chapter.all_tables, chapter.figures, ids, folded=True)
        + _cases(chapter.cases, report.scenarios)
        + _method(chapter)
        + unanswered
        + "</section>"
    )


def _cases(cases: Sequence[Case], scenarios: Mapping[str, str]) -> str:
    if not cases:
        return ""
    first, rest = (case_list(part, scenarios) for part in (cases[:FIRST_CASES], cases[FIRST_CASES:]))
    more = fold(counted(len(cases) - FIRST_CASES, "more case"), rest) if len(cases) > FIRST_CASES else ""
    return LEGEND + first + more


def _method(chapter: Chapter) -> str:
    """Return how to read a chapter, folded away: its words and its notes."""
    words = [f'<div class="lead">{marked(one)}</div>' for one in chapter.all_leads]
    words += [f'<div class="note">{marked(str(note))}</div>' for note in chapter.all_notes]
    return fold("How to read this chapter", "".join(words))


def _unanswered(report: Report, links: Links) -> str:
    """Return all refusals in one place, each once, with links to where it belongs."""
    why: dict[tuple[str, str], str] = {}
    where: dict[tuple[str, str], list[str]] = {}
    for chapter in report.chapters:
        id_, title = links.get(chapter.id, ("", chapter.title))
        place = f'<a href="#{id_}">{text(title, 60)}</a>' if id_ else text(title, 60)
        for one in chapter.all_refusals:
            why.setdefault((one.about, one.text), refused_html(one))
            where.setdefault((one.about, one.text), []).append(place)
    rows = [(text(key[0], 200), said, ", ".join(where[key])) for key, said in why.items()]
    if not rows:
        return ""
    lead = '<p class="lead">Where the data cannot carry an answer, none is given.</p>'
    table = stacked_table(UNANSWERED, ("Question", "Why, and what would enable it", "Chapter"), rows)
    return _section("unanswered", UNANSWERED, lead + table)


def _appendix(report: Report) -> str:
    facts = "".join(
        f"<div><dt>{text(name, 120)}</dt><dd>{prose(value)}</dd></div>" for name, value in report.facts
    )
    config = ""
    if report.config:
        dumped = visible(json_text(report.config, indent=2))
        config = (
            '<pre tabindex="0" role="region" aria-label="Configuration as JSON">'
            f"<code>{text(dumped)}</code></pre>"
        )
    about = fold("Facts about the run", facts and f'<dl class="facts">{facts}</dl>', "numbers")
    return _section("appendix", "Appendix", about + fold("Configuration of the run", config, "numbers"))


def _section(id_: str, title: str, inside: str) -> str:
    return f'<section id="{id_}" aria-labelledby="{id_}-h"><h2 id="{id_}-h">{title}</h2>{inside}</section>'


# What chapters and an answer in a notebook have in common: figures, tables, notes and refusals.


SHORT_ROWS = 6
"""Rows of a table that stands in sight where the others fold away."""
OPEN_NOTES = 3
"""Notes of a chapter that all stand open."""

Drawn = Sequence[tuple[Figure, Table]]
"""Figures, each with the table that holds its numbers."""


def figure_list(figures: Drawn, ids: Ids, script: bool = True, folded: bool = False) -> str:
    """Return the figures; heat maps that follow each other stand side by side where there is room.

    A table that several figures show is under the first; the others lead there. With `folded`, all but the first figure
    (or pair of maps) fold away.
    """
    limits = heat_limits([figure for figure, _ in figures])
    places: dict[int, str] = {}
    found = []
    for heat, members in groupby(figures, key=lambda pair: _is_narrow_map(pair[0])):
        drawn = [_figure(figure, table, ids, limits, places, script) for figure, table in members]
        found += [f'<div class="pair">{"".join(drawn)}</div>'] if heat and len(drawn) > 1 else drawn
    if not folded or len(found) < 2:
        return "".join(found)
    return found[0] + fold(counted(len(found) - 1, "more figure"), "".join(found[1:]))


def _figure(
    figure: Figure, table: Table, ids: Ids, limits: Mapping[str, float], places: dict[int, str], script: bool
) -> str:
    id_ = ids.new("f", figure.id)
    if id(table) in places:
        numbers = f'<p class="note">Numbers: <a href="#{places[id(table)]}">{text(table.title, 200)}</a></p>'
    else:
        places[id(table)] = f"{id_}--n"
        inside = table_html(table, ids, caption=False, script=script)
        numbers = fold("Numbers of this figure", inside, "numbers", places[id(table)])
    return (
        f'<figure id="{id_}"><figcaption><h3>{text(figure.title, 200)}</h3>'
        f'<p class="alt">{text(figure.alt, 600)}</p></figcaption>{_drawing(figure, ids, limits)}{numbers}</figure>'
    )


def _is_narrow_map(figure: Figure) -> bool:
    """Return whether a figure is a heat map that leaves room for another one beside it."""
    return isinstance(figure.drawing, HeatMap) and is_narrow(figure.drawing)


def _drawing(figure: Figure, ids: Ids, limits: Mapping[str, float]) -> str:
    match figure.drawing:
        case HeatMap():
            return heatmap_html(figure, figure.drawing, ids, limits)
        case Curves():
            return curves_html(figure, figure.drawing, ids)
        case Forest():
            return on_page(figure, draw_forest(figure.drawing), ids)
        case Bars():
            return on_page(figure, draw_bars(figure.drawing), ids)
        case Points():
            return on_page(figure, draw_points(figure.drawing), ids)


def table_list(
    tables: Sequence[Table], figures: Drawn, ids: Ids, script: bool = True, folded: bool = False
) -> str:
    """Return the tables that no figure holds; long ones fold away, the first only if it is very long.

    With `folded` they fold away together, but for one short table where there is no figure to see.
    """
    drawn = {id(table) for _, table in figures}
    left = [table for table in tables if id(table) not in drawn]
    if folded:
        short = (one for one in left if not one.folded and one.frame.height <= SHORT_ROWS)
        first = None if figures else next(short, None)
        rest = "".join(folded_table(one, ids, script) for one in left if one is not first)
        count = counted(len(left) - (first is not None), "more table" if first or figures else "table")
        shown = table_html(first, ids, script=script) if first is not None else ""
        return shown + fold(count, rest, "numbers")
    return "".join(
        folded_table(table, ids, script)
        if table.folded or table.frame.height > (OPEN_ROWS if place else FIRST_ROWS)
        else table_html(table, ids, script=script)
        for place, table in enumerate(left)
    )


def note_list(notes: Sequence[Note]) -> str:
    """Return the notes; of many, those after the first fold away."""
    said = [f'<div class="note">{marked(str(note))}</div>' for note in notes]
    if len(said) <= OPEN_NOTES:
        return "".join(said)
    return said[0] + fold(f"{len(said) - 1} further notes", "".join(said[1:]))


def refusal_list(refusals: Sequence[Refusal]) -> str:
    """Return what was not answered, why, and what would enable it."""
    if not refusals:
        return ""
    items = "".join(
        f"<li><b>{text(one.about, 200)}</b><div>{refused_html(one)}</div></li>" for one in refusals
    )
    return f'<aside class="refusals"><h3>Not answered here</h3><ul>{items}</ul></aside>'


# An answer in a notebook: a piece of HTML that brings its style, needs no script and leaves the page alone.


def answer_html(answer: Answer) -> str:
    """Return an answer as the report would show it, on a light ground whatever the notebook's is.

    Everything in it is taken to be hostile: text is escaped and isolated, ids are made anew.
    """
    # Answers of one notebook share a page: the ids of each begin with a sign of what was asked.
    asked = f"{answer.audit}\n{answer.title}\n{answer.question!r}".encode("utf-8", "replace")
    ids = Ids(f"a{hashlib.sha256(asked).hexdigest()[:8]}-")
    figures = figures_of(answer)
    return (
        f'<div class="voxaudit"><style>{_notebook_style()}</style>{sprite()}'
        f'<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false">{TEXTURES}</svg>'
        f"<h2>{text(answer.title, 200)}</h2>"
        + (f'<div class="lead">{marked(answer.lead)}</div>' if answer.lead else "")
        + finding_list(answer.findings)
        + figure_list(figures, ids, script=False)
        + table_list(answer.tables.shown, figures, ids, script=False)
        + note_list(answer.notes)
        + refusal_list(answer.refusals)
        + "</div>"
    )


def _notebook_style() -> str:
    """Return the page's style, for what is inside an answer only."""
    rules = re.sub(r"/\*.*?\*/\s*", "", asset("style.css") + asset("drawing.css"), flags=re.DOTALL)
    return (
        f".voxaudit {{ color-scheme: light; {asset('light.css')}"
        " background: var(--card); color: var(--ink); padding: 1rem; overflow-wrap: anywhere;"
        ' font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;\n'
        f"{rules}}}"
    )
