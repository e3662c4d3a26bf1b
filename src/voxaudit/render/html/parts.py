"""What a chapter of the page and an answer in a notebook have in common: figures, tables, notes and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from voxaudit.answer import Bars, Curves, Figure, Forest, HeatMap, Note, Points, Refusal, Table
from voxaudit.render.escape import Ids, fold, marked, text
from voxaudit.render.figures.bars import draw_bars
from voxaudit.render.figures.curves import curves_html
from voxaudit.render.figures.forest import draw_forest
from voxaudit.render.figures.heatmap import heat_limits, heatmap_html, is_narrow
from voxaudit.render.figures.points import draw_points
from voxaudit.render.figures.svg import on_page
from voxaudit.render.html.tables import FIRST_ROWS, OPEN_ROWS, folded_table, table_html
from voxaudit.render.html.verdicts import refused_html
from voxaudit.wording import counted

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
