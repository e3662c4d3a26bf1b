"""`voxaudit report`: build a run's report again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import SHARED, take
from voxaudit.cli.output import note, print_json, printable
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

if TYPE_CHECKING:
    from voxaudit.render.document import Report

EXAMPLE = "voxaudit report runs/first --attributes gender,accent"
_OWN = {
    "attributes": SHARED["attributes"].noting("default: as in the run's audit.toml"),
    "gates": Option("a file with [gates], such as audit.toml (default: the run's)", "file", "FILE"),
    "out": SHARED["out"].noting("default: RUN"),
    "audio_megabytes": Option("of audio in report.html, at most", "number", "N", at_least=0, at_most=1000),
    "statements": Option(
        "also write a model-card section per recognizer, statement.md (accessibility and fairness) and methods.md",
        "flag",
    ),
    "schema": SHARED["schema"].noting("print that of findings.json and of every answer, and nothing else"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="a run's folder")
    take(parser, "attributes gates out audio_megabytes statements json schema", _OWN, audio_megabytes=4.0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.schema:
        from voxaudit.render.json import schema

        print_json(schema())
        return 0
    if args.run is None:
        raise VoxauditError(f"name the folder of a run: {EXAMPLE}")
    from voxaudit.config import load_gates
    from voxaudit.report.build import build_report, remembered, write_report
    from voxaudit.run import open_run

    opened = open_run(args.run)
    attributes, gates = remembered(opened)
    if args.attributes is not None:
        attributes = args.attributes
    if args.gates is not None:
        gates = load_gates(args.gates, opened.config["recognizers"])
    report = build_report(opened, attributes=attributes, gates=gates, audio_megabytes=args.audio_megabytes)
    folder = Path(args.out or args.run)
    return show(report, folder, write_report(report, folder, statements=args.statements), as_json=args.json)


def show(report: Report, folder: Path, files: Mapping[str, Path], *, as_json: bool) -> int:
    """Print a report and where it was written; return the exit code: 1 where a gate failed."""
    from voxaudit.render.json import report_dict
    from voxaudit.render.terminal import print_report
    from voxaudit.report.gates import failed, not_judged

    if as_json:
        print_json({"folder": str(folder), **report_dict(report)})
    else:
        print_report(report)
        others = [name for name in files if name != "report.html"]
        note(f"Written to {folder}: {', '.join(others)}, and the tables they are made from")
        note(f"Report: {files['report.html']}")
    lost = failed(report.gates)
    for line in (not_judged(report.gates), lost):
        if line is not None:
            note(f"voxaudit: {printable(line)}")
    return 0 if lost is None else 1
