"""Arguments that several commands take, declared once: one name, one meaning."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from voxaudit.config import AuditConfig
    from voxaudit.corpus import Corpus
    from voxaudit.options import Option, RunOptions


def names(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list written with commas, without empty ones."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def number_list(text: str) -> tuple[float, ...]:
    """Return the numbers of a list written with commas, as the type of an argument."""
    try:
        return tuple(float(part) for part in names(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes numbers with commas between them, not '{text}'") from None


def pairs(text: str) -> dict[str, str]:
    """Return the NAME=VALUE pairs of a list written with commas, as the type of an argument."""
    found = {}
    for part in names(text):
        name, equals, value = part.partition("=")
        if not (equals and name and value):
            raise argparse.ArgumentTypeError(f"takes NAME=VALUE with commas between them, not '{text}'")
        found[name] = value
    return found


def natural(text: str) -> int:
    """Return a whole number from 0, as the type of an argument."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Return a whole number from 1, as the type of an argument."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    value = int(text)
    if value < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, not {value}")
    return value


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
        if "command" not in one.places or (only and name not in only):
            continue
        flag = name.replace("_", "-")
        if isinstance(one.default, bool):
            parser.add_argument(
                f"--no-{flag}" if one.default else f"--{flag}",
                dest=name,
                action="store_const",
                const=not one.default,
                help=one.off or one.meaning,
            )
            continue
        said = f" (default: {one.default_said})" if one.default_said else ""
        parser.add_argument(
            f"--{flag}",
            type=typed(one),
            choices=one.choices or None,
            metavar=one.metavar or None,
            help=(one.meaning + said).replace("%", "%%"),
        )


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

    return replace(config, out=args.out or config.out, options=options_as_asked(args, config.options))


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a corpus is to be read."""
    parser.add_argument(
        "--format", help="the corpus format (see: voxaudit list corpora); found out if not given"
    )
    add_column_argument(parser)
    parser.add_argument(
        "--skip-bad-rows", action="store_true", help="leave bad rows out instead of stopping at them"
    )


def add_column_argument(parser: argparse._ActionsContainer) -> None:
    """Declare which column of a table is which."""
    parser.add_argument(
        "--columns",
        metavar="NAME=COLUMN,...",
        action="append",
        default=[],
        help="which column is which, for example text=sentence,speaker=client_id",
    )


def columns_as_asked(args: argparse.Namespace) -> dict[str, str] | None:
    """Return which column is which, as `--columns` says, once or several times; None where it says nothing."""
    from voxaudit.corpus import parse_columns

    return parse_columns(",".join(args.columns)) or None


def read_corpus_as_asked(path: str | Path, args: argparse.Namespace) -> Corpus:
    """Return the corpus at `path`, read as `add_corpus_arguments` lets the user say."""
    from voxaudit.corpus import read_corpus

    return read_corpus(
        path,
        format=args.format,
        columns=columns_as_asked(args),
        skip_bad_rows=args.skip_bad_rows,
    )
