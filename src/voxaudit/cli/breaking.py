"""`voxaudit breaking`: how much disturbance a recognizer bears, and for whom."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import (
    add_corpus_arguments,
    add_run_arguments,
    options_as_asked,
    read_corpus_as_asked,
    recognizer_list,
)
from voxaudit.options import ON_DEMAND

if TYPE_CHECKING:
    from voxaudit.audits.breaking import Breaking

EXAMPLE = (
    "voxaudit breaking manifest.csv --recognizers moonshine --perturbation gaussian_noise --attribute gender"
    " --out runs/breaking"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("corpus", metavar="CORPUS", help="a corpus with speakers and reference texts")
    parser.add_argument(
        "--recognizers",
        metavar="A,B",
        default="moonshine,pocketsphinx",
        help="default: moonshine,pocketsphinx; `voxaudit list recognizers` shows more",
    )
    parser.add_argument(
        "--perturbation",
        metavar="NAME",
        default="gaussian_noise",
        help="what disturbs (default: gaussian_noise); other settings can be fixed: packet_loss:burst=2",
    )
    parser.add_argument("--parameter", metavar="NAME", help="what is turned up (default: the usual one)")
    parser.add_argument(
        "--range", metavar="MILD,HARSH", help="ends of the parameter, such as 40,-10 (write --range=-5,-20)"
    )
    parser.add_argument(
        "--level",
        type=float,
        default=0.5,
        metavar="X",
        help="word error rate that is breaking (default: 0.5)",
    )
    parser.add_argument(
        "--rise", type=float, metavar="X", help="in place of --level: X above each group's clean error rate"
    )
    parser.add_argument("--attribute", metavar="COL", help="compare the groups of this attribute")
    parser.add_argument(
        "--budget", type=int, default=12, metavar="N", help="trials a speaker and recognizer (default: 12)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder; the same again resumes"
    )
    add_corpus_arguments(parser)
    add_run_arguments(parser, *ON_DEMAND)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audits.breaking import breaking_points
    from voxaudit.cli.output import print_json
    from voxaudit.run.progress import Progress

    ends = _ends(args.range)
    recognizers = recognizer_list(args.recognizers)
    corpus = read_corpus_as_asked(args.corpus, args)
    speakers = corpus.table["speaker"].n_unique()
    with Progress(not args.json and sys.stderr.isatty()) as bars:
        bars.begin("trials, at most", speakers * args.budget * len(recognizers))
        found = breaking_points(
            corpus,
            recognizers,
            args.perturbation,
            out=args.out,
            parameter=args.parameter,
            ends=ends,
            level=args.level,
            rise=args.rise,
            attribute=args.attribute,
            budget=args.budget,
            options=options_as_asked(args),
            progress=lambda count: bars.advance(count, heard=True),
        )
    if args.json:
        print_json(found.findings)
    else:
        _show(found, args.out)
    return 0


def _show(found: Breaking, out: Path) -> None:
    from voxaudit.cli.output import note, printable

    for sentence in found.sentences():
        print(f"- {printable(sentence)}")
    note(f"{found.trials} trials. Written to {out}: breaking.json")


def _ends(text: str | None) -> tuple[float, float] | None:
    from voxaudit.errors import VoxauditError

    if text is None:
        return None
    try:
        mild, harsh = (float(part) for part in text.split(","))
    except ValueError:
        raise VoxauditError(
            f"--range takes two numbers, the mild and the harsh end: 40,-10, not '{text}'"
        ) from None
    return mild, harsh
