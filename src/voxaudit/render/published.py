"""What a report tells about the machine it was made on: nothing. Files are named, the folders above them are not.
Nor are hosts of one's own network.

A report is made to be shown to others. Where somebody's recordings, models and home lie is of no use to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

import polars as pl

from voxaudit.answer import Answer, Figure, Finding, Note, Refusal, Table, Tables
from voxaudit.recognize.services.address import is_private
from voxaudit.render.document import Case, Chapter, GateResult, Question, Report

Words = Callable[[str], str]
"""Returns a text without the folders in it."""

_PART = r"[^\s/\\'\"`<>|;,:()\[\]{}\u201c\u201d]+"
# An address of the web; or an absolute path of two names at least (Windows has further beginnings: \\server\share,
# \\?\C:), or one that climbs out of a folder, in running text. A slash in a word is none.
_PLACE = re.compile(
    r"(?P<address>https?://[^\s'\"`<>|]+)"
    r"|(?<![\w./\\~-])(?:file://|\\\\[?.](?:\\(?=[A-Za-z]:))?|(?<!:)[/\\](?=[/\\]\w))?"
    rf"(?:(?:~[\w.-]*|[A-Za-z]:)?(?:[/\\]{_PART}){{2,}}|~[\w.-]*[/\\]{_PART}|\.\.(?:[/\\]{_PART})+)[/\\]?"
)
_CLIMB = r"(?<![\w./\\])(?:\.\.[/\\])*(?:\.\.)?"
"""What may stand before a folder that a relative path leads to."""


def published(report: Report, roots: Iterable[str | Path] = ()) -> Report:
    """Return a report without folders of this machine; below `roots`, paths are relative to them."""
    words = without_folders(roots)
    clean: Report = replace(
        _cleaned(report, words),
        facts=tuple((name, words(value)) for name, value in report.facts),
        config=_plain(report.config, words),
        labels={id_: words(sentence) for id_, sentence in report.labels.items()},
    )
    return clean


def without_folders(roots: Iterable[str | Path] = ()) -> Words:
    """Return what takes folders out of a text: a value that is a path keeps its name, so does a path in a sentence."""
    # Both may have a space in their name, which no pattern could tell from a sentence.
    below = [_CLIMB + re.escape(root) + r"[/\\]" for root in _folders(roots)]
    home = [_CLIMB + re.escape(root) + r"(?![\w.-])" for root in _folders(_home())]

    def words(text: str) -> str:
        if "/" not in text and "\\" not in text:
            return text
        for pattern in below:
            text = re.sub(pattern, "", text)
        for pattern in home:
            text = re.sub(pattern, "~", text)
        return _PLACE.sub(_name, text)

    return words


def _folders(roots: Iterable[str | Path]) -> list[str]:
    """Return those of some folders that are absolute, the deepest first."""
    names = {
        str(root).rstrip("/\\")
        for root in roots
        if PurePosixPath(str(root)).is_absolute() or PureWindowsPath(str(root)).is_absolute()
    }
    return sorted((name for name in names if len(name) > 1), key=len, reverse=True)


def _home() -> list[Path]:
    try:
        return [Path.home()]
    except RuntimeError:  # a user without a home
        return []


def _name(found: re.Match[str]) -> str:
    if found["address"]:
        return _without_host(found["address"])
    return re.split(r"[/\\]", found[0].rstrip("/\\"))[-1]


def _without_host(address: str) -> str:
    """Return an address as it is; of one in one's own network no host."""
    try:
        private, path = is_private(address), urlsplit(address).path
    except ValueError:
        return "(address)"
    return f"(private address){path}" if private else address


def _value(text: str, words: Words) -> str:
    """Return a value of the configuration: of a path its name."""
    whole = PureWindowsPath(text) if "\\" in text else PurePosixPath(text)
    shorter = words(text)
    if whole.is_absolute() and shorter == text:
        return whole.name or "."
    return shorter


def _plain(value: Any, words: Words) -> Any:
    if isinstance(value, str):
        return _value(value, words)
    if isinstance(value, Mapping):
        return {key: _plain(item, words) for key, item in value.items() if key != "folder"}
    if isinstance(value, list | tuple):
        return [_plain(item, words) for item in value]
    return value


_SAID: dict[type, str] = {
    Report: "title subtitle summary chapters gates",
    Question: "answers",
    Chapter: "answers lead cases tables notes refusals",
    Answer: "title question findings tables figures notes refusals lead",
    Finding: "sentence command",
    Figure: "title alt",
    Note: "text facts",
    Refusal: "about text facts remedy",
    GateResult: "sentence",
    Case: "utterance",
}
"""Where a value may name a folder: its fields that are texts, or hold further values."""


def _cleaned(value: Any, words: Words) -> Any:
    """Return a text, a value of a report or several of them without folders."""
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Table):
        return _table(value, words)
    if isinstance(value, Tables):
        return Tables(_table(table, words) for table in value.shown)
    if isinstance(value, tuple):
        return tuple(_cleaned(item, words) for item in value)
    if isinstance(value, Mapping):
        return _plain(value, words)
    names = _SAID[type(value)].split()
    return replace(value, **{name: _cleaned(getattr(value, name), words) for name in names})


def _table(table: Table, words: Words) -> Table:
    """Return a table whose texts hold no folder; most hold no slash, and stay as they are."""
    frame = table.frame
    changed = []
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        known = sorted({text for text in column.to_list() if text})
        new = {text: shorter for text in known if (shorter := words(text)) != text}
        if new:
            changed.append(column.replace(list(new), list(new.values())))
    return replace(
        table,
        title=words(table.title),
        note=words(table.note),
        frame=frame.with_columns(changed) if changed else frame,
    )
