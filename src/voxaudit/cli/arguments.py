"""Arguments that several commands take, declared once: one name, one meaning."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from voxaudit.config import AuditConfig
    from voxaudit.corpus import Corpus


def names(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list written with commas, without empty ones."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def number_list(text: str) -> tuple[float, ...]:
    """Return the numbers of a list written with commas, as the type of an argument."""
    try:
        return tuple(float(part) for part in names(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes numbers with commas between them, not '{text}'") from None


def natural(text: str) -> int:
    """Return a whole number from 0, as the type of an argument."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Return a whole number from 1, as the type of an argument."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    value = int(text)
    if value < least:
        raise argparse.ArgumentTypeError(f"must be {least} or more, not {value}")
    return value


_BETWEEN_RECOGNIZERS = re.compile(r',(?!\s*[A-Za-z_]\w*\s*=)(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
"""A comma, but not one between the settings of a recognizer or within quotes."""


def recognizer_list(text: str | None) -> tuple[str, ...]:
    """Return the recognizers of a list with commas; each may have settings: `moonshine:model=base,threads=2`."""
    parts = _BETWEEN_RECOGNIZERS.split(text or "")
    return tuple(part.strip() for part in parts if part.strip())


def as_asked(config: AuditConfig, args: argparse.Namespace) -> AuditConfig:
    """Return the configuration with what the command line says instead: --out, --workers, --seed, --no-cache ..."""
    from dataclasses import replace

    given = {
        name: value
        for name in ("out", "workers", "seed", "executor", "ray_address", "publish")
        if (value := getattr(args, name, None)) is not None
    }
    if args.no_cache:
        given["cache"] = False
    return replace(config, **given)


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a corpus is to be read."""
    parser.add_argument(
        "--format", help="the corpus format (see: voxaudit list corpora); found out if not given"
    )
    add_column_argument(parser)
    parser.add_argument(
        "--skip-bad-rows", action="store_true", help="leave bad rows out instead of stopping at them"
    )


def add_column_argument(parser: argparse.ArgumentParser) -> None:
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
