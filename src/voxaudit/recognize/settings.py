"""Settings of a recognizer: the fields of its dataclass, filled from text or TOML and checked by their types."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from voxaudit.errors import one_line
from voxaudit.options import Range, out_of_range
from voxaudit.recognize.base import RecognizerError
from voxaudit.registry import unknown

T = TypeVar("T")


def setting(
    default: Any = MISSING, *, help: str, path: bool = False, choices: Sequence[str] = (), **limits: float
) -> Any:
    """Return a dataclass field for a setting with a line of help; `path` marks files and folders.

    `choices` and `limits` (the fields of `Range`) say which values it may have: `check_settings` looks after that.
    """
    known = {"help": help, "path": path, "range": Range(**limits), "choices": choices}
    return field(default=default, metadata=known)


def threads() -> Any:
    """Return the setting of engines that compute on the CPU."""
    return setting(1, help="CPU threads per worker; more workers are faster than more threads", at_least=1)


def revision() -> Any:
    """Return the setting of engines whose models may be at the Hub."""
    return setting("", help="branch, tag or commit at the Hub")


def longest() -> Any:
    """Return the setting of engines whose models hear only so much at a time."""
    return setting(
        30.0, help="longer audio is cut at pauses into pieces of at most so many seconds", at_least=1
    )


def batch_seconds() -> Any:
    """Return the setting of engines that hear batches: what fits into a GPU's memory is seconds, not utterances."""
    return setting(
        0.0,
        help="most seconds of audio per call, each clip counted as long as the longest; 0: no limit",
        at_least=0,
    )


def check_settings(recognizer: Any, engine: str) -> None:
    """Raise one line for the first setting with a value that it cannot have: call it in `__post_init__`."""
    if (wrong := out_of_range(recognizer)) is not None:
        number = getattr(recognizer, wrong[0].name)
        raise RecognizerError(f"recognizer '{engine}': {wrong[0].name} must be {wrong[1]}, not {number:g}")
    for f in fields(recognizer):
        value, known = getattr(recognizer, f.name), f.metadata.get("choices")
        if known and value not in known:
            raise RecognizerError(
                f"recognizer '{engine}': {f.name} must be one of {', '.join(known)}, not '{one_line(value, 40)}'"
            )


def build(cls: type[T], engine: str, settings: Mapping[str, Any]) -> T:
    """Return `cls(**settings)` after checking names and types; a mistake raises one line with the remedy."""
    if not is_dataclass(cls):
        return cls(**settings)
    known = {f.name: f for f in fields(cls) if f.init}
    for name in settings:
        if name not in known:
            what = f"recognizer '{engine}': unknown setting"
            raise unknown(what, name, known, there="Settings", error=RecognizerError)
    for name, f in known.items():
        if name not in settings and f.default is MISSING and f.default_factory is MISSING:
            help_ = f": {f.metadata['help']}" if f.metadata.get("help") else ""
            raise RecognizerError(f"recognizer '{engine}' needs the setting '{name}'{help_}")
    hints = get_type_hints(cls)
    values = {
        name: convert(value, hints[name], f"recognizer '{engine}': {name}")
        for name, value in settings.items()
    }
    return cls(**values)


def convert(value: Any, hint: Any, where: str) -> Any:
    """Return `value` as the type of a field (bool, int, float, str or one of them or None); else raise one line.

    Text is read as the type asks: settings come from the command line as text, from TOML with types.
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if NoneType in kinds and (value is None or (isinstance(value, str) and value.strip().lower() == "none")):
        return None
    for kind in (bool, int, float, str):
        if kind in kinds:
            return _as(kind, value, where)
    return value


def _as(kind: type, value: Any, where: str) -> Any:
    text = value.strip() if isinstance(value, str) else None
    if kind is str and text is not None:
        return value
    if kind is bool:
        if isinstance(value, bool):
            return value
        if text is not None and text.lower() in _BOOLS:
            return _BOOLS[text.lower()]
    elif kind is int and not isinstance(value, bool):
        if isinstance(value, int):
            return value
        if text is not None and re.fullmatch(r"[+-]?\d{1,18}", text):
            return int(text)
    elif kind is float and not isinstance(value, bool):
        try:
            number = float(text if text is not None else value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise RecognizerError(f"{where} must be {_NAMES[kind]}, not {one_line(repr(value), 60)}")


_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def settings_of(recognizer: Any) -> dict[str, Any]:
    """Return a recognizer's settings as they would be written in `audit.toml`."""
    if not is_dataclass(recognizer):
        return {}
    return {f.name: getattr(recognizer, f.name) for f in fields(recognizer) if f.init}


def describe_settings(cls: type) -> dict[str, str]:
    """Return {setting: its help and default} of a recognizer's dataclass."""
    if not is_dataclass(cls):
        return {}
    return {f.name: _describe(f.metadata.get("help", ""), f.default) for f in fields(cls) if f.init}


def _describe(help: str, default: Any) -> str:
    if default is MISSING:
        return f"{help} (required)".strip()
    return help if default in ("", None) else f"{help} (default {str(default).lower()})".strip()


def anchor(recognizer: T, folder: str | Path) -> T:
    """Return the recognizer with the relative paths that exist in `folder` taken from there.

    `audit.toml` means files beside itself; names of models and modules stay what they are.
    """
    if not is_dataclass(recognizer) or isinstance(recognizer, type):
        return recognizer
    moved = {}
    is_name = getattr(recognizer, "is_name", lambda value: False)
    for f in fields(recognizer):
        value = getattr(recognizer, f.name)
        if f.metadata.get("path") and isinstance(value, str) and value and not Path(value).is_absolute():
            candidate = Path(folder) / value
            there = candidate.exists() or Path(str(candidate).rpartition(":")[0]).is_file()
            if there and not is_name(value):
                moved[f.name] = str(candidate)
    return replace(recognizer, **moved) if moved else recognizer


# A recognizer in one line of text: `moonshine`, `moonshine:threads=2`, `command:my-asr {audio}`.

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
