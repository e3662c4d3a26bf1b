"""What users can set, each thing declared once: its type, default, range and meaning.

A declaration is a field of a frozen dataclass made by `option`, or an `Option` beside the audit that takes it. From it
follow the checks of a Python call, the keys of `audit.toml` with their errors and JSON schema, the flags of the
commands, and the page `docs/reference.md`.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest, unknown

F = TypeVar("F", bound=Callable[..., Any])

Place = Literal["toml", "command"]

READ_AS: dict[str, Any] = {
    **dict.fromkeys(("text", "file"), str),
    **dict.fromkeys(("names", "specs", "clauses"), tuple[str, ...]),
    **dict.fromkeys(("columns", "pairs", "pairs+"), dict[str, str]),
    **{"count": int, "number": float, "numbers": tuple[float, ...], "flag": bool},
}
"""How the command line reads an option of an audit, and what it is then: names, specs (names that may have settings)
and numbers are lists with commas, clauses can be given repeatedly, columns are NAME=COLUMN pairs and pairs other
NAME=VALUE ones, pairs+ also with blanks between them."""


@dataclass(frozen=True)
class Range:
    """The numbers that something may be.

    >>> 0.0 in Range(above=0, at_most=5000), str(Range(above=0, at_most=5000)), str(Range(at_least=1, at_most=4))
    (False, 'above 0 and at most 5,000', 'from 1 to 4')
    """

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def __contains__(self, number: float) -> bool:
        return not (
            math.isnan(number)
            or (self.at_least is not None and number < self.at_least)
            or (self.above is not None and number <= self.above)
            or (self.at_most is not None and number > self.at_most)
            or (self.below is not None and number >= self.below)
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least:g} to {self.at_most:,}"
        ends = ("at_least", "above", "at_most", "below")
        known = {name: end for name in ends if (end := getattr(self, name)) is not None}
        return " and ".join(f"{name.replace('_', ' ')} {end:,}" for name, end in known.items())


def out_of_range(value: Any) -> tuple[Field[Any], Range] | None:
    """Return the first field of a dataclass whose value lies outside the range in its metadata, if any does."""
    for one in fields(value):
        allowed, number = one.metadata.get("range"), getattr(value, one.name)
        if allowed is not None and isinstance(number, Real) and number not in allowed:
            return one, allowed
    return None


@dataclass(frozen=True)
class Option:
    """One thing a user can set: one name, one meaning, in Python, in `audit.toml` and on the command line alike.

    `kind` is its type, or a word of `READ_AS`; `places` are those where it can be set, besides a Python call. `unset`
    says in words what holds where the default is None, `off` what the flag does that switches it off.
    """

    meaning: str
    kind: Any = "text"
    metavar: str = ""
    choices: tuple[str, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    name: str = ""
    default: Any = field(default_factory=lambda: MISSING)  # MISSING itself would leave it without a default
    places: tuple[Place, ...] = ("toml", "command")
    unset: str = ""
    off: str = ""

    def noting(self, note: str) -> Option:
        """Return the option with a remark of one audit or command behind its meaning, which stays the same.

        >>> Option("utterances per speaker (at most)").noting("default: all").meaning
        'utterances per speaker (default: all)'
        """
        return replace(self, meaning=f"{self.meaning.partition(' (')[0]} ({note})")

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types it may have."""
        kind = READ_AS[self.kind] if isinstance(self.kind, str) else self.kind
        return get_args(kind) if isinstance(kind, UnionType) else (kind,)

    @property
    def required(self) -> bool:
        """True where there is no default."""
        return self.default is MISSING

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a value, to follow the option's name; None where it can be used."""
        if not any(_is(value, kind) for kind in self.kinds):
            return f"must be {self.types}, not {one_line(repr(value), 60)}"
        items = value if isinstance(value, list | tuple) else [value]
        for item in items:
            if self.choices and isinstance(item, str) and item not in self.choices:
                close = suggest(item, list(self.choices))
                return f"must be {' or '.join(self.choices)}, not {one_line(repr(item), 60)}.{close}".rstrip(
                    "."
                )
            if isinstance(item, Real) and not isinstance(item, bool) and float(item) not in self.range:
                return f"must be {self.range}, not {float(item):.12g}"
        return None

    @property
    def types(self) -> str:
        """The types it may have, in words."""
        kinds = [kind for kind in self.kinds if kind is not NoneType]
        if Path in kinds:  # a path may be written as text
            kinds = [kind for kind in kinds if kind is not str]
        said = " or ".join(map(_kind_name, kinds))
        return said if len(kinds) == 1 else said.replace("true or false", "true, false")

    @property
    def range(self) -> Range:
        """The numbers it may be; its text is empty where any will do."""
        return Range(self.at_least, self.above, self.at_most)

    @property
    def default_said(self) -> str:
        """The default in words; empty where there is none or it goes without saying."""
        if self.required or self.default is None:
            return self.unset
        if self.default in ("", (), {}):
            return ""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if isinstance(self.default, tuple):
            return ", ".join(map(str, self.default))
        return f"{self.default:g}" if isinstance(self.default, int | float) else str(self.default)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its value in a TOML file."""
        kinds = [_kind_schema(kind) for kind in self.kinds if kind is not NoneType]
        unique = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
        found: dict[str, Any] = dict(unique[0]) if len(unique) == 1 else {"anyOf": unique}
        limits = {
            "minimum": self.at_least,
            "exclusiveMinimum": self.above,
            "maximum": self.at_most,
            "enum": list(self.choices) or None,
        }
        inner = found["items"] if found.get("type") == "array" else found
        inner.update({key: value for key, value in limits.items() if value is not None})
        found["description"] = self.meaning
        if not self.required and self.default is not None:
            found["default"] = list(self.default) if isinstance(self.default, tuple) else self.default
        return found


def option(default: Any = MISSING, meaning: str = "", **more: Any) -> Any:
    """Return a dataclass field that is an option; `more` are further fields of `Option`."""
    made = {"option": {"meaning": meaning, **more}}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=made)
    return field(default=default, metadata=made)


def options_of(cls: type) -> Mapping[str, Option]:
    """Return the options that a dataclass declares, by name."""
    hints = get_type_hints(cls)
    return {
        one.name: Option(
            kind=hints[one.name],
            name=one.name,
            default={} if one.default_factory is not MISSING else one.default,
            **one.metadata["option"],
        )
        for one in fields(cls)
        if "option" in one.metadata
    }


def check_options(value: Any) -> None:
    """Raise one line for the first option of a dataclass with a value it cannot have: call it in `__post_init__`."""
    for name, one in options_of(type(value)).items():
        problem = one.problem(getattr(value, name))
        if problem is not None:
            raise VoxauditError(f"{name} {problem}")


def _is(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(_is(item, get_args(kind)[0]) for item in value)
    if origin is dict:
        inner = get_args(kind)[1]
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and _is(item, inner) for key, item in value.items()
        )
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    wanted: Any = {int: Integral, float: Real, Path: (str, Path)}.get(kind, kind)
    return isinstance(value, wanted)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a recording may cost before it is refused, and a worker's memory: the section `[limits]`.

    A few bytes can say that they are hours of audio; one recording must not cost the machine.

    >>> Limits(longest=600).lowest_rate
    1000
    """

    longest: float = option(
        3600.0, "seconds of a recording, or of the part of it that is heard", above=0, at_most=1_000_000
    )
    lowest_rate: int = option(1000, "samples per second of a recording, at least", at_least=1)
    largest: float = option(4096.0, "megabytes of an audio file", above=0)
    memory: float | None = option(
        None,
        "gigabytes of address space of a worker process, where the system can bound it",
        above=0,
        unset="no limit",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a corpus is heard: what every function and command that hears has in common.

    Where a function takes `options` it takes each of these by name too, which then counts: `run_trials(...,
    options=mine, workers=2)`. `docs/reference.md` lists all with their meaning.
    """

    seed: int = option(0, "seed of everything random", at_least=0, metavar="N")
    workers: int | None = option(
        None,
        "processes that work at the same time",
        at_least=1,
        unset="one per core; on Ray: as many replicas as fit",
        metavar="N",
    )
    timeout: float = option(
        120.0, "seconds a recognizer may take for one utterance", above=0, metavar="SECONDS"
    )
    retries: int = option(1, "further attempts after a failure", at_least=0, metavar="N")
    cache: bool | str | Path = option(
        True,
        "reuse transcripts of other runs on this machine; a path: the folder they are in",
        off="do not use transcripts of other runs",
    )
    retry_failed: bool = option(False, "hear trials again that failed before", places=("command",))
    max_cost: float | None = option(
        None,
        "stop before services have billed more than this, in US dollars",
        at_least=0,
        unset="no limit",
        places=("command",),
        metavar="USD",
    )
    max_minutes: float | None = option(
        None,
        "stop before services have billed more minutes of audio",
        at_least=0,
        unset="no limit",
        places=("command",),
        metavar="N",
    )
    executor: str = option("local", "hear on this machine or on a Ray cluster", choices=("local", "ray"))
    ray_address: str | None = option(
        None,
        "the Ray cluster: auto, host:port or ray://host:port; unless an executor is named, it is ray",
        unset="the one Ray finds",
        metavar="ADDRESS",
    )
    replica_cpus: float = option(1.0, "processors that a replica takes on Ray", at_least=0, metavar="N")
    replica_gpus: float = option(
        0.0, "graphics processors that a replica takes on Ray", at_least=0, metavar="N"
    )
    publish: str | None = option(
        None, "copy the finished run to s3://bucket/folder, gs://...", unset="nowhere", metavar="URL"
    )
    progress: bool = option(True, "show progress where there is a terminal", places=())
    limits: Limits = option(Limits(), "what a recording and a worker may cost", places=())

    def __post_init__(self) -> None:
        check_options(self)

    @classmethod
    def of(cls, options: RunOptions | None = None, **given: Any) -> RunOptions:
        """Return `options` (the defaults, if none) with what is given by name instead; unknown names raise one line."""
        known = list(options_of(cls))
        for name in given:
            if name not in known:
                raise unknown("unknown option", name, known, there="Known")
        if given.get("ray_address") is not None:
            given.setdefault("executor", "ray")
        return replace(options or cls(), **given)

    @property
    def processes(self) -> int:
        """How many recognizer processes there are on this machine."""
        return self.workers or os.cpu_count() or 1

    def on_demand(self) -> RunOptions:
        """Return the options for an audit that chooses what to hear by what it has heard.

        It hears on this machine and keeps no budget: options that ask for more are at their defaults.
        """
        return replace(self, **{name: options_of(RunOptions)[name].default for name in _WHOLE_GRID})

    def require_on_demand(self) -> None:
        """Raise one line where an option is set that an audit which chooses what to hear cannot keep."""
        plain = self.on_demand()
        wrong = tuple(name for name in _WHOLE_GRID if getattr(self, name) != getattr(plain, name))
        if wrong:
            raise VoxauditError(
                "an audit that chooses what to hear next works on this machine, keeps no budget and tries no failure"
                " again: leave this out",
                see=wrong,
            )


ON_DEMAND = ("seed", "workers", "timeout", "retries", "cache")
"""Options of audits that choose what to hear by what they have heard."""

_WHOLE_GRID = ("executor", "max_cost", "max_minutes", "retry_failed", "publish")
"""Options that only a run of the whole grid can keep."""


def with_keywords(signature: inspect.Signature, named: Iterable[inspect.Parameter]) -> inspect.Signature:
    """Name parameters in the place of `**given`: `help`, notebooks and `inspect` then show them."""
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    new = [one for one in named if one.name not in signature.parameters]
    return signature.replace(parameters=[*own, *new])


def takes_options(*names: str, more: Iterable[inspect.Parameter] = ()) -> Callable[[F], F]:
    """Have the signature of a function with `**given` name the options of a run, or some of them, and `more`.

    For a type checker they are typed in `options=RunOptions(...)`.
    """
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.kind)
        for name, one in options_of(RunOptions).items()
        if name in names or not names
    ]

    def named(function: F) -> F:
        signature = with_keywords(inspect.signature(function), [*more, *options])
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return named


_NAMES = {
    bool: ("true or false", "booleans", "boolean"),
    int: ("a whole number", "whole numbers", "integer"),
    float: ("a number", "numbers", "number"),
    str: ("text", "texts", "string"),
    Path: ("a path", "paths", "string"),
}
"""What a type is called: one value, several, and in a JSON schema."""


def _kind_name(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a list of {_NAMES[get_args(kind)[0]][1]}"
    if get_origin(kind) is dict:
        return f"a table of {_NAMES[get_args(kind)[1]][1]}"
    return _NAMES[kind][0] if kind in _NAMES else kind.__name__


def _kind_schema(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _kind_schema(get_args(kind)[0])}
    if get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": _kind_schema(get_args(kind)[1])}
    return {"type": _NAMES[kind][2]}
