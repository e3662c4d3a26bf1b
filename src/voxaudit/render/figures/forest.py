"""Forest plots: estimates with intervals against the line of no difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from voxaudit.answer import Forest, ForestRow, Kind
from voxaudit.render.escape import attribute, visible
from voxaudit.render.figures.svg import (
    Drawn,
    Picture,
    fit,
    label,
    log_ticks,
    nice_ticks,
    number,
    picture,
    tag,
    tick_text,
    width_of,
)
from voxaudit.render.numbers import finite, real, with_interval

WIDTH, MOST, VALUES, ROW, TOP, BOTTOM = 800.0, 264.0, 164.0, 32.0, 10.0, 46.0
NARROW, TALL = 326.0, 62.0
"""Width of the drawing and height of a row on a phone, where words stand above the interval."""
FARTHEST = 1000.0
"""An estimate beyond this ratio stands at the edge of the plot, as an arrow."""
BEYOND = 3.0
"""Intervals may widen the plot by this factor beyond the farthest estimate; the rest of them is an arrow."""

KEYS = (
    (
        '<path class="ci shown" d="M0 6h18"/><path class="est shown" d="M9 1l5 5-5 5-5-5Z"/>',
        "a difference is shown",
    ),
    ('<path class="ci" d="M0 6h18"/><circle class="est" cx="9" cy="6" r="4"/>', "not shown"),
)


def draw_forest(forest: Forest) -> Drawn | None:
    """Return a forest plot, drawn for a desktop and for a phone; None where it has no row."""
    return Drawn(KEYS, forest_picture(forest), forest_picture(forest, narrow=True)) if forest.rows else None


def forest_picture(forest: Forest, *, narrow: bool = False) -> Picture:
    """Return a forest plot for a desktop, or for a phone."""
    low, high = _range(forest)
    # On a linear axis stand differences of rates, which people read in points.
    kind: Kind = "ratio" if forest.log else "points"
    width, height = (NARROW, TALL) if narrow else (WIDTH, ROW)
    label_ = min(MOST, max(90.0, *(width_of(visible(row.label)[:60]) + 18 for row in forest.rows)))
    left, right = (14.0, width - 14) if narrow else (label_ + 14, width - VALUES - 14)
    bottom = TOP + height * len(forest.rows)

    def across(value: float) -> float:
        low_, value_, high_ = map(math.log, (low, value, high)) if forest.log else (low, value, high)
        return left + (value_ - low_) / (high_ - low_) * (right - left)

    # On a phone words stand above the interval: no line runs through them.
    bands = [(TOP + height * place + 38, TOP + height * (place + 1)) for place in range(len(forest.rows))]
    parts = bands if narrow else [(TOP - 4, bottom + 4)]
    body = _axis(forest, across, (low, high), (left, right), parts)
    lines = 2 if narrow else 1
    axis = fit(forest.x_title, width - 12 if narrow else right - left + 100, lines)
    body.append(label(axis, (left + right) / 2, bottom + 34 + 7 * (len(axis) - 1), "axis", "middle"))
    for place, row in enumerate(forest.rows):
        top = TOP + height * place
        if place % 2:
            body.append(tag("rect", "stripe", x=0, y=top, width=width, height=height))
        body += _words(row, kind, top, edges=(left, right), narrow=narrow)
        y = top + (height - 13 if narrow else height / 2)
        body.append(_interval(row, y, across, (low, high), (left, right), kind))
    return picture(width, bottom + BOTTOM + 14 * (len(axis) - 1), body)


def _axis(
    forest: Forest,
    across: Callable[[float], float],
    ends: tuple[float, float],
    edges: tuple[float, float],
    bands: Sequence[tuple[float, float]],
) -> list[str]:
    """Return the ticks with their numbers, as far as they have room, and the line of no difference."""
    low, high = ends
    ticks = log_ticks(low, high) if forest.log else nice_ticks(low, high)
    ticks = [tick for tick in ticks if edges[0] - 1 <= across(tick) <= edges[1] + 1]
    if len(ticks) > 9:
        ticks = [tick for tick in ticks if forest.log and math.log10(tick).is_integer()] or ticks[::2]
    bottom = bands[-1][1]
    spots: list[float] = []
    body = []
    for tick in ticks:
        body += [
            tag("line", "grid", x1=across(tick), x2=across(tick), y1=first, y2=last) for first, last in bands
        ]
        if all(abs(across(tick) - spot) > 34 for spot in spots):
            spots.append(across(tick))
            words = tick_text(tick if forest.log else 100 * tick, False)
            body.append(label([words], across(tick), bottom + 13, "tick", "middle"))
    middle = across(min(high, max(low, forest.no_difference)))
    return body + [tag("line", "none", x1=middle, x2=middle, y1=first, y2=last) for first, last in bands]


def _range(forest: Forest) -> tuple[float, float]:
    """Return the ends of the axis: all estimates within reason, intervals as far as they do not squeeze them."""
    if not forest.log:
        values = [
            finite(value) for row in forest.rows for value in (row.cell.value, row.cell.low, row.cell.high)
        ]
        known = [value for value in values if value is not None] + [forest.no_difference]
        room = (max(known) - min(known)) * 0.06 or 1.0
        return min(known) - room, max(known) + room
    center = forest.no_difference if forest.no_difference > 0 else 1.0
    values = [finite(row.cell.value) for row in forest.rows]
    estimates = [
        min(center * FARTHEST, max(center / FARTHEST, value))
        for value in values
        if value is not None and value > 0
    ] + [center]
    lows = [low for row in forest.rows if (low := finite(row.cell.low)) is not None and low > 0]
    highs = [high for row in forest.rows if (high := finite(row.cell.high)) is not None and high > 0]
    low = max(min([*estimates, *lows]), min(estimates) / BEYOND)
    high = min(max([*estimates, *highs]), max(estimates) * BEYOND)
    return min(low, center / 1.25) / 1.08, max(high, center * 1.25) * 1.08


def _words(row: ForestRow, kind: Kind, top: float, *, edges: tuple[float, float], narrow: bool) -> list[str]:
    """Return the label of a row and its numbers: beside the interval, or above it on a phone."""
    words = with_interval(row.cell, kind)
    whole = f"{words}. {row.note}" if row.note else words
    if narrow:
        said = f"{words}, {row.note}" if row.note else words
        return [
            label(fit(row.label, NARROW - 12, 1), 6, top + 13, "name", "start", row.label),
            label(fit(said, NARROW - 12, 1), 6, top + 29, "value muted", "start", whole),
        ]
    lines = fit(words, VALUES - 8, 1)
    if row.note:
        lines.append(fit(row.note, VALUES - 8, 1)[0])
    y = top + ROW / 2
    return [
        label(fit(row.label, edges[0] - 26, 2), 6, y, "name", "start", row.label),
        label(lines, WIDTH - 4, y, "value", "end", whole),
    ]


def _interval(
    row: ForestRow,
    y: float,
    across: Callable[[float], float],
    ends: tuple[float, float],
    edges: tuple[float, float],
    kind: Kind,
) -> str:
    """Return the estimate on its interval; arrows where they go on beyond the axis."""
    value, low, high = real(row.cell.value), real(row.cell.low), real(row.cell.high)
    state = "shown" if row.shown else ""
    parts = []
    if low is not None and high is not None and low <= ends[1] and high >= ends[0]:
        start = edges[0] if low <= ends[0] else min(across(low), edges[1])
        stop = edges[1] if high >= ends[1] else max(across(high), edges[0])
        parts.append(f'<path class="ci {state}" d="M{number(start)} {number(y)}H{number(stop)}"/>')
        parts.append(_arrow(edges[0], y, -1, state) if low < ends[0] else _end(start, y, state))
        parts.append(_arrow(edges[1], y, 1, state) if high > ends[1] else _end(stop, y, state))
    if value is not None:
        if value < ends[0] or value > ends[1]:
            parts.append(_arrow(edges[value > ends[1]], y, 1 if value > ends[1] else -1, f"{state} est"))
        else:
            parts.append(_estimate(across(value), y, row.shown))
    tip = f"{row.label}: {with_interval(row.cell, kind)}{', a difference is shown' if row.shown else ''}"
    return f"<g>{''.join(parts)}<title>{attribute(tip)}</title></g>"


def _estimate(x: float, y: float, shown: bool) -> str:
    if shown:
        return f'<path class="est shown" d="M{number(x)} {number(y - 6)}l6 6-6 6-6-6Z"/>'
    return tag("circle", "est", cx=x, cy=y, r=4.5)


def _arrow(x: float, y: float, way: int, state: str) -> str:
    return f'<path class="arrow {state}" d="M{number(x + 7 * way)} {number(y)}l{-7 * way} -4.5v9Z"/>'


def _end(x: float, y: float, state: str) -> str:
    return f'<path class="ci {state}" d="M{number(x)} {number(y - 4)}v8"/>'
