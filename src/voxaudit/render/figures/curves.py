"""Degradation curves: small panels on shared axes, bands for intervals, a shape and a color for each series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from voxaudit.answer import Cell, Curves, Figure, Series
from voxaudit.render.escape import Ids, attribute, shorten, text, visible
from voxaudit.render.figures.svg import (
    SERIES,
    Picture,
    below,
    beside,
    cell_values,
    drawing,
    fit,
    keys_of,
    label,
    legend,
    marker,
    nice_ticks,
    number,
    picture,
    tag,
    tick_text,
    width_of,
    with_legend,
)
from voxaudit.render.numbers import finite, with_interval

LEFT, RIGHT, TOP, BOTTOM = 42.0, 8.0, 30.0, 22.0
MANY, FEW = (178.0, 142.0), (380.0, 240.0)
"""Width and height of a panel among many, and of one of up to three."""
CAP = 3.0
"""Error rates are drawn up to 300 %; an arrow marks where a rate or its interval goes on beyond the edge."""
ROOM = 1.25
"""Intervals may make the axis this much longer than the rates need: wide ones would flatten every line."""


COLUMNS = {True: 2, False: 5}
"""Panels in a row of a picture that stands alone: of few panels, and of many."""

Panel = tuple[str, tuple[str, ...], tuple[Series, ...]]
"""Title, labels of x, and series."""


def curves_html(figure: Figure, curves: Curves, ids: Ids) -> str:
    """Return the panels, with one legend for all."""
    if not curves.panels:
        return '<p class="muted">Nothing to draw.</p>'
    ticks, order = _ticks(_cells(curves)), _order(curves)
    drawn = []
    for panel in curves.panels:
        id_ = ids.new("c", f"{figure.id}-{panel[0]}")
        about = f"{shorten(panel[0], 80)}: {shorten(curves.y_title, 80)} by {shorten(curves.x_title, 80)}"
        small = drawing(_panel(curves, panel, order, ticks), id_, about, figure.alt)
        drawn.append(f'<div class="small">{small}</div>')
    size = "few" if _few(curves) else "many"
    axes = " ".join(
        (f"Up: {text(curves.y_title, 80)}. Across: {text(curves.x_title, 80)}.", *_cut(curves, ticks))
    )
    key = legend(keys_of(list(order), "line"))
    return f'{key}<div class="smalls {size}">{"".join(drawn)}</div><p class="note">{axes}</p>'


def curves_alone(curves: Curves) -> Picture:
    """Return the panels as a picture that stands alone."""
    ticks, order = _ticks(_cells(curves)), _order(curves)
    panels = beside([_panel(curves, one, order, ticks) for one in curves.panels], COLUMNS[_few(curves)])
    words = " ".join((f"Up: {curves.y_title}. Across: {curves.x_title}.", *_cut(curves, ticks)))
    lines = fit(words, max(panels.width, 240.0), 3)
    axes = picture(panels.width, 16.0 * len(lines), [label(lines, 0, 8.0 * len(lines), "axis")])
    return with_legend(keys_of(list(order), "line"), below([panels, axes]))


def _few(curves: Curves) -> bool:
    return len(curves.panels) <= 3


def _cells(curves: Curves) -> list[Cell | None]:
    return [cell for _, _, series in curves.panels for one in series for cell in one.points]


def _order(curves: Curves) -> dict[str, int]:
    """Return the number of each series, the same in all panels."""
    labels = dict.fromkeys(one.label for _, _, series in curves.panels for one in series)
    return {name: place for place, name in enumerate(labels)}


def _cut(curves: Curves, ticks: list[float]) -> list[str]:
    """Return what an arrow means, where there is one."""
    if not any(value > ticks[-1] or value < ticks[0] for value in cell_values(_cells(curves))):
        return []
    return [f"An arrow: the rate or its interval goes on beyond the axis ({tick_text(ticks[-1], True)})."]


def _ticks(cells: Sequence[Cell | None]) -> list[float]:
    """Return the ticks of the shared axis: all rates up to the cap, intervals as far as they do not flatten them."""
    rates = [value for cell in cells if cell is not None and (value := finite(cell.value)) is not None]
    limits = cell_values(cells)
    top = min(CAP, max([0.05, *limits]), max([0.05, *rates]) * ROOM)
    bottom = max(-CAP, min([0.0, *limits]), min([0.0, *rates]) * ROOM)
    return nice_ticks(bottom, top, 4)


def _panel(curves: Curves, panel: Panel, order: dict[str, int], ticks: list[float]) -> Picture:
    title, xs, series = panel
    wide, height = FEW if _few(curves) else MANY
    inner, tall = wide - LEFT - RIGHT, height - TOP - BOTTOM
    low, high = ticks[0], ticks[-1]
    count = max([len(xs), *(len(one.points) for one in series)], default=1)

    def across(place: int) -> float:
        return LEFT + inner * (place + 0.5) / max(1, count)

    def up(value: float) -> float:
        return TOP + tall * (1 - (min(high, max(low, value)) - low) / (high - low))

    body = [label(fit(title, wide - 8, 1, 13), 4, 12, "panel-title", "start", title)]
    for tick in ticks:
        body.append(tag("line", "grid", x1=LEFT, x2=wide - RIGHT, y1=up(tick), y2=up(tick)))
        body.append(label([tick_text(tick, True)], LEFT - 6, up(tick), "tick", "end"))
    # As many settings are named as fit; the others are read from their neighbors and from the table.
    slot = inner / max(1, count)
    widest = max([0.0, *(width_of(visible(name)[:40], 11) + 5 for name in xs)])
    every = min(max(1, math.ceil(widest / slot)), max(1, math.ceil(count / 2)))
    for place, name in list(enumerate(xs))[::every]:
        lines = fit(name, slot * every - 2, 1, 11)
        body.append(label(lines, across(place), height - BOTTOM + 13, "tick", "middle", name))
    for one in series:
        body += _series(one, order[one.label], xs, across, up)
        body += _beyond(one, order[one.label], across, (low, high), (TOP, height - BOTTOM))
    return picture(wide, height, body)


def _series(
    one: Series, place: int, xs: tuple[str, ...], across: Callable[[int], float], up: Callable[[float], float]
) -> list[str]:
    color = f"s{place % SERIES}"
    drawn = []
    known = [
        (spot, cell, value)
        for spot, cell in enumerate(one.points)
        if cell is not None and (value := finite(cell.value)) is not None
    ]
    # Neighbors belong to one run: what was not heard leaves a gap in the line.
    for _, members in groupby(enumerate(known), key=lambda item: item[1][0] - item[0]):
        run = [item for _, item in members]
        limits = [(spot, _limits(cell)) for spot, cell, _ in run]
        band = [(spot, pair) for spot, pair in limits if pair is not None]
        if len(band) > 1 and len(band) == len(run):
            upper = [f"{number(across(spot))} {number(up(pair[1]))}" for spot, pair in band]
            lower = [f"{number(across(spot))} {number(up(pair[0]))}" for spot, pair in reversed(band)]
            drawn.append(f'<path class="band {color}" d="M{"L".join(upper + lower)}Z"/>')
        else:
            drawn += [
                tag(
                    "line",
                    f"whisker {color}",
                    x1=across(spot),
                    x2=across(spot),
                    y1=up(pair[0]),
                    y2=up(pair[1]),
                )
                for spot, pair in band
            ]
        if len(run) > 1:
            line = "L".join(f"{number(across(spot))} {number(up(value))}" for spot, _, value in run)
            drawn.append(f'<path class="line {color} d{place % 4}" d="M{line}"/>')
    for spot, cell, value in known:
        where = xs[spot] if spot < len(xs) else str(spot + 1)
        tip = attribute(f"{one.label}, {where}: {with_interval(cell, 'percent')}")
        drawn.append(f"<g>{marker(place, across(spot), up(value))}<title>{tip}</title></g>")
    return drawn


def _beyond(
    one: Series,
    place: int,
    across: Callable[[int], float],
    ends: tuple[float, float],
    edges: tuple[float, float],
) -> list[str]:
    """Return arrows where a rate or its interval leaves the panel; those of several series stand beside each other."""
    drawn = []
    for spot, cell in enumerate(one.points):
        values = cell_values([cell])
        for outside, edge, way in (
            (any(value > ends[1] for value in values), edges[0], -1),
            (any(value < ends[0] for value in values), edges[1], 1),
        ):
            if outside:
                x = across(spot) + 8 * ((place + 1) // 2) * (1 if place % 2 else -1)
                arrow = f"M{number(x - 3.5)} {number(edge)}h7l-3.5 {6 * way}Z"
                drawn.append(f'<path class="beyond mark s{place % SERIES}" d="{arrow}"/>')
    return drawn


def _limits(cell: Cell) -> tuple[float, float] | None:
    low, high = finite(cell.low), finite(cell.high)
    return None if low is None or high is None else (low, high)
