"""`voxaudit list`: what there is to choose from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import take
from voxaudit.cli.ask import example, show

if TYPE_CHECKING:
    from voxaudit.answer import Table

EXAMPLE = "voxaudit list scenarios"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=tuple(_TABLES), help="what to list")
    take(parser, "json")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.answer import Answer, Tables

    tables = Tables(_TABLES[args.kind]())
    show(Answer("list", args.kind.capitalize(), {"kind": args.kind}, tables=tables), args)
    return 0


def _scenarios() -> list[Table]:
    from voxaudit.answer import tabulate
    from voxaudit.perturb.describe import describe_scenarios

    rows = describe_scenarios()
    for before, row in zip([{}, *rows], rows, strict=False):
        row["said"] = "" if row["what"] == before.get("what") else row["what"]  # once, where it is first true
    families = dict.fromkeys(row["family"] for row in rows)
    shown = ["scenario", "setting", ("said", "what")]
    return [
        tabulate(family, family, [row for row in rows if row["family"] == family], shown)
        for family in families
    ]


def _suites() -> list[Table]:
    from voxaudit.perturb import SUITES

    return _table(
        {
            "suite": one.name,
            "scenarios": len(one.scenarios),
            "what": one.description,
            "which": list(one.scenarios),
        }
        for one in SUITES.values()
    )


def _recognizers() -> list[Table]:
    from voxaudit.recognize import describe_engines

    return _table(
        (
            {
                "recognizer": one.name,
                "installed": "yes" if one.installed else f"[{one.extra}]",
                "what": one.description,
                "settings": list(one.settings),
                "said": f"{one.description} Settings: {', '.join(one.settings) or 'none'}",
            }
            for one in describe_engines()
        ),
        ["recognizer", "installed", ("said", "what")],
        "[EXTRA] is to be installed with: pip install 'voxaudit[EXTRA]'",
    )


def _corpora() -> list[Table]:
    from voxaudit.corpus import FORMATS

    readers = (FORMATS.load(name) for name in FORMATS.names())
    return _table(
        (
            {
                "format": one.name,
                "what": one.description,
                "example": one.example,
                "said": f"{one.description}. Example: {one.example}",
            }
            for one in readers
        ),
        ["format", ("said", "what")],
    )


def _normalizers() -> list[Table]:
    from voxaudit.score.normalize import NORMALIZERS

    return _table(
        {"normalizer": one.name, "version": one.version, "what": one.description}
        for one in NORMALIZERS.values()
    )


def _audits() -> list[Table]:
    from voxaudit.audits.audit import AUDITS, find_audit

    audits = map(find_audit, AUDITS.names())
    return _table({"audit": one.name, "what": one.summary, "example": example(one)} for one in audits)


def _table(records: Iterable[dict[str, Any]], shown: Sequence[Any] = (), note: str = "") -> list[Table]:
    """Return a table of records that shows all they hold, or the columns `shown`."""
    from voxaudit.answer import tabulate

    rows = list(records)
    return [tabulate(next(iter(rows[0])), "", rows, shown or list(rows[0]), note=note)]


_TABLES = {
    "scenarios": _scenarios,
    "suites": _suites,
    "recognizers": _recognizers,
    "corpora": _corpora,
    "normalizers": _normalizers,
    "audits": _audits,
}
