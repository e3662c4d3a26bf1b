"""Figures: a drawing, its numbers in a table that folds away, and what it shows in words."""

from __future__ import annotations

from collections.abc import Mapping

from voxaudit.report.document import Bars, Curves, Figure, Forest, HeatMap
from voxaudit.report.html.escape import Ids, text
from voxaudit.report.html.figures.bars import bars_html
from voxaudit.report.html.figures.curves import curves_html
from voxaudit.report.html.figures.forest import forest_html
from voxaudit.report.html.figures.heatmap import heat_limits, heatmap_html, is_narrow
from voxaudit.report.html.tables import table_html

__all__ = ["figure_html", "heat_limits", "is_narrow_map"]


def figure_html(figure: Figure, ids: Ids, limits: Mapping[str, float]) -> str:
    """Return a figure; `limits` are the ends of the heat maps' ramps, from `heat_limits`."""
    id_ = ids.new("f", figure.id)
    return (
        f'<figure id="{id_}"><figcaption><h3>{text(figure.title, 200)}</h3>'
        f'<p class="alt">{text(figure.alt, 600)}</p></figcaption>{_drawing(figure, ids, limits)}'
        f'<details class="fold numbers"><summary>Numbers of this figure</summary>'
        f"{table_html(figure.table, ids, caption=False)}</details></figure>"
    )


def is_narrow_map(figure: Figure) -> bool:
    """Return whether a figure is a heat map that leaves room for another one beside it."""
    return isinstance(figure.drawing, HeatMap) and is_narrow(figure.drawing)


def _drawing(figure: Figure, ids: Ids, limits: Mapping[str, float]) -> str:
    match figure.drawing:
        case HeatMap():
            return heatmap_html(figure, figure.drawing, ids, limits)
        case Curves():
            return curves_html(figure, figure.drawing, ids)
        case Forest():
            return forest_html(figure, figure.drawing, ids)
        case Bars():
            return bars_html(figure, figure.drawing, ids)
