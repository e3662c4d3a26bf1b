"""The whole page: a head that forbids everything from outside, then the document from its summary to its appendix."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from itertools import groupby

from voxaudit.report.document import Document, Refusal, Section, Table
from voxaudit.report.html.cases import case_list
from voxaudit.report.html.escape import Ids, attribute, json_text, marked, prose, shorten, text, visible
from voxaudit.report.html.figures import figure_html, heat_limits, is_narrow_map
from voxaudit.report.html.figures.svg import TEXTURES
from voxaudit.report.html.glance import badges, gates_html, glance_html, measured, summary_html
from voxaudit.report.html.tables import FIRST_ROWS, OPEN_ROWS, folded_table, stacked_table, table_html
from voxaudit.report.html.verdicts import finding_list, refused_html, sprite

__all__ = ["render_html"]


OPEN_NOTES = 3
"""Notes of a section that all stand open."""
MARK = (
    '<svg width="22" height="16" viewBox="0 0 22 16" aria-hidden="true"><path d="M1 6v4M5 3v10M9 0v16M13 5v6M17'
    ' 2v12M21 6v4" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></svg>'
)


def render_html(document: Document) -> str:
    """Return a report as one HTML page: it asks for nothing from anywhere, and reads and prints without scripts.

    Everything in the document is taken to be hostile: text is escaped and isolated, ids are made anew, and the
    content policy lets only the page's own style and script run.
    """
    style, script = _style(), _asset("page.js")
    ids = Ids()
    named = [(ids.new("s", section.id), section) for section in document.sections]
    main = [
        glance_html(document),
        summary_html(document),
        gates_html(document),
        *(_section(id_, section, ids) for id_, section in named),
        _unanswered(named),
        _appendix(document),
    ]
    title = attribute(shorten(document.title, 200))
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
        f'<a class="skip" href="#main">Skip to the report</a>{sprite()}{TEXTURES}'
        f"{_header(document)}"
        f'<div class="layout">{_contents(document, named)}<main id="main" tabindex="-1">{"".join(main)}</main></div>'
        "<footer><p>Made by voxaudit. Intervals are 95 % unless said otherwise.</p></footer></body></html>\n"
    )


def _asset(name: str) -> str:
    return (
        files("voxaudit.report.html")
        .joinpath("assets", name)
        .read_text(encoding="utf-8")
        .replace("\r\n", "\n")
    )


def _style() -> str:
    """Return the style; the dark colours serve two rules, the reader's choice and that of the system."""
    light, dark = _asset("light.css"), _asset("dark.css")
    return "\n".join(
        (
            f":root {{ color-scheme: light; {light} }}",
            f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ color-scheme: dark; {dark} }} }}",
            f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}",
            _asset("style.css"),
            f"@media print {{ :root:root:root {{ color-scheme: light; {light} }} }}",
        )
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _header(document: Document) -> str:
    subtitle = f'<p class="subtitle">{text(document.subtitle, 400)}</p>' if document.subtitle else ""
    return (
        f'<header class="top"><div class="inside"><div class="titles"><p class="brand">{MARK}voxaudit</p>'
        f"<h1>{text(document.title, 200)}</h1>{subtitle}{badges(document)}</div></div></header>"
    )


def _contents(document: Document, named: Sequence[tuple[str, Section]]) -> str:
    links = [("glance", "At a glance")] if measured(document) else []
    if document.summary:
        links.append(("summary", "Summary"))
    if document.gates:
        links.append(("gates", "Gates"))
    links += [(id_, section.title) for id_, section in named]
    if any(section.refusals for _, section in named):
        links.append(("unanswered", "What could not be concluded"))
    links.append(("appendix", "Appendix"))
    items = "".join(f'<li><a href="#{id_}">{text(title, 60)}</a></li>' for id_, title in links)
    return (
        '<nav class="toc" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{items}</ol></details></nav>"
    )


def _section(id_: str, section: Section, ids: Ids) -> str:
    parts = [
        f'<section id="{id_}" aria-labelledby="{id_}--h"><h2 id="{id_}--h">{text(section.title, 160)}</h2>',
        *(f'<div class="lead">{marked(words)}</div>' for words in section.lead),
        finding_list(section.findings),
        *_figures(section, ids),
        *_tables(section.tables, ids),
    ]
    if section.cases:
        parts.append(f"<h3>Cases to listen to</h3>{case_list(section.cases)}")
    parts.append(_notes(section.notes))
    if section.refusals:
        parts.append(_refusals(section.refusals))
    return "".join(parts) + "</section>"


def _notes(notes: Sequence[str]) -> str:
    """Return the notes; of many, those after the first fold away."""
    said = [f'<div class="note">{marked(note)}</div>' for note in notes]
    if len(said) <= OPEN_NOTES:
        return "".join(said)
    more = f'<details class="fold"><summary>{len(said) - 1} further notes</summary>'
    return f"{said[0]}{more}{''.join(said[1:])}</details>"


def _tables(tables: Sequence[Table], ids: Ids) -> list[str]:
    """Return the tables; long ones fold away, the first only if it is very long, so that the page reads quickly."""
    return [
        folded_table(table, ids)
        if len(table.rows) > (OPEN_ROWS if place else FIRST_ROWS)
        else table_html(table, ids)
        for place, table in enumerate(tables)
    ]


def _figures(section: Section, ids: Ids) -> list[str]:
    """Return the figures; heat maps that follow each other stand side by side where there is room."""
    limits = heat_limits(section.figures)
    found = []
    for heat, members in groupby(section.figures, key=is_narrow_map):
        drawn = [figure_html(figure, ids, limits) for figure in members]
        found += [f'<div class="pair">{"".join(drawn)}</div>'] if heat and len(drawn) > 1 else drawn
    return found


def _refusals(refusals: Sequence[Refusal]) -> str:
    items = "".join(
        f"<li><b>{text(one.about, 200)}</b><div>{refused_html(one)}</div></li>" for one in refusals
    )
    return f'<aside class="refusals"><h3>Not answered here</h3><ul>{items}</ul></aside>'


def _unanswered(named: Sequence[tuple[str, Section]]) -> str:
    """Return all refusals in one place, each with a link to where it belongs."""
    rows = [
        (text(one.about, 200), refused_html(one), f'<a href="#{id_}">{text(section.title, 60)}</a>')
        for id_, section in named
        for one in section.refusals
    ]
    if not rows:
        return ""
    return (
        '<section id="unanswered" aria-labelledby="unanswered-h"><h2 id="unanswered-h">What could not be concluded'
        '</h2><p class="lead">Where the data cannot carry an answer, none is given.</p>'
        + stacked_table(
            "What could not be concluded", ("Question", "Why, and what would enable it", "Section"), rows
        )
        + "</section>"
    )


def _appendix(document: Document) -> str:
    facts = "".join(
        f"<div><dt>{text(name, 120)}</dt><dd>{prose(value)}</dd></div>" for name, value in document.facts
    )
    config = ""
    if document.config:
        dumped = visible(json_text(document.config, indent=2))
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
