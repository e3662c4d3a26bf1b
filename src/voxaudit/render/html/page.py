"""The whole page: a head that forbids everything from outside, then the report from its summary to its appendix."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence

from voxaudit.render.document import Chapter, Report
from voxaudit.render.escape import Ids, asset, attribute, json_text, marked, prose, shorten, text, visible
from voxaudit.render.figures.svg import TEXTURES
from voxaudit.render.html.cases import case_list
from voxaudit.render.html.glance import badges, gates_html, glance_html, measured, summary_html
from voxaudit.render.html.parts import figure_list, note_list, refusal_list, table_list
from voxaudit.render.html.tables import stacked_table
from voxaudit.render.html.verdicts import finding_list, refused_html, sprite

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
