"""Text of users in markup: nothing in a name, a transcript or an id can become an element or reorder what is around."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

LONG = 160
"""Characters of a label that are shown; the whole is in its `title`."""

# Embeddings, overrides and isolates of the bidirectional algorithm, separators that break lines and scripts, and
# the invisible tag characters: shown by their code point.
_CODE_POINT = re.compile("[\u202a-\u202e\u2066-\u2069\u2028\u2029\U000e0000-\U000e007f]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Not allowed in HTML, or impossible to encode: C1 controls, lone surrogates, noncharacters.
_FORBIDDEN = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_CODE = re.compile(r"`([^`\n]{1,240})`")
# Numbers that a line should not break: `12.3 %`, `p = 0.012`, `(10.1 to 14.9)`.
_TIGHT = re.compile(r"(?<=\d) %|\bp [=<] \d|\([+-]?[\d.]+ to [+-]?[\d.]+\)")
_IN_SCRIPT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def visible(value: object) -> str:
    """Return text with control characters made visible: `\\x07` as its picture, U+202E as `[U+202E]`."""
    text = str(value)
    if text.isprintable():  # nothing to look for: no control, format, separator or unassigned character
        return text
    text = _CONTROL.sub(lambda found: chr(0x2421 if found[0] == "\x7f" else 0x2400 + ord(found[0])), text)
    text = _CODE_POINT.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
    return _FORBIDDEN.sub("\ufffd", text).replace("\r\n", "\n").replace("\r", "\n")


def attribute(value: object) -> str:
    """Return text for between the quotes of an attribute, or inside `<title>`."""
    return html.escape(visible(value), quote=True)


def shorten(value: object, limit: int = LONG) -> str:
    """Return text of at most `limit` characters, its middle left out: both ends of an id tell."""
    text = visible(value)
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def text(value: object, limit: int | None = None) -> str:
    """Return text of users as an isolated element; beyond `limit` characters its title holds the whole."""
    if limit is None or len(visible(value)) <= limit:
        return f"<bdi>{attribute(value)}</bdi>"
    return f'<bdi title="{attribute(value)}">{html.escape(shorten(value, limit))}</bdi>'


def prose(value: object, limit: int = 1200) -> str:
    """Return text of users of any length: what goes beyond `limit` characters folds away."""
    return _folding(visible(value), limit, html.escape)


def marked(value: object, limit: int = 4000) -> str:
    """Return prose in which what stands between backticks is code; everything in it is escaped all the same."""
    return _folding(visible(value), limit, _with_code)


def _folding(whole: str, limit: int, written: Callable[[str], str]) -> str:
    if len(whole) <= limit:
        return f"<bdi>{written(whole)}</bdi>"
    start = html.escape(whole[: limit // 3])
    return (
        f'<details class="more"><summary><bdi>{start}…</bdi> <span class="muted">'
        f"{len(whole):,} characters</span></summary><bdi>{written(whole)}</bdi></details>"
    )


def fold(summary: str, inside: str, kind: str = "", id_: str = "") -> str:
    """Return markup that folds away behind a summary; nothing where there is nothing inside."""
    id_ = id_ and f' id="{id_}"'
    cls = f"fold {kind}".strip()
    return inside and f'<details class="{cls}"{id_}><summary>{summary}</summary>{inside}</details>'


def _with_code(whole: str) -> str:
    """Return escaped text; every second piece between backticks is code, a backtick without its twin stays one."""
    pieces = _CODE.split(_TIGHT.sub(lambda found: found[0].replace(" ", "\u00a0"), whole))
    return "".join(
        f"<code>{html.escape(piece)}</code>" if place % 2 else html.escape(piece)
        for place, piece in enumerate(pieces)
    )


def json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON that cannot end the script element it stands in; NaN is null, infinities are words."""
    settings: dict[str, Any] = {
        "indent": indent,
        "separators": None if indent else (",", ":"),
        "default": _other,
    }
    try:
        dumped = json.dumps(value, ensure_ascii=False, allow_nan=False, **settings)
    except ValueError:  # few values are not finite: all are looked through only then
        dumped = json.dumps(_plain(value), ensure_ascii=False, **settings)
    # Lone surrogates cannot be written as UTF-8; inside a JSON string their escape means the same.
    dumped = re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", dumped)
    return dumped.translate(_IN_SCRIPT)


def _other(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def asset(name: str) -> str:
    """Return a style or script of the page."""
    content = files("voxaudit.render").joinpath("assets", name).read_text(encoding="utf-8")
    return content.replace("\r\n", "\n")


def themes() -> str:
    """Return the colors as style rules; the dark ones serve two, the reader's choice and that of the system."""
    light, dark = asset("light.css"), asset("dark.css")
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ color-scheme: dark; {dark} }} }}\n"
        f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}\n"
    )


class Ids:
    """Gives out ids that are unique on the page, made of letters, digits and hyphens, and stable for links.

    `within` begins all of them: that of an answer that shares its page with others.
    """

    def __init__(self, within: str = "") -> None:
        self._within = within
        self._given: set[str] = set()

    def new(self, prefix: str, name: object) -> str:
        """Return `prefix-name`, with a number where the name was given before."""
        slug = re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")[:60] or "x"
        base = f"{self._within}{prefix}-{slug}"
        found, count = base, 1
        while found in self._given:
            count += 1
            found = f"{base}-{count}"
        self._given.add(found)
        return found
