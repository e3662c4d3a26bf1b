"""Heat maps: one block per category, a number in every cell, a switch between measures that needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from voxaudit.answer import Cell, Figure, HeatMap, Kind
from voxaudit.render.escape import Ids, attribute, shorten, text, visible
from voxaudit.render.figures.svg import (
    Picture,
    below,
    beside,
    drawing,
    fit,
    label,
    legend_picture,
    number,
    picture,
    scrolling,
    tag,
    tick_text,
    width_of,
)
from voxaudit.render.numbers import MINUS, finite, with_interval

STEPS = 11
ROW, GAP, LEAST = 24.0, 2.0, 350.0
NARROW = 430.0
"""Blocks up to this many pixels stand beside each other."""
SWITCH = 8
"""Measures that a switch has places for."""


def heat_limits(figures: Iterable[Figure]) -> dict[str, float]:
    """Return where the ramp ends for each measure, the same for all heat maps of a section so that they compare."""
    limits: dict[str, float] = {}
    for figure in figures:
        if isinstance(figure.drawing, HeatMap):
            for measure, rows in figure.drawing.cells.items():
                found = [
                    value for row in rows for cell in row if cell if (value := finite(cell.value)) is not None
                ]
                limits[measure] = max(limits.get(measure, 0.0), *found, 0.0)
    # A round end of the ramp; what lies a little beyond it shares its last color.
    ends = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
    return {name: next((end for end in ends if limit <= 1.3 * end), 5.0) for name, limit in limits.items()}


def heatmap_html(figure: Figure, heat: HeatMap, ids: Ids, limits: Mapping[str, float]) -> str:
    """Return a heat map with a radio button for each measure."""
    measures = list(heat.measures.items())[:SWITCH]
    if not heat.rows or not heat.columns or not measures:
        return '<p class="muted">Nothing to draw.</p>'
    base = ids.new("h", figure.id)
    switch = [f'<div class="switch" role="radiogroup" aria-label="{attribute("Measure")}">']
    panels = []
    for place, (measure, name) in enumerate(measures):
        end = limits.get(measure, 1.0)
        if len(measures) > 1:
            checked = " checked" if place == 0 else ""
            switch.append(
                f'<label><input type="radio" class="m{place}" name="{base}"{checked}> {text(name, 60)}</label>'
            )
        blocks = "".join(_blocks(figure, heat, measure, name, end, ids))
        panels.append(f'<div class="panel p{place}">{_legend(end, measure)}{blocks}</div>')
    choice = "".join(switch) + "</div>" if len(measures) > 1 else ""
    return f'<div class="heat">{choice}{"".join(panels)}</div>'


def _kind(measure: str) -> Kind:
    """Return how a measure is written: a rate in percent, all others are differences of rates, in points."""
    return "percent" if measure == "wer" else "points"


def heatmap_alone(heat: HeatMap, limits: Mapping[str, float]) -> Picture:
    """Return a heat map as a picture that stands alone, its measures beside or below each other."""
    measures = list(heat.measures.items())[:SWITCH]
    panels = []
    for measure, name in measures:
        end = limits.get(measure, 1.0)
        parts = [_line(name, "panel-title")] if len(measures) > 1 else []
        keys = [_KEYS[0]] if _below_clean(heat, measure) else []
        unit = picture(LEAST, 16, [label([_unit(measure)], 0, 8, "axis")])
        parts += [unit, _ramp(end, measure), legend_picture([*keys, _KEYS[1]], LEAST)]
        for category, rows in _categories(heat):
            parts += [_line(category, "panel-title")] if category else []
            parts.append(_block(heat, measure, rows, end))
        panels.append(below(parts, 6))
    return beside(panels, len(panels) if is_narrow(heat) else 1, 28)


def _line(words: str, cls: str) -> Picture:
    return picture(LEAST, 18, [label(fit(words, LEAST, 1), 0, 9, cls)])


def _below_clean(heat: HeatMap, measure: str) -> bool:
    """Return whether a cell has the shade of what is better than clean speech."""
    return any(
        value < -0.0005
        for row in heat.cells.get(measure, ())
        for cell in row
        if cell is not None and (value := finite(cell.value)) is not None
    )


_KEYS = (
    ('<rect class="qn" width="14" height="12"/>', "better than clean"),
    ('<rect class="q-none" x="0.5" y="0.5" width="13" height="11"/>', "not heard"),
)


def _unit(measure: str) -> str:
    return "of the words are wrong" if _kind(measure) == "percent" else "percentage points"


def _ramp(end: float, measure: str) -> Picture:
    step = 16.0
    percent = _kind(measure) == "percent"
    ramp = [tag("rect", f"q{place}", x=place * step, y=0, width=step, height=10) for place in range(STEPS)]
    width = STEPS * step
    ticks = [
        label(
            [tick_text(end * share if percent else 100 * end * share, percent)],
            width * share,
            20,
            "tick",
            anchor,
        )
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    ]
    return picture(width, 28, ramp + ticks)


def _legend(end: float, measure: str) -> str:
    ramp = _ramp(end, measure)
    keys = "".join(
        f'<span class="key"><svg width="14" height="12">{shape}</svg>{words}</span>' for shape, words in _KEYS
    )
    return (
        f'<div class="ramp" aria-hidden="true"><svg width="{number(ramp.width)}" height="{number(ramp.height)}">'
        f'{ramp.body}</svg><span class="unit">{_unit(measure)}</span>{keys}</div>'
    )


def _columns(heat: HeatMap) -> tuple[float, float]:
    """Return how wide the labels of the rows and the columns are; a block is at least `LEAST` wide in all."""
    count = max(1, len(heat.columns))
    label_ = min(160.0, max([64.0, *(width_of(visible(one)[:40]) + 14 for one in heat.rows)]))
    named = max([0.0, *(width_of(visible(one)[:40]) + 10 for one in heat.columns)])
    column = max(40.0, min(64.0, (LEAST - label_) / count), min(104.0, named))
    return max(label_, LEAST - column * count), column


def is_narrow(heat: HeatMap) -> bool:
    """Return whether the blocks of a heat map fit beside each other."""
    label_, column = _columns(heat)
    return label_ + column * len(heat.columns) <= NARROW


def _categories(heat: HeatMap) -> Iterable[tuple[str, list[int]]]:
    """Yield the categories with the numbers of their rows."""
    groups = [*heat.row_groups, *[""] * len(heat.rows)][: len(heat.rows)]
    for category, members in groupby(range(len(heat.rows)), key=lambda row: groups[row]):
        yield category, list(members)


def _blocks(figure: Figure, heat: HeatMap, measure: str, name: str, end: float, ids: Ids) -> Iterable[str]:
    narrow = is_narrow(heat)
    yield f'<div class="blocks {"narrow" if narrow else "broad"}">'
    for category, rows in _categories(heat):
        id_ = ids.new("g", f"{figure.id}-{measure}-{category}")
        about = f"{shorten(name, 80)}: {shorten(category or figure.title, 80)}"
        drawn = drawing(_block(heat, measure, rows, end), id_, about, figure.alt)
        title = f'<p class="category">{text(category, 80)}</p>' if category else ""
        yield f'<div class="block">{title}{drawn if narrow else scrolling(id_, drawn)}</div>'
    yield "</div>"


def _block(heat: HeatMap, measure: str, rows: Sequence[int], end: float) -> Picture:
    left, column = _columns(heat)
    head = 10 + 14.0 * max(len(fit(one, column - 6, 3)) for one in heat.columns)
    body = [
        label(fit(one, column - 6, 3), left + column * (place + 0.5), head / 2, "tick", "middle", one)
        for place, one in enumerate(heat.columns)
    ]
    if heat.x_title:
        body.append(label(fit(heat.x_title, left - 10, 1), left - 8, head / 2, "tick", "end"))
    for place, row in enumerate(rows):
        body += _row(heat, measure, row, head + ROW * place, left, column, end)
    return picture(left + column * len(heat.columns), head + ROW * len(rows), body)


def _row(
    heat: HeatMap, measure: str, row: int, top: float, left: float, column: float, end: float
) -> list[str]:
    name = heat.rows[row]
    drawn = [label(fit(name, left - 10, 1), left - 8, top + ROW / 2, "name", "end", name)]
    given = heat.cells.get(measure, ())
    cells = given[row] if row < len(given) else ()
    for place, title in enumerate(heat.columns):
        cell = cells[place] if place < len(cells) else None
        drawn.append(_cell(cell, f"{name}, {title}", left + column * place, top, column, end, _kind(measure)))
    return drawn


def _cell(
    cell: Cell | None, where: str, left: float, top: float, column: float, end: float, kind: Kind
) -> str:
    value = None if cell is None else finite(cell.value)
    box = {"x": left + GAP / 2, "y": top + GAP / 2, "width": column - GAP, "height": ROW - GAP}
    if cell is None or value is None:
        shade, words, said = "q-none", "", "not heard"
    else:
        step = min(STEPS - 1, int(max(0.0, value) / end * (STEPS - 1) + 0.5))
        shade = "qn" if value < -0.0005 else f"q{step}"
        words, said = _short(value), with_interval(cell, kind) + (" points" if kind == "points" else "")
    number_ = f'<text class="v {shade}" x="{number(left + column / 2)}" y="{number(top + ROW / 2 + 4)}">{words}</text>'
    return f"<g>{tag('rect', shade, **box)}{number_}<title>{attribute(f'{where}: {said}')}</title></g>"


def _short(value: float) -> str:
    """Return a percentage of at most four characters where that can be."""
    percent = 100 * value
    return (f"{percent:.1f}" if abs(percent) < 9.95 else f"{percent:,.0f}").replace("-", MINUS)
