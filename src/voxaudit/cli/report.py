"""`voxaudit report`: build a run's report again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import names

if TYPE_CHECKING:
    from voxaudit.render.document import Report

EXAMPLE = "voxaudit report runs/first --attributes gender,accent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument(
        "--attributes", metavar="COLUMN,...", help="groups to compare (default: as in the run's audit.toml)"
    )
    parser.add_argument(
        "--gates",
        type=Path,
        metavar="FILE",
        help="a file with [gates], such as audit.toml (default: the run's)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: RUN)")
    parser.add_argument(
        "--audio-megabytes",
        type=float,
        default=4.0,
        metavar="N",
        help="of audio in report.html, at most (default: 4)",
    )
    parser.add_argument("--json", action="store_true", help="print findings.json")
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON schema of findings.json and of every --json"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import os

    # The matrices here are small: threads would only wait for each other. Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from voxaudit.cli.output import print_json
    from voxaudit.errors import VoxauditError

    if args.schema:
        from voxaudit.render.json import schema

        print_json(schema())
        return 0
    if args.run is None:
        raise VoxauditError(f"name the folder of a run: {EXAMPLE}")
    if not 0 <= args.audio_megabytes < 1000:
        raise VoxauditError(f"megabytes of audio must lie between 0 and 1000, not {args.audio_megabytes:g}")
    from voxaudit.config import load_gates
    from voxaudit.report.build import build_report, remembered, write_report
    from voxaudit.run import open_run
    from voxaudit.run.folder import require_whole

    opened = open_run(args.run)
    require_whole(opened.folder, opened.config)
    attributes, gates = remembered(opened)
    if args.attributes is not None:
        attributes = names(args.attributes)
    if args.gates is not None:
        gates = load_gates(args.gates, opened.config["recognizers"])
    report = build_report(opened, attributes=attributes, gates=gates, audio_megabytes=args.audio_megabytes)
    folder = args.out or args.run
    return show(report, folder, write_report(report, folder), as_json=args.json)


def show(report: Report, folder: Path, files: Mapping[str, Path], *, as_json: bool) -> int:
    """Print a report and where it was written; return the exit code: 1 where a gate failed."""
    from voxaudit.cli.output import note, print_json, printable
    from voxaudit.render.json import report_dict
    from voxaudit.render.terminal import print_report
    from voxaudit.report.gates import failed

    if as_json:
        print_json({"folder": str(folder), **report_dict(report)})
    else:
        print_report(report)
        names_ = [name for name in files if name != "report.html"]
        note(f"Written to {folder}: {', '.join(names_)}, and the tables they are made from")
        note(f"Report: {files['report.html']}")
    lost = failed(report.gates)
    if lost is not None:
        note(f"voxaudit: {printable(lost)}")
    return 0 if lost is None else 1
