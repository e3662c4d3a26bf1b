"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from voxaudit.corpus import Corpus


def names(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list written with commas, without empty ones."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a corpus is to be read."""
    parser.add_argument("--format", help="the corpus format (see: voxaudit list corpora)")
    parser.add_argument("--columns", metavar="NAME=COLUMN,...", default="", help="which column is which")
    parser.add_argument("--skip-bad-rows", action="store_true", help="leave bad rows out instead of stopping")


def read_corpus_as_asked(path: str | Path, args: argparse.Namespace) -> Corpus:
    """Return the corpus at `path`, read as `add_corpus_arguments` lets the user say."""
    from voxaudit.corpus import parse_columns, read_corpus

    return read_corpus(
        path,
        format=args.format,
        columns=parse_columns(args.columns) or None,
        skip_bad_rows=args.skip_bad_rows,
    )
