"""`voxaudit run`: audit a corpus as `audit.toml` says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import add_run_arguments
from voxaudit.cli.sequential import add_goal_arguments

if TYPE_CHECKING:
    from voxaudit.config import AuditConfig

EXAMPLE = "voxaudit run audit.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "config", type=Path, metavar="audit.toml", help="what to audit; `voxaudit init` writes one"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: as in audit.toml)")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print how many trials, minutes of audio and dollars it would take; hear nothing",
    )
    parser.add_argument("--json", action="store_true", help="print findings.json")
    add_run_arguments(parser.add_argument_group("options of the run (audit.toml may set other defaults)"))
    add_goal_arguments(parser.add_argument_group("stop early (see: voxaudit sequential)"))


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.arguments import as_asked
    from voxaudit.cli.report import show
    from voxaudit.config import load_config

    config = as_asked(load_config(args.config), args)
    if args.dry_run:
        return _dry_run(config, as_json=args.json)
    if args.precision is not None or args.decide is not None:
        from voxaudit.cli.sequential import hear

        return hear(config, args)
    from voxaudit.pipeline import run_audit

    audit = run_audit(config)
    return show(audit.report, audit.run.folder, audit.files, as_json=args.json)


def _dry_run(config: AuditConfig, *, as_json: bool) -> int:
    from dataclasses import asdict

    from voxaudit.cli.output import print_json, print_table
    from voxaudit.pipeline import estimate_audit

    found = estimate_audit(config)
    asked = config.stutter
    more = 0 if asked is None else asked.utterances * (1 + asked.budget + len(asked.dose))
    if as_json:
        document = {"out": str(config.out), "recognizers": [asdict(one) for one in found]}
        print_json(document | ({} if asked is None else {"stutter_trials_at_most": more}))
        return 0
    rows = [
        [
            one.recognizer,
            f"{one.trials:,}",
            f"{one.finished:,}",
            f"{one.cached:,}",
            f"{one.left.trials:,}",
            f"{one.left.seconds / 60.0:,.1f}",
            f"{one.left.billed_seconds / 60.0:,.1f}" if one.remote else "-",
            "-" if not one.remote else "unknown" if one.left.cost is None else f"{one.left.cost:,.2f}",
        ]
        for one in found
    ]
    head = ["recognizer", "trials", "done", "known", "to hear", "minutes", "billed minutes", "US dollars"]
    print_table("What this run would hear (nothing was heard)", head, rows)
    if asked is not None:
        print(
            f"- Besides, [stutter] lets every recognizer hear at most {more:,} trials; services are billed."
        )
    if any(one.remote and one.left.cost is None for one in found):
        print("- Set price_per_minute in a service's section to see what it costs.")
    return 0
