"""Arguments of the commands, declared once by name: a flag means the same thing wherever it is."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS
from voxaudit.options import Option

if TYPE_CHECKING:
    from pathlib import Path

    from voxaudit.config import AuditConfig
    from voxaudit.corpus import Corpus
    from voxaudit.options import RunOptions

SHARED: dict[str, Option] = {
    **OPTIONS,
    "json": Option("print one JSON document and nothing else", "flag"),
    "plot": Option(
        "write the answer's figure (.svg or .png; NAME=FILE chooses one of several, NAME alone writes NAME.svg)",
        "file",
        "FILE",
    ),
    "export": Option("write it to a file", "file", "FILE"),
    "schema": Option("the JSON schema", "flag"),
    "host": Option("the address to listen on (default: 127.0.0.1, this machine only)", metavar="ADDRESS"),
    "port": Option("the port to listen on (default: a free one)", "count", "N"),
    "allow_remote": Option(
        "let other machines in (whoever has a link can hear and read what it leads to)", "flag"
    ),
}
"""What several commands take: what audits do, and how things are shown and served."""


def names(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list written with commas, without empty ones."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def number_list(text: str) -> tuple[float, ...]:
    """Return the numbers of a list written with commas, as the type of an argument."""
    try:
        return tuple(float(part) for part in names(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes numbers with commas between them, not '{text}'") from None


class Pairs(argparse.Action):
    """NAME=VALUE pairs with commas or blanks between them, as one mapping."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any
    ) -> None:
        """Store the pairs."""
        setattr(namespace, self.dest, {name: value for some in values for name, value in some.items()})


def pairs(text: str) -> dict[str, str]:
    """Return the NAME=VALUE pairs of a list written with commas, as the type of an argument."""
    found = {}
    for part in names(text):
        name, equals, value = part.partition("=")
        if not (equals and name and value):
            raise argparse.ArgumentTypeError(f"takes NAME=VALUE with commas between them, not '{text}'")
        found[name] = value
    return found


_BETWEEN_RECOGNIZERS = re.compile(r',(?!\s*[A-Za-z_]\w*\s*=)(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
"""A comma, but not one between the settings of a recognizer or within quotes."""


def recognizer_list(text: str | None) -> tuple[str, ...]:
    """Return the recognizers of a list with commas; each may have settings: `moonshine:model=base,threads=2`."""
    parts = _BETWEEN_RECOGNIZERS.split(text or "")
    return tuple(part.strip() for part in parts if part.strip())


def add_run_arguments(parser: argparse._ActionsContainer, *only: str) -> None:
    """Declare the options of a run, or `only` some of them, as flags; one that is true by default is `--no-NAME`."""
    from voxaudit.options import RunOptions, options_of

    for name, one in options_of(RunOptions).items():
        if "command" in one.places and (not only or name in only):
            add_option(parser, name, one, one.default, unset=True)


def typed(one: Option) -> Callable[[str], Any]:
    """Return how the text of a flag becomes an option's value, checked."""
    kind = next(kind for kind in (int, float, str) if kind in one.kinds)

    def value(text: str) -> Any:
        try:
            found: Any = kind(text)
        except ValueError:
            found = text
        problem = one.problem(found)
        if problem is not None and not one.choices:  # of choices argparse itself takes care
            raise argparse.ArgumentTypeError(problem)
        return found

    return value


def options_as_asked(args: argparse.Namespace, options: RunOptions | None = None) -> RunOptions:
    """Return `options` (the defaults, if none) with what the flags of `add_run_arguments` say instead."""
    from voxaudit.options import RunOptions, options_of

    given = {name: getattr(args, name, None) for name in options_of(RunOptions)}
    return RunOptions.of(options, **{name: value for name, value in given.items() if value is not None})


def as_asked(config: AuditConfig, args: argparse.Namespace) -> AuditConfig:
    """Return the configuration with what the command line says instead: `--out` and the options of a run."""
    from dataclasses import replace
    from pathlib import Path

    return replace(
        config, out=Path(args.out) if args.out else config.out, options=options_as_asked(args, config.options)
    )


def take(
    parser: argparse._ActionsContainer, flags: str, own: Mapping[str, Option] | None = None, **defaults: Any
) -> None:
    """Declare flags by the names of their options, in one text: those of `SHARED` and the command's `own`.

    A name with `!` must be given. `defaults` are by name.
    """
    known = {**SHARED, **(own or {})}
    for word in flags.split():
        name = word.rstrip("!")
        add_option(parser, name, known[name], defaults.get(name), required=word.endswith("!"))


def add_option(
    parser: argparse._ActionsContainer,
    name: str,
    option: Option,
    default: Any = None,
    *,
    required: bool = False,
    unset: bool = False,
) -> None:
    """Declare the flag of an option; one that is true by default is `--no-NAME`.

    With `unset`, it is None where it is not given: what holds then stands elsewhere, and the help says it.
    """
    said, dashed = option.meaning.replace("%", "%%"), name.replace("_", "-")
    if option.kind == "flag" or isinstance(default, bool):
        parser.add_argument(
            f"--no-{dashed}" if default else f"--{dashed}",
            dest=name,
            action="store_const",
            const=not default,
            default=None if unset else bool(default),
            help=option.off or f"not: {said}" if default else said,
        )
        return
    usual = option.default_said if unset else _shown(default)
    if usual and "default" not in said:
        said = f"{said} (default: {usual})"
    settings: dict[str, Any] = {
        "dest": name,
        "metavar": None if option.choices else option.metavar or None,
        "choices": option.choices or None,
        "help": said,
    }
    if option.kind in ("clauses", "columns"):
        parser.add_argument(f"--{dashed}", action="append", default=list(default or ()), **settings)
        return
    readers: dict[str, Callable[[str], Any]] = {
        # The settings of a recognizer or a scenario have commas of their own.
        "names": names,
        "specs": recognizer_list,
        "numbers": number_list,
        "pairs": pairs,
        "pairs+": pairs,
    }
    if option.kind == "pairs+":
        settings |= {"nargs": "+", "action": Pairs}
    settings["type"] = readers[option.kind] if option.kind in readers else typed(option)
    parser.add_argument(f"--{dashed}", default=None if unset else default, required=required, **settings)


def _shown(default: Any) -> str:
    if default in (None, "", (), []):
        return ""
    return ",".join(map(str, default)) if isinstance(default, list | tuple) else str(default)


CORPUS = "format columns skip_bad_rows"
"""How a corpus is to be read."""


def columns_as_asked(args: argparse.Namespace) -> dict[str, str] | None:
    """Return which column is which, as `--columns` says, once or several times; None where it says nothing."""
    from voxaudit.corpus import parse_columns

    return parse_columns(",".join(args.columns)) or None


def read_corpus_as_asked(path: str | Path, args: argparse.Namespace) -> Corpus:
    """Return the corpus at `path`, read as the flags `CORPUS` say."""
    from voxaudit.corpus import read_corpus

    return read_corpus(
        path,
        format=args.format,
        columns=columns_as_asked(args),
        skip_bad_rows=args.skip_bad_rows,
    )
