"""Drawing by hand: elements, labels that fit, axes with round numbers.

Colors come from classes of a style (`s0` to `s7` for series, `q0` to `q10` for the ramp), never from the drawing, so
that one drawing serves a page that is light, dark or paper, and a file of its own.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from voxaudit.answer import Cell, Figure
from voxaudit.render.escape import Ids, attribute, visible
from voxaudit.render.numbers import MINUS, finite

SIZE = 12.0
"""Height of a label in pixels."""
SERIES = 8
"""Colors before they repeat; shapes of markers repeat after five, so 40 series differ."""
Sample = Literal["line", "mark", "bar"]
"""What a legend shows of a series."""
_PIECES = re.compile(r"[^\s_\-:/=,.]*[\s_\-:/=,.]?")


def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class Picture:
    """Elements on a ground of some width and height."""

    width: float
    height: float
    body: str

    def at(self, x: float, y: float) -> str:
        """Return the elements moved to a place in a larger picture."""
        return f'<g transform="translate({number(x)} {number(y)})">{self.body}</g>'


@dataclass(frozen=True)
class Drawn:
    """A figure, drawn for a desktop and for a phone, with the (shape, words) of its legend."""

    keys: Sequence[tuple[str, str]]
    wide: Picture
    narrow: Picture


def picture(width: float, height: float, body: Iterable[str]) -> Picture:
    """Return a picture of elements."""
    return Picture(width, height, "".join(body))


def below(pictures: Sequence[Picture], gap: float = 10.0) -> Picture:
    """Return pictures one below the other."""
    body, y = [], 0.0
    for one in pictures:
        body.append(one.at(0, y))
        y += one.height + gap
    return picture(max((one.width for one in pictures), default=0.0), max(0.0, y - gap), body)


def beside(pictures: Sequence[Picture], columns: int, gap: float = 16.0) -> Picture:
    """Return pictures in rows of some columns, each as wide as the widest of all."""
    wide = max((one.width for one in pictures), default=0.0) + gap
    rows = []
    for first in range(0, len(pictures), max(1, columns)):
        row = pictures[first : first + max(1, columns)]
        body = [one.at(wide * place, 0) for place, one in enumerate(row)]
        rows.append(picture(wide * len(row) - gap, max(one.height for one in row), body))
    return below(rows)


def drawing(drawn: Picture, id_: str, title: str, desc: str) -> str:
    """Return a picture as an element of a page, with its name and description for those who do not see it."""
    width, height = number(drawn.width), number(drawn.height)
    return (
        f'<svg class="drawing" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-labelledby="{id_}--t {id_}--d">'
        f'<title id="{id_}--t">{attribute(title)}</title><desc id="{id_}--d">{attribute(desc)}</desc>'
        f"{drawn.body}</svg>"
    )


def scrolling(id_: str, picture: str) -> str:
    """Return a wide picture in a region that scrolls by itself, with the keyboard too."""
    return f'<div class="scroll wide" tabindex="0" role="region" aria-labelledby="{id_}--t">{picture}</div>'


def on_page(figure: Figure, drawn: Drawn | None, ids: Ids) -> str:
    """Return a legend, and a drawing for a desktop and one for a phone, of which the window's width shows one."""
    if drawn is None:
        return '<p class="muted">Nothing to draw.</p>'
    id_ = ids.new("g", figure.id)
    desktop = scrolling(id_, drawing(drawn.wide, id_, figure.title, figure.alt))
    phone = drawing(drawn.narrow, ids.new("g", figure.id), figure.title, figure.alt)
    return f'{legend(drawn.keys)}<div class="on-wide">{desktop}</div><div class="on-narrow">{phone}</div>'


def tag(name: str, cls: str, **numbers: float) -> str:
    """Return an element with a class and numeric attributes; `stroke_width` is written `stroke-width`."""
    places = "".join(f' {key.replace("_", "-")}="{number(value)}"' for key, value in numbers.items())
    return f'<{name} class="{cls}"{places}/>'


def width_of(text: str, size: float = SIZE) -> float:
    """Return about how wide a text is, rather too much than too little: wide scripts take a full square."""
    return size * sum(1.05 if unicodedata.east_asian_width(mark) in "WF" else 0.57 for mark in text)


def fit(label: object, width: float, lines: int = 2, size: float = SIZE) -> list[str]:
    """Return a label in at most `lines` lines of `width` pixels, broken where words or names break."""
    text = " ".join(visible(label)[:2000].split())
    found: list[str] = []
    while text and len(found) < lines - 1 and width_of(text, size) > width:
        line = ""
        for piece in _PIECES.findall(text):
            if width_of((line + piece).rstrip(), size) > width:
                break
            line += piece
        line = line or _cut(text, width, size)
        found.append(line.rstrip())
        text = text[len(line) :].lstrip()
    if width_of(text, size) > width:
        text = _cut(text, width - size, size).rstrip() + "…"
    return [*found, text] if text or not found else found


def _cut(text: str, width: float, size: float) -> str:
    """Return the longest start of a text that fits, one character at least."""
    taken = 0.0
    for place, mark in enumerate(text):
        taken += width_of(mark, size)
        if taken > width:
            return text[: max(1, place)]
    return text


