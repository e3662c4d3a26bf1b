"""`voxaudit run`: audit a corpus as `audit.toml` says."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLE = "voxaudit run audit.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "config", type=Path, metavar="audit.toml", help="what to audit; `voxaudit init` writes one"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: as in audit.toml)")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="recognizer processes (default: one per core)"
    )
    parser.add_argument("--retry-failed", action="store_true", help="hear trials again that failed before")
    parser.add_argument("--no-cache", action="store_true", help="do not use transcripts of other runs")
    parser.add_argument("--json", action="store_true", help="print the error rates as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from dataclasses import replace

    from voxaudit.cli.summary import show
    from voxaudit.config import load_config
    from voxaudit.pipeline import run_audit

    config = load_config(args.config)
    if args.out is not None:
        config = replace(config, out=args.out)
    if args.workers is not None:
        config = replace(config, workers=args.workers)
    if args.no_cache:
        config = replace(config, cache=False)
    show(run_audit(config, retry_failed=args.retry_failed), as_json=args.json)
    return 0
