"""`voxaudit compare`: did the new run get better or worse, for whom, and is it more than noise?"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import names, natural

if TYPE_CHECKING:
    from voxaudit.audits.compare import Comparison

EXAMPLE = "voxaudit compare runs/v1 runs/v2 --attributes gender,accent --out runs/v1-v2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("base", metavar="BASE", help="a run's folder or a table of scores: what there was")
    parser.add_argument("new", metavar="NEW", help="the same for what is to be judged")
    parser.add_argument(
        "--attributes", default="", metavar="COL,...", help="groups to compare as slices of their own"
    )
    parser.add_argument(
        "--recognizers",
        default="",
        metavar="OLD=NEW,...",
        help="which recognizers belong together (default: those of the same name)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        default=0.0,
        metavar="X",
        help="changes up to this fraction of the words do not count, such as 0.005 (default: 0)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="A",
        help="chance of any false claim in the whole comparison (default: 0.05; half of it for a false alarm)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write report.html, summary.md, junit.xml ... there"
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="seed of the resampling (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.epilog = f"{parser.epilog or ''}\nexit code: 0 no regression shown, 1 a slice got worse"


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from voxaudit.audits.compare import compare
    from voxaudit.audits.compare.sources import describe_difference, read_pair
    from voxaudit.cli.output import note, print_json, printable
    from voxaudit.report.comparison import comparison_document, gate

    base, new = read_pair(args.base, args.new)
    found = compare(
        base,
        new,
        attributes=names(args.attributes),
        recognizers=_matching(args.recognizers),
        alpha=args.alpha,
        margin=args.margin,
        seed=args.seed,
    )
    notes = describe_difference(args.base, args.new, found.recognizers)
    document = comparison_document(found, args.base, args.new, notes)
    for line in (*found.notes, *notes):
        note(f"note: {printable(line)}")
    if args.json:
        print_json({"base": args.base, "new": args.new, **found.to_dict()})
    else:
        _print(found)
        for line in document.summary:
            print(f"- {printable(line)}")
    if args.out is not None:
        from voxaudit.report.build import write_report

        written = write_report(document, args.out)
        note(f"Written to {args.out}: {', '.join(path.name for path in written.values())}")
    judged = gate(found)
    if not judged.passed:
        note(f"voxaudit: gate failed: {judged.name}: {printable(judged.sentence)}")
    return 0 if judged.passed else 1


def _matching(text: str) -> dict[str, str]:
    from voxaudit.errors import VoxauditError

    pairs: dict[str, str] = {}
    for part in names(text):
        old, equals, new = part.partition("=")
        if not (equals and old and new):
            raise VoxauditError(f"--recognizers takes OLD=NEW,..., not '{part}'")
        pairs[old] = new
    return pairs


def _print(found: Comparison) -> None:
    from voxaudit.cli.output import print_table
    from voxaudit.report.numbers import percent
    from voxaudit.wording import p_cell

    def points(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:+.1f}"

    rows = [
        [
            found.recognizers[one.recognizer],
            one.label,
            percent(one.wer_base),
            percent(one.wer_new),
            points(one.difference),
            "-" if one.low is None else f"{points(one.low)} to {points(one.high)}",
            "-" if one.noise is None else f"{100 * one.noise:.1f}",
            p_cell(one.p),
            one.verdict,
            one.speakers,
        ]
        for one in found.slices
    ]
    title = "Word error rate, new against base; change, interval and noise in percentage points"
    head = [
        "recognizer",
        "slice",
        "WER base",
        "WER new",
        "change",
        "95 % interval",
        "noise ±",
        "p",
        "verdict",
    ]
    print_table(title, [*head, "speakers"], rows)
