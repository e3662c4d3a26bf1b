"""`voxaudit report`: build a run's report again."""

from __future__ import annotations

import argparse
from pathlib import Path

from voxaudit.cli.arguments import names

EXAMPLE = "voxaudit report runs/first --attributes gender,accent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument(
        "--attributes", metavar="COL,...", help="groups to compare (default: as in the run's audit.toml)"
    )
    parser.add_argument(
        "--stutter", type=Path, metavar="DIR", help="a stutter audit's folder (default: RUN/stutter)"
    )
    parser.add_argument("--attack", type=Path, metavar="DIR", help="an attack's folder (default: RUN/attack)")
    parser.add_argument(
        "--gates",
        type=Path,
        metavar="FILE",
        help="a file with [gates], such as audit.toml (default: the run's)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: RUN)")
    parser.add_argument(
        "--audio-megabytes",
        type=float,
        default=4.0,
        metavar="N",
        help="of audio in report.html, at most (default: 4)",
    )
    parser.add_argument("--no-audio", action="store_true", help="open no recordings")
    parser.add_argument("--json", action="store_true", help="print findings.json")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of findings.json")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import os

    # The matrices here are small: threads would only wait for each other. Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from voxaudit.cli.output import print_json
    from voxaudit.errors import VoxauditError

    if args.schema:
        from voxaudit.report.findings import schema

        print_json(schema())
        return 0
    if args.run is None:
        raise VoxauditError(f"name the folder of a run: {EXAMPLE}")
    if not 0 <= args.audio_megabytes < 1000:
        raise VoxauditError(f"--audio-megabytes must lie between 0 and 1000, not {args.audio_megabytes:g}")
    for path, what in ((args.stutter, "stutter.json"), (args.attack, "attack.json")):
        if path is not None and not (path / what).is_file():
            raise VoxauditError(f"{path}: no {what} in this folder")
    from voxaudit.cli.summary import show
    from voxaudit.config import load_gates
    from voxaudit.report.build import build_report, write_report
    from voxaudit.report.remember import remembered
    from voxaudit.run import open_run
    from voxaudit.run.folder import require_whole

    opened = open_run(args.run)
    require_whole(opened.folder, opened.config)
    attributes, gates = remembered(opened)
    if args.attributes is not None:
        attributes = names(args.attributes)
    if args.gates is not None:
        gates = load_gates(args.gates, opened.config["recognizers"])
    document = build_report(
        opened,
        attributes=attributes,
        stutter=args.stutter,
        attack=args.attack,
        gates=gates,
        audio_megabytes=0.0 if args.no_audio else args.audio_megabytes,
    )
    folder = args.out or args.run
    return show(document, folder, write_report(document, folder), as_json=args.json)
