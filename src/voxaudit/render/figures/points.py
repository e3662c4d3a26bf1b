"""Points scattered over two axes, a shape and a color for each group, with a line to compare them with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from voxaudit.answer import Points
from voxaudit.render.escape import attribute, visible
from voxaudit.render.figures.svg import (
    SERIES,
    Drawn,
    Picture,
    fit,
    keys_of,
    label,
    log_ticks,
    marker,
    nice_ticks,
    number,
    picture,
    tag,
    tick_text,
    width_of,
)
from voxaudit.render.numbers import MINUS, finite

WIDE, NARROW = (560.0, 400.0, 6), (326.0, 300.0, 4)
"""Width, height and ticks of the drawing: on a desktop, on a phone."""
TOP, RIGHT, BOTTOM = 30.0, 14.0, 46.0
MOST_TIPS = 2000
"""Points that say what they are when a pointer rests on them; of more, a page would be large for little."""


def draw_points(points: Points) -> Drawn | None:
    """Return a scatter plot, drawn for a desktop and for a phone; None where no point can be drawn."""
    if not _known(points):
        return None
    keys = keys_of(_groups(points), "mark")
    return Drawn(keys, points_picture(points, WIDE), points_picture(points, NARROW))


def points_picture(points: Points, size: tuple[float, float, int]) -> Picture:
    """Return a scatter plot in one of two sizes."""
    width, height, count = size
    known, line = _known(points), _finite(points.line)
    lines = [(group, _finite(some)) for group, some in points.lines]
    ends = [*line, *(end for _, some in lines for end in some)]
    xs = [x for x, *_ in known] + [x for x, _ in ends]
    ys = [y for _, y, *_ in known] + [y for _, y in ends]
    y_ticks = nice_ticks(min(ys), max(ys), count)
    x_ticks = log_ticks(*_widened(min(xs), max(xs))) if points.log else nice_ticks(min(xs), max(xs), count)
    first, last = _widened(min(xs), max(xs)) if points.log else (x_ticks[0], x_ticks[-1])
    left = 14 + max(width_of(tick_text(tick, False), 11) for tick in y_ticks)
    right, bottom = width - RIGHT, height - BOTTOM

    def across(x: float) -> float:
        share = math.log(x / first) / math.log(last / first) if points.log else (x - first) / (last - first)
        return left + share * (right - left)

    def up(y: float) -> float:
        return bottom - (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (bottom - TOP)

    body = [label(fit(points.y_title, width - 8, 1), 4, 12, "axis", "start", points.y_title)]
    for tick in y_ticks:
        body.append(tag("line", "grid", x1=left, x2=right, y1=up(tick), y2=up(tick)))
        body.append(label([tick_text(tick, False)], left - 6, up(tick), "tick", "end"))
    for tick in x_ticks:
        body.append(tag("line", "grid", x1=across(tick), x2=across(tick), y1=TOP, y2=bottom))
        body.append(label([tick_text(tick, False)], across(tick), bottom + 13, "tick", "middle"))
    title = fit(points.x_title, right - left, 1)
    body.append(label(title, (left + right) / 2, bottom + 33, "axis", "middle", points.x_title))
    body += [
        tag("line", "none", x1=across(x), y1=up(y), x2=across(x2), y2=up(y2))
        for (x, y), (x2, y2) in pairwise(line)
    ]
    order = {name: place for place, name in enumerate(_groups(points))}
    for group, some in lines:
        path = "L".join(f"{number(across(x))} {number(up(y))}" for x, y in some)
        if group in order and len(some) > 1:
            body.append(f'<path class="line s{order[group] % SERIES} d{order[group] % 4}" d="M{path}"/>')
    small = 3.2 if len(known) <= 200 else 2.2
    taken = [(across(x) - small, up(y), 2 * small) for x, y, *_ in known]
    for x, y, group, name in known:
        mark = marker(order[group], across(x), up(y), size=small)
        if len(known) <= MOST_TIPS:
            where = f"{x:.4g}, {y:.4g}".replace("-", MINUS)
            whole = ", ".join(filter(None, (name, group)))
            mark = f"<g>{mark}<title>{attribute(f'{whole}: {where}' if whole else where)}</title></g>"
        body.append(mark)
        wide = width_of(visible(name)[:24], 11)
        spot = (across(x) + 6, up(y) - 1, wide)
        # A name that would lie on another, or run off, is left to the tip and the table.
        clear = all(abs(spot[1] - b) > 9 or spot[0] > a + w or a > spot[0] + wide for a, b, w in taken)
        if name and clear and spot[0] + wide < width:
            body.append(label(fit(name, wide + 8, 1, 11), spot[0], spot[1], "tick", "start", name))
            taken.append(spot)
    return picture(width, height, body)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, a little beyond the points."""
    wide = max(high / low, 1.2) ** 0.06
    return low / wide, high * wide


def _groups(points: Points) -> list[str]:
    return list(dict.fromkeys(group for _, _, group, _ in _known(points)))


def _known(points: Points) -> list[tuple[float, float, str, str]]:
    """Return the points that can be drawn, (x, y, group, name); those without a group share the empty one."""
    groups, names = ([*some, *[""] * len(points.x)] for some in (points.groups, points.names))
    found = []
    for x, y, group, name in zip(points.x, points.y, groups, names, strict=False):
        across, up = finite(x), finite(y)
        if across is None or up is None or max(abs(across), abs(up)) >= 1e100:
            continue
        if not points.log or across > 0:
            found.append((across, up, group, name))
    return found


def _finite(line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in line if finite(x) is not None and finite(y) is not None]
