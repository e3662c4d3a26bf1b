"""`voxaudit list`: what there is to choose from."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = "voxaudit list scenarios"
KINDS = ("scenarios", "suites", "recognizers", "corpora", "normalizers", "audits")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=KINDS, help="what to list")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.output import print_json, print_table

    rows = _ROWS[args.kind]()
    if args.json:
        print_json(rows)
    else:
        print_table("", list(rows[0]), _cells(rows))
    return 0


def _cells(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Return the rows as a table shows them: an explanation stands once, at the first row that it explains."""
    shown = []
    said = None
    for row in rows:
        cells = ["" if value is None else value for value in row.values()]
        if "what" in row and row["what"] == said:
            cells[list(row).index("what")] = ""
        said = row.get("what")
        shown.append(cells)
    return shown


def _scenarios() -> list[dict[str, Any]]:
    from dataclasses import MISSING

    from voxaudit.perturb import CLEAN, PERTURBATIONS
    from voxaudit.perturb.describe import describe_perturbation
    from voxaudit.perturb.scenario import parameters
    from voxaudit.perturb.slots import SLOTS

    rows: list[dict[str, Any]] = [
        {"scenario": CLEAN, "family": "", "setting": "", "what": "The recording as it is; always heard."}
    ]
    for name in PERTURBATIONS.names():
        kind = PERTURBATIONS.load(name)
        what = describe_perturbation(name, kind)
        for number, setting in enumerate(kind.severities, start=1):
            if f"{name}:{number}" in SLOTS:  # listed below, with what it needs
                continue
            text = ", ".join(f"{key}={value:g}" for key, value in setting.items())
            rows.append(
                {"scenario": f"{name}:{number}", "family": kind.family, "setting": text, "what": what}
            )
        free = parameters(kind)
        if not kind.severities and all(field.default is not MISSING for field in free):
            text = ", ".join(f"{field.name}={field.default:g}" for field in free)
            rows.append({"scenario": name, "family": kind.family, "setting": text, "what": what})
        if free:
            needed = [field.name for field in free if field.default is MISSING] or [free[0].name]
            more = ", ".join(field.name for field in free if field.name not in needed)
            own = ",".join(f"{parameter}=VALUE" for parameter in needed)
            setting = f"any; also {more}" if more else "any"
            rows.append(
                {"scenario": f"{name}:{own}", "family": kind.family, "setting": setting, "what": what}
            )
    slots = (
        {"scenario": id_, "family": "slot", "setting": "", "what": f"Needs {why}."}
        for id_, why in SLOTS.items()
    )
    return [*rows, *slots]


def _suites() -> list[dict[str, Any]]:
    from voxaudit.perturb import SUITES

    return [
        {
            "suite": suite.name,
            "scenarios": len(suite.scenarios),
            "what": suite.description,
            "which": ", ".join(suite.scenarios),
        }
        for suite in SUITES.values()
    ]


def _recognizers() -> list[dict[str, Any]]:
    from voxaudit.recognize import describe_engines

    return [
        {
            "recognizer": engine.name,
            "installed": "yes" if engine.installed else f"pip install 'voxaudit[{engine.extra}]'",
            "what": engine.description,
            "settings": ", ".join(engine.settings),
        }
        for engine in describe_engines()
    ]


def _corpora() -> list[dict[str, Any]]:
    from voxaudit.corpus import FORMATS

    readers = [FORMATS.load(name) for name in FORMATS.names()]
    return [
        {"format": reader.name, "what": reader.description, "example": reader.example} for reader in readers
    ]


def _normalizers() -> list[dict[str, Any]]:
    from voxaudit.score.normalize import NORMALIZERS

    return [{"normalizer": n.name, "version": n.version, "what": n.description} for n in NORMALIZERS.values()]


def _audits() -> list[dict[str, Any]]:
    from voxaudit.audits.audit import AUDITS, find_audit
    from voxaudit.cli.ask import example

    audits = [find_audit(name) for name in AUDITS.names()]
    return [{"audit": audit.name, "what": audit.summary, "example": example(audit)} for audit in audits]


_ROWS = {
    "scenarios": _scenarios,
    "suites": _suites,
    "recognizers": _recognizers,
    "corpora": _corpora,
    "normalizers": _normalizers,
    "audits": _audits,
}
