"""Bars: horizontal, so that long labels stay readable, with intervals where there are."""

from __future__ import annotations

from collections.abc import Callable

from voxaudit.answer import Bars, Cell, Kind
from voxaudit.render.escape import attribute, visible
from voxaudit.render.figures.svg import (
    Drawn,
    Picture,
    bar,
    cell_values,
    fit,
    keys_of,
    label,
    nice_ticks,
    number,
    picture,
    tag,
    tick_text,
    width_of,
)
from voxaudit.render.numbers import NONE, finite, shown, with_interval

BAR, GAP, TOP, BOTTOM = 16.0, 12.0, 6.0, 44.0
WIDE = (720.0, 180.0, 76.0, 6)
NARROW = (326.0, 106.0, 58.0, 4)
"""Width of the drawing, most of it for labels, what is left for values, and ticks: on a desktop, on a phone."""


def draw_bars(bars: Bars) -> Drawn | None:
    """Return bars, drawn for a desktop and for a phone; None where there are none."""
    if not bars.labels or not bars.series:
        return None
    keys = keys_of([one.label for one in bars.series], "bar")
    return Drawn(keys, bars_picture(bars, WIDE), bars_picture(bars, NARROW))


def bars_picture(bars: Bars, size: tuple[float, float, float, int]) -> Picture:
    """Return bars in one of two sizes."""
    width, most, room, count = size
    values = cell_values(cell for one in bars.series for cell in one.points)
    ticks = nice_ticks(
        min([0.0, *values]), max([0.0, *values]) or (0.0 if values and min(values) < 0 else 1.0), count
    )
    low, high = ticks[0], ticks[-1]
    label_ = min(most, max(60.0, *(width_of(visible(name)[:60]) + 12 for name in bars.labels)))
    left, right = label_ + 8, width - room
    thick = BAR if len(bars.series) < 4 else 11.0
    group = thick * len(bars.series) + GAP
    bottom = TOP + group * len(bars.labels)

    def across(value: float) -> float:
        return left + (min(high, max(low, value)) - low) / (high - low) * (right - left)

    scale = 100.0 if bars.kind == "points" else 1.0
    body = []
    for tick in ticks:
        body.append(tag("line", "grid", x1=across(tick), x2=across(tick), y1=TOP, y2=bottom))
        body.append(
            label(
                [tick_text(scale * tick, bars.kind == "percent")],
                across(tick),
                bottom + 13,
                "tick",
                "middle",
            )
        )
    title = fit(bars.y_title, width - 12 if count < 6 else right - left, 1)
    middle = width / 2 if count < 6 else (left + right) / 2
    body.append(label(title, middle, bottom + 33, "axis", "middle"))
    for place, name in enumerate(bars.labels):
        top = TOP + group * place + GAP / 2
        lines = fit(name, label_ - 8, 2 if group >= 28 else 1)
        body.append(label(lines, label_, top + thick * len(bars.series) / 2, "name", "end", name))
        for order, one in enumerate(bars.series):
            cell = one.points[place] if place < len(one.points) else None
            tip = f"{name}, {one.label}" if one.label else name
            body.append(_bar(cell, order, top + thick * order, thick, across, bars.kind, tip, room))
    body.append(tag("line", "none", x1=across(0.0), x2=across(0.0), y1=TOP, y2=bottom))
    return picture(width, bottom + BOTTOM, body)


def _bar(
    cell: Cell | None,
    order: int,
    top: float,
    thick: float,
    across: Callable[[float], float],
    kind: Kind,
    tip: str,
    room: float,
) -> str:
    value = None if cell is None else finite(cell.value)
    middle = top + thick / 2
    if cell is None or value is None:
        return label([NONE], across(0.0) + 6, middle, "value muted", "start", f"{tip}: nothing measured")
    start, stop = sorted((across(0.0), across(value)))
    parts = [bar(order, start, top + 1.5, stop - start, thick - 3)]
    farthest = stop
    low, high = finite(cell.low), finite(cell.high)
    if low is not None and high is not None:
        first, last = across(low), across(high)
        path = (
            f"M{number(first)} {number(middle)}H{number(last)}"
            f"M{number(first)} {number(middle - 3)}v6M{number(last)} {number(middle - 3)}v6"
        )
        parts.append(f'<path class="halo" d="{path}"/><path class="error" d="{path}"/>')
        farthest = max(stop, last)
    words = fit(shown(value, kind), room - 8, 1)
    parts.append(label(words, farthest + 6, middle, "value", "start"))
    return f"<g>{''.join(parts)}<title>{attribute(f'{tip}: {with_interval(cell, kind)}')}</title></g>"
