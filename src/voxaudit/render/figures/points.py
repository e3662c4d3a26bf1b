"""Points scattered over two axes, a shape and a color for each group, with a line to compare them with."""

from __future__ import annotations

from itertools import pairwise

from voxaudit.answer import Figure, Points
from voxaudit.render.escape import Ids, attribute
from voxaudit.render.figures.svg import (
    Picture,
    fit,
    keys_of,
    label,
    legend,
    marker,
    nice_ticks,
    on_page,
    picture,
    tag,
    tick_text,
    width_of,
    with_legend,
)
from voxaudit.render.numbers import MINUS, finite

WIDE, NARROW = (560.0, 400.0, 6), (326.0, 300.0, 4)
"""Width, height and ticks of the drawing: on a desktop, on a phone."""
TOP, RIGHT, BOTTOM = 30.0, 14.0, 46.0
MOST_TIPS = 2000
"""Points that say what they are when a pointer rests on them; of more, a page would be large for little."""


def points_html(figure: Figure, points: Points, ids: Ids) -> str:
    """Return a scatter plot, drawn for a desktop and for a phone."""
    if not _known(points):
        return '<p class="muted">Nothing to draw.</p>'
    wide, narrow = points_picture(points, WIDE), points_picture(points, NARROW)
    return legend(_groups(points), "mark") + on_page(figure, wide, narrow, ids)


def points_alone(points: Points) -> Picture:
    """Return a scatter plot as a picture that stands alone."""
    return with_legend(keys_of(_groups(points), "mark"), points_picture(points, WIDE))


def points_picture(points: Points, size: tuple[float, float, int]) -> Picture:
    """Return a scatter plot in one of two sizes."""
    width, height, count = size
    known, line = _known(points), _line(points)
    xs = [x for x, _, _ in known] + [x for x, _ in line]
    ys = [y for _, y, _ in known] + [y for _, y in line]
    x_ticks, y_ticks = nice_ticks(min(xs), max(xs), count), nice_ticks(min(ys), max(ys), count)
    left = 14 + max(width_of(tick_text(tick, False), 11) for tick in y_ticks)
    right, bottom = width - RIGHT, height - BOTTOM

    def across(x: float) -> float:
        return left + (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]) * (right - left)

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
    names = {name: place for place, name in enumerate(_groups(points))}
    small = 3.2 if len(known) <= 200 else 2.2
    for x, y, group in known:
        mark = marker(names[group], across(x), up(y), size=small)
        if len(known) <= MOST_TIPS:
            where = f"{x:.4g}, {y:.4g}".replace("-", MINUS)
            mark = f"<g>{mark}<title>{attribute(f'{group}: {where}' if group else where)}</title></g>"
        body.append(mark)
    return picture(width, height, body)


def _groups(points: Points) -> list[str]:
    return list(dict.fromkeys(group for _, _, group in _known(points)))


def _known(points: Points) -> list[tuple[float, float, str]]:
    """Return the points that can be drawn; those without a group share the empty one."""
    groups = [*points.groups, *[""] * len(points.x)]
    found = []
    for x, y, group in zip(points.x, points.y, groups, strict=False):
        across, up = finite(x), finite(y)
        if across is not None and up is not None and max(abs(across), abs(up)) < 1e100:
            found.append((across, up, group))
    return found


def _line(points: Points) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points.line if finite(x) is not None and finite(y) is not None]
