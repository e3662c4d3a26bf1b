"""A recognizer in one line of text: `moonshine`, `moonshine:threads=2`, `command:my-asr {audio}`."""

from __future__ import annotations

import re

from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError

_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=")
_SEPARATOR = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")


def split_spec(text: str) -> tuple[str, str, dict[str, str]]:
    """Return (engine, value without a name, settings) of `engine[:[value,]key=value[,key=value]...]`.

    A comma separates only where `key=` follows, so that values may hold commas; a value in double quotes may
    hold anything. The value without a name is the engine's main setting: the command, the file, the function.
    """
    engine, colon, rest = text.partition(":")
    if not engine.strip():
        raise RecognizerError(
            f"'{one_line(text, 80)}' names no recognizer. Write ENGINE or ENGINE:key=value,..."
        )
    settings: dict[str, str] = {}
    unnamed = ""
    first = True
    while colon and rest.strip():
        match = _KEY.match(rest)
        if match is None and not first:
            raise RecognizerError(f"recognizer '{engine}': key=value expected at '{one_line(rest, 40)}'")
        value, rest = _value(rest[match.end() :] if match else rest, engine)
        if match is None:
            unnamed = value
        elif match[1] in settings:
            raise RecognizerError(f"recognizer '{engine}': setting '{match[1]}' is given twice")
        else:
            settings[match[1]] = value
        first = False
    return engine.strip(), unnamed, settings


def _value(text: str, engine: str) -> tuple[str, str]:
    """Return the value at the start of `text` and what follows its comma."""
    stripped = text.lstrip()
    if stripped.startswith('"'):
        end = stripped.find('"', 1)
        tail = stripped[end + 1 :].lstrip()
        if end > 0 and not tail:
            return stripped[1:end], ""
        if end > 0 and tail.startswith(","):
            return stripped[1:end], tail[1:]
        if end < 0:
            raise RecognizerError(f"recognizer '{engine}': a quote is not closed in '{one_line(text, 60)}'")
    parts = _SEPARATOR.split(text, maxsplit=1)
    return parts[0].strip(), parts[1] if len(parts) > 1 else ""
