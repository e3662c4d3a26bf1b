"""`voxaudit run`: audit a corpus as `audit.toml` says."""

from __future__ import annotations

import argparse
from pathlib import Path

from voxaudit.cli.sequential import add_goal_arguments

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
    parser.add_argument(
        "--executor", choices=("local", "ray"), help="hear on this machine or on a Ray cluster"
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="the Ray cluster: auto, host:port or ray://host:port; implies --executor ray",
    )
    parser.add_argument(
        "--publish", metavar="URL", help="copy the finished run to s3://bucket/folder, gs://..."
    )
    parser.add_argument("--retry-failed", action="store_true", help="hear trials again that failed before")
    parser.add_argument("--no-cache", action="store_true", help="do not use transcripts of other runs")
    parser.add_argument("--json", action="store_true", help="print findings.json")
    add_goal_arguments(parser.add_argument_group("stop early (see: voxaudit sequential)"))


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
    if args.executor is not None or args.ray_address is not None:
        config = replace(config, executor=args.executor or "ray")
    if args.ray_address is not None:
        config = replace(config, ray_address=args.ray_address)
    if args.publish is not None:
        config = replace(config, publish=args.publish)
    if args.no_cache:
        config = replace(config, cache=False)
    if args.precision is not None or args.decide is not None:
        from voxaudit.cli.sequential import goal_of, hear
        from voxaudit.cli.sequential import show as show_sequential

        show_sequential(hear(config, goal_of(args), quiet=args.json), config.out, as_json=args.json)
        return 0
    audit = run_audit(config, retry_failed=args.retry_failed)
    return show(audit.document, audit.run.folder, audit.files, as_json=args.json)
