"""A figure as a file of its own: SVG with its style inside, or PNG; a notebook shows it as it is."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from voxaudit.answer import Answer, Bars, Curves, Figure, Forest, HeatMap, Points
from voxaudit.errors import VoxauditError, missing_extra
from voxaudit.render.escape import asset, visible
from voxaudit.render.figures.bars import draw_bars
from voxaudit.render.figures.curves import curves_alone
from voxaudit.render.figures.forest import draw_forest
from voxaudit.render.figures.heatmap import heat_limits, heatmap_alone
from voxaudit.render.figures.points import draw_points
from voxaudit.render.figures.svg import (
    TEXTURES,
    Picture,
    below,
    fit,
    label,
    number,
    picture,
    with_legend,
)
from voxaudit.tables import write_atomically

MARGIN = 18.0
ROOT = "voxaudit-figure"
"""The class of a picture that stands alone."""
SCALE = 2.0
"""Pixels of a PNG for each of the drawing: sharp on paper and on fine screens."""
FONTS = (
    "'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans', sans-serif"
)
"""Those that have a minus sign come first: what draws PNGs takes all of a label from another font otherwise."""


@dataclass(frozen=True)
class Plot:
    """A figure as SVG. A notebook shows it; `save` writes it."""

    svg: str

    def save(self, path: str | Path) -> Path:
        """Write the figure; the ending decides the format: `.svg`, or `.png` (extra `plot`)."""
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                content = self.svg.encode("utf-8")
            case ".png":
                content = _png(self.svg)
            case _:
                raise VoxauditError(f"{path}: a figure is written as .svg or .png")
        write_atomically(path, lambda temporary: temporary.write_bytes(content))
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Plot of {len(self.svg):,} characters; save it as .svg or .png>"


def plot(answer: Answer, id_: str | None = None, path: str | Path | None = None) -> Plot:
    """Return a figure of an answer, the first or the one called `id_`, and write it where a path is given."""
    if id_ is None:
        if not answer.figures:
            raise VoxauditError(f"this answer of {answer.audit} has no figure")
        figure = answer.figures[0]
    else:
        try:
            figure = answer.figure(id_)
        except KeyError as error:
            raise VoxauditError(str(error.args[0])) from None
    drawn = Plot(figure_svg(figure))
    if path is not None:
        drawn.save(path)
    return drawn


def figure_svg(figure: Figure) -> str:
    """Return a figure as an SVG document that needs nothing else, on a light ground."""
    drawn = _picture(figure)
    width = max(drawn.width, 320.0)
    title = fit(figure.title, width, 2, 15)
    lines = picture(width, 17.0 * len(title), [label(title, 0, 8.5 * len(title), "figure-title")])
    whole = below([lines, drawn], 14)
    wide, tall = number(width + 2 * MARGIN), number(whole.height + 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{ROOT}" viewBox="0 0 {wide} {tall}" width="{wide}"'
        f' height="{tall}" role="img" font-family="{FONTS}" font-size="12"><title>{_xml(figure.title)}</title>'
        f"<desc>{_xml(figure.alt)}</desc><style>{_style()}</style>{TEXTURES}"
        f'<rect class="ground" width="{wide}" height="{tall}"/>{whole.at(MARGIN, MARGIN)}</svg>\n'
    )


def _picture(figure: Figure) -> Picture:
    match figure.drawing:
        case HeatMap(rows=rows, columns=columns, measures=measures) as heat if rows and columns and measures:
            return heatmap_alone(heat, heat_limits([figure]))
        case Curves(panels=panels) as curves if panels:
            return curves_alone(curves)
        case Forest() as forest if drawn := draw_forest(forest):
            return with_legend(drawn.keys, drawn.wide)
        case Bars() as bars if drawn := draw_bars(bars):
            return with_legend(drawn.keys, drawn.wide)
        case Points() as points if drawn := draw_points(points):
            return with_legend(drawn.keys, drawn.wide)
    return picture(320, 20, [label(["Nothing to draw."], 0, 10, "axis")])


def _xml(value: str) -> str:
    return html.escape(visible(value))


@cache
def _style() -> str:
    """Return the style of drawings with the light colors written out: not every reader of SVG knows variables.

    Every rule is for what is inside the picture only: a notebook puts it into its own page.
    """
    light, rules = asset("light.css"), asset("drawing.css")
    colors = dict(re.findall(r"--([\w-]+):\s*([^;]+);", light))
    rules = re.sub(r"var\(--([\w-]+)\)", lambda found: colors[found[1]], re.sub(r"/\*.*?\*/", "", rules))
    return "\n".join(
        ", ".join(f".{ROOT} {one.strip().removeprefix('.drawing ')}" for one in selectors.split(","))
        + f" {{{declarations}}}"
        for selectors, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", rules)
    )


def _png(svg: str) -> bytes:
    """Return a PNG. Letters need a font of the system: without one they would be left out silently."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise missing_extra("resvg-py", "plot") from None
    test = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    letter = f'<text x="2" y="15" font-size="12" font-family="{FONTS}">M</text>'
    if svg_to_bytes(svg_string=test.format(letter)) == svg_to_bytes(svg_string=test.format("")):
        raise VoxauditError(
            "no font was found to write letters with. Install one, such as DejaVu Sans, or write .svg"
        )
    return bytes(svg_to_bytes(svg_string=svg, zoom=SCALE))
