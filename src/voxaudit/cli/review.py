"""`voxaudit review`: listen to what went wrong and say what it is, in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from voxaudit.cli.arguments import SHARED, take
from voxaudit.cli.ask import show
from voxaudit.cli.output import note, print_json
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit review runs/mine --reviewer anna"
_OWN = {
    "reviewer": Option("the name or pseudonym to save labels under", metavar="NAME"),
    "export": SHARED["export"].noting("the labels, as .csv or .jsonl"),
    "agreement": Option("print how far the reviewers agree", "flag"),
    "apply": Option(
        "write the decided labels into suspicious.jsonl and review.json (done at the end of a session too)",
        "flag",
    ),
    "listen": Option(
        "write a page that plays ten stuttered cases, of every kind, to judge how plausible they are",
        "file",
        "FILE",
    ),
    "browser": Option("open the browser", "flag", off="print the link only"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run or of a stutter audit")
    flags = "reviewer export agreement apply listen port host allow_remote browser json"
    take(parser, flags, _OWN, reviewer="", port=0, host="127.0.0.1", browser=True)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if not args.folder.is_dir():
        raise VoxauditError(f"{args.folder}: no such folder")
    if args.listen is not None:
        return _listen(args)
    asked = args.export is not None or args.apply or args.agreement
    return _labels(args) if asked else _serve(args)


def _listen(args: argparse.Namespace) -> int:
    from voxaudit.review.app import queue_folder
    from voxaudit.review.listen import write_listen

    folder = queue_folder(args.folder)
    if folder is None:
        raise VoxauditError(
            f"{args.folder}: no stutter audit in this folder: there is nothing generated to hear"
        )
    count = write_listen(folder, Path(args.listen))
    note(f"{count} cases to hear in {args.listen}: open it in a browser")
    return 0


def _labels(args: argparse.Namespace) -> int:
    """Export, apply and compare the labels that there are."""
    from voxaudit.answer import Answer, Note, Tables
    from voxaudit.review.app import queue_folder
    from voxaudit.review.labels import agreement_tables, apply_labels, export_labels

    notes = []
    if args.export is not None:
        count = export_labels(args.folder, args.export)
        facts = {"labels": count, "file": args.export}
        notes.append(Note("exported", f"{count} labels written to {args.export}", facts))
    if args.apply:
        queue = queue_folder(args.folder)
        changed = apply_labels(args.folder, queue)
        where = (
            "review.json written"
            if queue is None
            else f"labels changed in {queue / 'suspicious.jsonl'}: {changed}"
        )
        notes.append(Note("applied", where, {"labels": changed}))
    tables = agreement_tables(args.folder) if args.agreement else []
    if args.agreement and not tables:
        notes.append(Note("no_labels", "no labels yet"))
    show(Answer("review", f"Labels of {args.folder}", tables=Tables(tables), notes=tuple(notes)), args)
    return 0


def _serve(args: argparse.Namespace) -> int:
    import sys
    import webbrowser

    from voxaudit.review.app import review_app
    from voxaudit.review.store import reviewer_name
    from voxaudit.review.web import loopback, running, until_interrupted

    app = review_app(args.folder, reviewer=reviewer_name(args.reviewer) if args.reviewer else "")
    if not loopback(args.host) and args.allow_remote:
        note(
            "Other machines can reach this server, without encryption: "
            "whoever gets hold of the link can hear and read the run."
        )
    with running(app, host=args.host, port=args.port, allow_remote=args.allow_remote, log=note) as server:
        try:
            if args.json:
                print_json({"link": server.link, "port": server.port})
            else:
                print(f"Open {server.link}")
                note("Labels are saved as you give them. Ctrl-C ends the review.")
            sys.stdout.flush()
            if args.browser and not args.json:
                webbrowser.open(server.link)
            until_interrupted()
        finally:
            _finish(args.folder)
    return 0


def _finish(folder: Path) -> None:
    """Write back what was decided; a stutter audit at work in the folder is left alone."""
    from voxaudit.review.app import queue_folder
    from voxaudit.review.labels import apply_labels

    try:
        changed = apply_labels(folder, queue_folder(folder))
    except VoxauditError as error:
        note(f"The labels are safe, but not in the queue yet: {error}. Later: voxaudit review RUN --apply")
    else:
        if changed:
            note(f"{changed} decided labels written into the review queue.")
