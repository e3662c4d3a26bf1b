"""Tables: readable as they stand; the page's script adds sorting, a filter, pages and a download."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from voxaudit.answer import Column, Table
from voxaudit.render.document import VERDICT_WORDS
from voxaudit.render.escape import Ids, fold, json_text, marked, prose, text, visible
from voxaudit.render.html.verdicts import badge
from voxaudit.render.numbers import NUMERIC, cell_text, headings, real
from voxaudit.wording import counted

MOST_ROWS = 1000
"""Rows of a table that a page carries; `findings.json` and data frames have all."""
PAGE = 300
"""Rows in the page itself; of larger tables the script shows one page at a time."""
OPEN_ROWS = 20
"""Rows of a further table of a section that stands open; longer ones fold away."""
FIRST_ROWS = 60
"""Rows of the first table of a section that stands open."""
SHORT = 24
"""Characters of a text cell that stays on one line."""
CELL = 120
"""Characters of a heading or of a cell of numbers that are shown."""
FOLDED = 360
"""Characters of a text cell that stand open; what is longer folds away in its cell."""
WORDY = 80
"""Characters of a cell from which on a narrow table of texts becomes a list on a phone."""


STATUS = {
    "pass": "passed",
    "caution": "caution",
    "cannot be checked": "refused",
    "better": "passed",
    "worse": "failed",
    "tie": "not_shown",
}
"""Words of checklists and comparisons that get the shape and color of a verdict."""


def table_html(table: Table, ids: Ids, caption: bool = True, script: bool = True) -> str:
    """Return a table in a region that scrolls by itself, with its raw values as JSON beside it.

    Without `script` the values are left out: nothing on the page would read them.
    """
    id_ = ids.new("t", table.id)
    height = table.frame.height
    part = table.frame.head(MOST_ROWS if script else PAGE)
    kept = replace(table, frame=part)
    written = [
        [visible(cell_text(value, column)) for value, column in zip(row, table.columns, strict=True)]
        for row in kept.rows
    ]
    hidden = "" if caption else ' class="vh"'
    # A table that is laid out as blocks is no longer read as one: its roles are written out.
    wordy = _wordy(table.columns, written)
    kind, role, group, line = (
        (' class="stack" role="table"', ' role="columnheader"', ' role="rowgroup"', ' role="row"')
        if wordy
        else ("", "", "", "")
    )
    verdicts = part["verdict"].to_list() if "verdict" in part.columns else [None] * part.height
    body = "".join(
        _row(row, table.columns, wordy, verdict)
        for row, verdict in zip(written[:PAGE], verdicts[:PAGE], strict=True)
    )
    if not written:
        body = f'<tr><td colspan="{max(1, len(table.columns))}" class="muted">No rows.</td></tr>'
    head = "".join(
        f'<th scope="col"{role}{_numeric(column)}>{text(title, CELL)}</th>'
        for column, title in zip(table.columns, headings(table.columns), strict=True)
    )
    parts = [
        f'<div class="table" id="{id_}"{" data-table" if script else ""}>',
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{id_}--caption">',
        f'<table{kind}><caption id="{id_}--caption"{hidden}>{text(table.title, 300)}</caption>',
        f"<thead{group}><tr{line}>{head}</tr></thead><tbody{group}>{body}</tbody></table></div>",
    ]
    if script and len(written) > PAGE:
        parts.append(
            f'<p class="note" data-without-script>The first {PAGE} of {height:,} rows;'
            " the others need scripts to be on.</p>"
        )
    if height > part.height:
        where = "findings.json" if script else "<code>tables</code> of the answer"
        parts.append(f'<p class="note">The first {part.height:,} of {height:,} rows; all are in {where}.</p>')
    if table.note:
        parts.append(f'<div class="note">{marked(table.note)}</div>')
    if script:
        parts.append(f'<script type="application/json">{json_text(_data(kept, written))}</script>')
    return "".join(parts) + "</div>"


def folded_table(table: Table, ids: Ids, script: bool = True) -> str:
    """Return a table that folds away behind its title and number of rows."""
    rows = counted(table.frame.height, "row")
    inside = table_html(table, ids, caption=False, script=script)
    return fold(f"{text(table.title, 300)} ({rows})", inside, "numbers")


def stacked_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a small table of markup whose rows become blocks on a phone; the first cell of a row is its head.

    Roles are written out because a table that is laid out as blocks is no longer read as one.
    """
    head = "".join(f'<th scope="col" role="columnheader">{one}</th>' for one in heads)
    body = "".join(
        f'<tr role="row"><th scope="row" role="rowheader">{first}</th>'
        + "".join(f'<td role="cell">{one}</td>' for one in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="table"><div class="scroll" tabindex="0" role="region" aria-label="{title}, table">'
        f'<table class="stack" role="table"><caption class="vh">{title}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div></div>'
    )


def _data(table: Table, written: list[list[str]]) -> dict[str, Any]:
    """Return what the script needs: raw values to sort and download and, of large tables only, texts to show.

    `columns` says of each that is shown by which value of a row it is sorted, and whether that is a number.
    """
    names = table.frame.columns
    data: dict[str, Any] = {
        "file": table.id,
        "names": names,
        "columns": [[names.index(column.name), column.kind in NUMERIC] for column in table.columns],
        "rows": list(zip(*(_raw(column) for column in table.frame.fill_nan(None)), strict=True)),
    }
    if len(written) > PAGE:
        data["shown"] = written
    return data


def _raw(column: pl.Series) -> list[Any]:
    """Return values as JSON holds them: those of columns that hold no single numbers or texts one by one."""
    values = column.to_list()
    kind = column.dtype
    return values if kind.is_integer() or kind.is_float() or kind == pl.String else list(map(_plain, values))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    number = real(value)
    return number if number is not None or isinstance(value, float) else str(value)


def _numeric(column: Column) -> str:
    return ' class="n"' if column.kind in NUMERIC else ""


def _wordy(columns: Sequence[Column], written: Sequence[Sequence[str]]) -> bool:
    """Return whether a table is a list of texts, some of them long: on a phone its rows become blocks."""
    return (
        len(columns) <= 4
        and all(column.kind == "text" for column in columns)
        and len(written) <= PAGE
        and any(len(value) > WORDY for row in written for value in row)
    )


def _row(written: list[str], columns: tuple[Column, ...], wordy: bool, verdict: Any) -> str:
    cells = []
    roles = (' role="rowheader"', ' role="cell"', ' role="row"') if wordy else ("", "", "")
    # A group that does better than another has passed nothing: only slices of a comparison get better or worse.
    badged = "verdict" if any(column.name == "slice" for column in columns) else "status"
    for place, (value, column) in enumerate(zip(written, columns, strict=True)):
        plain = column.kind in NUMERIC and len(value) <= CELL
        words = marked if wordy else prose  # what people said keeps its backticks
        inside = html.escape(value) if plain else words(value, FOLDED)
        if column.name == badged and value in STATUS:
            inside = badge(STATUS[value], value)
        elif column.name == "verdict" and verdict in VERDICT_WORDS:
            inside = badge(verdict, value)
        kind = _numeric(column) or (' class="s"' if len(value) <= SHORT else "")
        if place == 0 and column.kind == "text":
            cells.append(f'<th scope="row"{roles[0]}{kind}>{inside}</th>')
        else:
            cells.append(f"<td{roles[1]}{kind}>{inside}</td>")
    return f"<tr{roles[2]}>{''.join(cells)}</tr>"
