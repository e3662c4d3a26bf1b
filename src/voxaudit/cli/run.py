"""`voxaudit run`: audit a corpus as `audit.toml` says."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.audits.audit import OPTIONS
from voxaudit.audits.sequential import AUDIT as SEQUENTIAL
from voxaudit.cli import ask
from voxaudit.cli.arguments import add_run_arguments

if TYPE_CHECKING:
    from voxaudit.config import AuditConfig

EXAMPLE = "voxaudit run audit.toml"
_GOAL = ("precision", "against", "margin", "per_speaker", "alpha", "each", "patient")
"""What the sequential audit can be told besides the attribute that it decides on."""


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
    early = parser.add_argument_group("stop early (see: voxaudit sequential)")
    known = {**OPTIONS, **SEQUENTIAL.options}
    early.add_argument("--decide", metavar="ATTRIBUTE", help=known["attribute"].meaning)
    for name in _GOAL:
        unset = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        ask.add_option(early, name, known[name], unset)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.arguments import as_asked
    from voxaudit.cli.report import show
    from voxaudit.config import load_config

    config = as_asked(load_config(args.config), args)
    if args.dry_run:
        return _dry_run(config, as_json=args.json)
    if args.precision is not None or args.decide is not None:
        return _stop_early(config, args)
    from voxaudit.pipeline import run_audit

    audit = run_audit(config)
    return show(audit.report, audit.run.folder, audit.files, as_json=args.json)


def _stop_early(config: AuditConfig, args: argparse.Namespace) -> int:
    """Hear no more than the goals ask for, and print what was found."""
    from voxaudit.cli.output import note
    from voxaudit.config import Gates
    from voxaudit.pipeline import STUTTER, run_sequential

    if config.gates != Gates():
        note("No gate is judged: gates need the full grid. Run without --precision and --decide for them")
    goal = {name: value for name in _GOAL if (value := getattr(args, name)) not in (None, False)}
    ask.show(run_sequential(config, {"attribute": args.decide, **goal}, progress=not args.json), args)
    if config.stutter is not None:
        note(
            f"Stuttered speech, as [stutter] asks, is in {config.out / STUTTER}: voxaudit report {config.out}"
        )
    return 0


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