def label(
    lines: Sequence[str], x: float, y: float, cls: str = "", anchor: str = "start", whole: object = None
) -> str:
    """Return lines of text centered on `y`; `whole` is what a pointer resting on it reads."""
    step = SIZE * 1.15
    top = y - step * (len(lines) - 1) / 2 + SIZE * 0.35
    inside = "".join(
        f'<tspan x="{number(x)}" y="{number(top + step * place)}">{html.escape(line)}</tspan>'
        for place, line in enumerate(lines)
    )
    tip = "" if whole is None else f"<title>{attribute(whole)}</title>"
    return f'<text class="{cls}" text-anchor="{anchor}">{tip}{inside}</text>'


def cell_values(cells: Iterable[Cell | None]) -> list[float]:
    """Return every finite value and limit of cells."""
    return [
        number
        for cell in cells
        if cell is not None
        for number in (finite(cell.value), finite(cell.low), finite(cell.high))
        if number is not None
    ]


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers from at or below `low` to at or above `high`."""
    if not high > low:
        high = low + 1.0
    rough = (high - low) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(
        step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= rough * 0.999
    )
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [place * step for place in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return round ratios within [low, high]: 1, 2, 5 in each decade, or decades alone over long axes."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    found = [digit * 10.0**decade for decade in decades for digit in digits]
    if math.log10(high / low) < 0.7:
        found = sorted({*found, 0.4, 0.6, 0.7, 0.8, 0.9, 1.2, 1.5, 3.0, 4.0})
    return [tick for tick in found if low * 0.999 <= tick <= high * 1.001]


def tick_text(value: float, percent: bool) -> str:
    """Return a tick as short as it can be."""
    return f"{100 * value:.3g} %".replace("-", MINUS) if percent else f"{value:,.4g}".replace("-", MINUS)


def marker(series: int, x: float, y: float, cls: str = "mark", size: float = 3.6) -> str:
    """Return the shape of a series: circle, square, triangle, diamond, upside-down triangle."""
    kind = series % 5
    cls = f"{cls} s{series % SERIES}"
    if kind == 0:
        return tag("circle", cls, cx=x, cy=y, r=size)
    if kind == 1:
        return tag("rect", cls, x=x - size * 0.9, y=y - size * 0.9, width=size * 1.8, height=size * 1.8)
    corners = {
        2: ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        3: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
        4: ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    }[kind]
    points = " ".join(f"{number(x + dx * size)},{number(y + dy * size)}" for dx, dy in corners)
    return f'<polygon class="{cls}" points="{points}"/>'


def key_shape(series: int, kind: Sample) -> str:
    """Return the sample of a series in a legend, 18 by 12 pixels."""
    if kind == "bar":
        return bar(series, 1, 1, 16, 10)
    line = f'<path class="line s{series % SERIES}" d="M0 6h18"/>' if kind == "line" else ""
    return line + marker(series, 9, 6)


def legend(keys: Sequence[tuple[str, str]]) -> str:
    """Return (shape, words) pairs as a list above a figure; nothing where there are none."""
    items = "".join(
        f'<li><svg width="18" height="12" aria-hidden="true">{shape}</svg>'
        f"<bdi>{html.escape(' '.join(fit(words, 320, 1)))}</bdi></li>"
        for shape, words in keys
    )
    return f'<ul class="legend">{items}</ul>' if items else ""


def keys_of(labels: Sequence[str], kind: Sample) -> list[tuple[str, str]]:
    """Return (shape, words) for each series; nothing where there is one."""
    return [(key_shape(place, kind), name) for place, name in enumerate(labels)] if len(labels) > 1 else []


def with_legend(keys: Sequence[tuple[str, str]], drawn: Picture) -> Picture:
    """Return a picture that stands alone with its legend above it."""
    return below([legend_picture(keys, max(drawn.width, 320.0)), drawn]) if keys else drawn


def legend_picture(keys: Sequence[tuple[str, str]], width: float) -> Picture:
    """Return (shape, words) pairs in lines of at most `width` pixels."""
    body, x, y = [], 0.0, 0.0
    for shape, words in keys:
        text = fit(words, 320, 1)
        step = 18 + 8 + width_of(text[0]) + 18
        if x and x + step > width:
            x, y = 0.0, y + 20
        body.append(f'<g transform="translate({number(x)} {number(y + 2)})">{shape}</g>')
        body.append(label(text, x + 26, y + 8, "axis"))
        x += step
    return picture(width, y + 16 if keys else 0.0, body)


def bar(series: int, x: float, y: float, width: float, height: float) -> str:
    """Return a bar in a series' color, and its texture from the second series on."""
    place = {"x": x, "y": y, "width": max(0.0, width), "height": height}
    texture = series % 4
    over = (
        ""
        if texture == 0
        else f'<rect fill="url(#p-{texture})" x="{number(x)}" y="{number(y)}"'
        f' width="{number(max(0.0, width))}" height="{number(height)}"/>'
    )
    return tag("rect", f"bar s{series % SERIES}", **place) + over


TEXTURES = (
    '<defs><pattern id="p-1" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<path class="texture" d="M-1 7 7-1M-2 2 2-2M4 8 8 4"/></pattern>'
    '<pattern id="p-2" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle class="dot" cx="2.5" cy="2.5" r="1"/></pattern>'
    '<pattern id="p-3" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<path class="texture" d="M2.5 0v5"/></pattern></defs>'
)
