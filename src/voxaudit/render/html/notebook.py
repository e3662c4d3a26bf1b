"""An answer in a notebook: a piece of HTML that brings its style, needs no script and leaves the page alone."""

from __future__ import annotations

import hashlib
import re

from voxaudit.answer import Answer
from voxaudit.render.document import figures_of
from voxaudit.render.escape import Ids, asset, marked, text
from voxaudit.render.figures.svg import TEXTURES
from voxaudit.render.html.parts import figure_list, note_list, refusal_list, table_list
from voxaudit.render.html.verdicts import finding_list, sprite


def answer_html(answer: Answer) -> str:
    """Return an answer as the report would show it, on a light ground whatever the notebook's is.

    Everything in it is taken to be hostile: text is escaped and isolated, ids are made anew.
    """
    # Answers of one notebook share a page: the ids of each begin with a sign of what was asked.
    asked = f"{answer.audit}\n{answer.title}\n{answer.question!r}".encode("utf-8", "replace")
    ids = Ids(f"a{hashlib.sha256(asked).hexdigest()[:8]}-")
    figures = figures_of(answer)
    return (
        f'<div class="voxaudit"><style>{_style()}</style>{sprite()}'
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


def _style() -> str:
    """Return the page's style, for what is inside an answer only."""
    rules = re.sub(r"/\*.*?\*/\s*", "", asset("style.css") + asset("drawing.css"), flags=re.DOTALL)
    return (
        f".voxaudit {{ color-scheme: light; {asset('light.css')}"
        " background: var(--card); color: var(--ink); padding: 1rem; overflow-wrap: anywhere;"
        ' font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;\n'
        f"{rules}}}"
    )
