"""`voxaudit recognizers check`: does a recognizer answer the same whatever the batch, order or history?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import take
from voxaudit.cli.ask import show
from voxaudit.cli.output import note, printable
from voxaudit.options import Option

if TYPE_CHECKING:
    from voxaudit.recognize.check import Check

EXAMPLE = "voxaudit recognizers check moonshine"
_OWN = {
    "audio": Option("a recording or a folder of them (default: built-in clips)", "file", "PATH"),
    "limit": Option("how many clips to use at most", "count", "N", at_least=2),
    "download": Option("fetch models that are not on this machine", "flag"),
    "long": Option("length of the long recording", "number", "SECONDS", above=0, at_most=3600),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("check",), help="what to do")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a recognizer: moonshine, 'command:my-asr {audio}', python:my.py:hear ...",
    )
    take(parser, "audio limit long download json", _OWN, limit=12, long=60.0)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if all checks pass, 1 if one fails."""
    from dataclasses import asdict

    from voxaudit.answer import Answer, Note, Tables, tabulate
    from voxaudit.recognize import make_recognizer, require
    from voxaudit.recognize.check import check_recognizer, clips_of

    recognizer = make_recognizer(args.name)
    if args.download:
        from voxaudit.cli.models import progress
        from voxaudit.recognize.weights.fetch import obtain

        obtain(recognizer, progress())
    require(recognizer)
    clips = clips_of(args.audio, args.limit)
    note(f"{args.name}: hearing {len(clips)} clips again and again ...")
    result = check_recognizer(recognizer, clips, long_seconds=args.long, report=_report)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    failed = sum(not check.passed for check in result.checks)
    said = "every check passed" if not failed else f"{failed} of {len(result.checks)} checks failed"
    notes = [Note("verdict", f"{args.name}: {said}", {"passed": result.passed, "failed": failed})]
    if result.distinct_answers < 2:
        notes.append(Note("answers_alike", "the answers hardly differ, so little was shown", see=("audio",)))
    speed = {name: value for name, value in asdict(result).items() if name != "checks"}
    checks = [
        {"check": one.name, "result": "pass" if one.passed else "FAIL", "problems": list(one.problems)}
        for one in result.checks
    ]
    numbers = [(name, "", "number") for name in ("load_seconds", "rtf", "cpu_rtf")]
    tables = Tables(
        [
            tabulate("checks", "", checks, "check result problems"),
            tabulate(
                "speed",
                "Seconds to load, and per second of audio",
                [speed],
                [("clips", "", "count"), ("distinct_answers", "different answers", "count"), *numbers],
            ),
        ]
    )
    show(
        Answer(
            "recognizers", f"Check of {args.name}", {"name": args.name}, tables=tables, notes=tuple(notes)
        ),
        args,
    )
    return 0 if result.passed else 1


def _report(check: Check) -> None:
    """Say how a check went while the next one runs: on a terminal, in a line that the next one overwrites."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{printable(check.name)} ...", end="", file=sys.stderr, flush=True)
    elif not check.passed:
        note(f"FAIL  {check.name}")
