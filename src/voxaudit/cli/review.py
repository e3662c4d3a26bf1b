"""`voxaudit review`: listen to what went wrong and say what it is, in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EXAMPLE = "voxaudit review runs/mine --reviewer anna"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run or of a stutter audit")
    parser.add_argument(
        "--reviewer", default="", metavar="NAME", help="the name or pseudonym that labels are kept under"
    )
    parser.add_argument(
        "--export", type=Path, metavar="FILE", help="write the labels to a .csv or .jsonl file"
    )
    parser.add_argument("--agreement", action="store_true", help="print how far the reviewers agree")
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the decided labels into suspicious.jsonl and review.json (done at the end of a session too)",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="default: 127.0.0.1, this machine only"
    )
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="with --host: let other machines in; whoever has the link can hear and read the run",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the link only")
    parser.add_argument("--json", action="store_true", help="print JSON: the link, or what was asked for")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.output import print_json
    from voxaudit.errors import VoxauditError

    if not args.folder.is_dir():
        raise VoxauditError(f"{args.folder}: no such folder")
    document: dict[str, Any] = {}
    if args.export is not None:
        document |= _export(args)
    if args.apply:
        document |= _apply(args)
    if args.agreement:
        document["agreement"] = _agreement(args)
    if args.export is not None or args.apply or args.agreement:
        if args.json:
            print_json(document)
        return 0
    return _serve(args)


def _export(args: argparse.Namespace) -> dict[str, Any]:
    from voxaudit.cli.output import note
    from voxaudit.review.labels import export_labels

    count = export_labels(args.folder, args.export)
    if not args.json:
        note(f"{count} labels written to {args.export}")
    return {"exported": count, "file": str(args.export)}


def _apply(args: argparse.Namespace) -> dict[str, Any]:
    from voxaudit.cli.output import note
    from voxaudit.review.app import queue_folder
    from voxaudit.review.labels import apply_labels

    queue = queue_folder(args.folder)
    changed = apply_labels(args.folder, queue)
    if not args.json and queue is not None:
        note(f"{changed} labels changed in {queue / 'suspicious.jsonl'}")
    return {"applied": changed}


def _agreement(args: argparse.Namespace) -> dict[str, Any]:
    from voxaudit.cli.output import note, print_table
    from voxaudit.review.labels import summary
    from voxaudit.wording import percent

    found = summary(args.folder)
    if args.json:
        return found
    for source, one in found.items():
        if not one["cases"]:
            continue
        kappa = one["kappa"]
        value = kappa["refusal"] or _with_limits(kappa)
        print(
            f"{source}: {one['cases']} cases labelled, {one['open']} of them without a decision; Fleiss' kappa {value}"
        )
        rows = [
            [
                f"{pair['first']} and {pair['second']}",
                pair["cases"],
                "-" if pair["share"] is None else percent(pair["share"]),
                "-" if pair["kappa"] is None else f"{pair['kappa']:.2f}",
            ]
            for pair in one["pairs"]
        ]
        if rows:
            print_table("", ["reviewers", "cases of both", "agree on", "Cohen's kappa"], rows)
    if not any(one["cases"] for one in found.values()):
        note("no labels yet")
    return found


def _with_limits(kappa: dict[str, Any]) -> str:
    limits = "" if kappa["low"] is None else f" (95 %: {kappa['low']:.2f} to {kappa['high']:.2f})"
    return f"{kappa['value']:.2f}{limits}, {kappa['cases']} cases of two reviewers or more"


def _serve(args: argparse.Namespace) -> int:
    import sys

    from voxaudit.cli.output import note, print_json, printable
    from voxaudit.review.app import review_app
    from voxaudit.review.store import reviewer_name
    from voxaudit.review.web import loopback, running, until_interrupted

    reviewer = reviewer_name(args.reviewer) if args.reviewer else ""
    app = review_app(args.folder, reviewer=reviewer)
    if not loopback(args.host) and args.allow_remote:
        note(
            "Other machines can reach this server, without encryption: "
            "whoever gets hold of the link can hear and read the run."
        )

    with running(
        app,
        host=args.host,
        port=args.port,
        any_host=args.allow_remote,
        log=lambda line: note(printable(line)),
    ) as server:
        try:
            if args.json:
                print_json({"link": server.link, "port": server.port})
            else:
                print(f"Open {server.link}")
                note("Labels are saved as you give them. Ctrl-C ends the review.")
            sys.stdout.flush()
            if not args.no_browser and not args.json:
                _open(server.link)
            until_interrupted()
        finally:
            _finish(args.folder)
    return 0


def _finish(folder: Path) -> None:
    """Write back what was decided; a stutter audit at work in the folder is left alone."""
    from voxaudit.cli.output import note
    from voxaudit.errors import VoxauditError
    from voxaudit.review.app import queue_folder
    from voxaudit.review.labels import apply_labels

    try:
        changed = apply_labels(folder, queue_folder(folder))
    except VoxauditError as error:
        note(f"The labels are safe, but not in the queue yet: {error}. Later: voxaudit review RUN --apply")
    else:
        if changed:
            note(f"{changed} decided labels written into the review queue.")


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link)
