"""`voxaudit attack`: how little noise, chosen by an adversary, is enough to make a recognizer fail?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import add_run_arguments, options_as_asked, recognizer_list
from voxaudit.options import ON_DEMAND

if TYPE_CHECKING:
    from voxaudit.audits.attack.audit import Attack
    from voxaudit.audits.attack.plan import Plan

EXAMPLE = (
    "voxaudit attack manifest.csv --recognizers hf:models/wav2vec2 --method pgd --snr 30,20 --out runs/attack"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("corpus", metavar="CORPUS", help="a corpus with reference texts")
    parser.add_argument(
        "--recognizers",
        required=True,
        metavar="A,B",
        help="file.py:object or module:object with gradients, hf:FOLDER, or (blackbox) any engine",
    )
    parser.add_argument(
        "--method",
        choices=("pgd", "universal", "blackbox"),
        default="pgd",
        help="noise for each utterance by gradient (default), one noise for all, or by transcripts alone",
    )
    parser.add_argument(
        "--snr", metavar="DB,...", default="40,30,20,10", help="bounds on the noise (default: 40,30,20,10)"
    )
    parser.add_argument("--target", metavar="TEXT", help="pgd: make it hear this")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for audio and tables")
    parser.add_argument(
        "--transfer",
        metavar="A,B",
        help="recognizers that are not attacked, but hear the result",
    )
    parser.add_argument("--norm", choices=("l2", "linf"), default="l2", help="pgd: bound in (default: l2)")
    parser.add_argument("--steps", type=int, default=50, metavar="N", help="pgd: steps (default: 50)")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="pgd: further random starts (default: 0)"
    )
    parser.add_argument(
        "--dev", metavar="CORPUS", help="universal: found on this corpus, not on half of the speakers"
    )
    parser.add_argument("--epochs", type=int, default=10, metavar="N", help="universal: default 10")
    parser.add_argument(
        "--queries",
        type=int,
        default=200,
        metavar="N",
        help="blackbox: transcripts an utterance (default: 200)",
    )
    parser.add_argument("--utterances", type=int, metavar="N", help="attack N utterances drawn at random")
    parser.add_argument(
        "--batch", type=int, default=16, metavar="N", help="utterances at a time (default: 16)"
    )
    add_run_arguments(parser, *ON_DEMAND)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from dataclasses import asdict

    from voxaudit.audits.attack.audit import attack
    from voxaudit.audits.attack.victims import open_victim
    from voxaudit.cli.output import note, print_json
    from voxaudit.corpus import read_corpus
    from voxaudit.errors import VoxauditError
    from voxaudit.run.progress import Progress

    recognizers = recognizer_list(args.recognizers)
    if len(set(recognizers)) < len(recognizers):
        raise VoxauditError("--recognizers: the same recognizer is named twice")
    options = options_as_asked(args)
    plan = _plan(args, options.seed)
    corpus = read_corpus(args.corpus)
    if args.utterances is not None:
        if args.utterances < 1:
            raise VoxauditError(f"--utterances must be at least 1, not {args.utterances}")
        from dataclasses import replace

        size = min(args.utterances, len(corpus))
        corpus = replace(corpus, table=corpus.table.sample(size, seed=options.seed))
    victims = [open_victim(spec) for spec in recognizers]
    if plan.method != "blackbox":
        for victim in victims:
            victim.differentiable(plan.method)
    listeners = [open_victim(spec) for spec in recognizer_list(args.transfer)]
    with Progress(not args.json and sys.stderr.isatty()) as bars:
        each = {"pgd": 1, "universal": args.epochs, "blackbox": 2 * args.queries}[plan.method]
        bars.begin(plan.method, len(corpus) * len(victims) * len(plan.snrs) * each)
        found = attack(
            corpus,
            victims,
            plan,
            out=args.out,
            listeners=listeners,
            options=options,
            progress=lambda count: bars.advance(count, heard=True),
        )
    if args.json:
        print_json([asdict(row) for row in found.rows])
    else:
        _show(found, args.out)
    for text in found.notes:
        note(text)
    for why, count in found.left_out.items():
        note(f"left out: {count} utterances ({why})")
    return 0


def _plan(args: argparse.Namespace, seed: int) -> Plan:
    from voxaudit.audits.attack.pgd import Pgd
    from voxaudit.audits.attack.plan import Plan
    from voxaudit.audits.attack.universal import UniversalSettings
    from voxaudit.corpus import read_corpus
    from voxaudit.errors import VoxauditError

    try:
        snrs = tuple(float(part) for part in args.snr.split(",") if part.strip())
    except ValueError as error:
        raise VoxauditError(f"--snr: numbers of dB with commas between them, not '{args.snr}'") from error
    if args.dev and args.method != "universal":
        raise VoxauditError(
            "--dev is for --method universal: the other methods learn from nothing but the utterance"
        )
    return Plan(
        method=args.method,
        snrs=snrs,
        target=args.target,
        pgd=Pgd(20.0, args.norm, args.steps, restarts=args.restarts, batch=args.batch),
        universal=UniversalSettings(20.0, epochs=args.epochs, batch=args.batch),
        dev=read_corpus(args.dev) if args.dev else None,
        queries=args.queries,
        seed=seed,
    )


def _show(found: Attack, out: Path) -> None:
    from voxaudit.cli.output import note, print_table
    from voxaudit.report.numbers import percent, percent_interval

    rows = [
        [
            _short(row.recognizer),
            row.scenario,
            f"{row.snr_asked:g}",
            "-" if row.snr_measured_median is None else f"{row.snr_measured_median:.2f}",
            percent(row.wer_clean),
            percent(row.wer_noise),
            percent(row.wer_attacked),
            percent_interval(row.werd, row.werd_low, row.werd_high),
            percent(row.success_rate),
            row.utterances,
        ]
        for row in found.rows
    ]
    noise = (
        "WER best white noise" if any(row.method == "blackbox" for row in found.rows) else "WER white noise"
    )
    columns = ["recognizer", "scenario", "dB asked", "measured", "WER clean", noise, "WER attack"]
    print_table("Attacks", [*columns, "WERD (95 %)", "succeeded", "utterances"], rows)
    rows = [
        [
            _short(row.recognizer),
            row.scenario,
            _short(name),
            *(percent(one[key]) for key in ("wer_clean", "wer_attacked", "werd")),
        ]
        for row in found.rows
        for name, one in row.transfer.items()
    ]
    if rows:
        print_table(
            "Transfer: made on one, heard by another",
            ["made on", "scenario", "heard by", "clean WER", "WER", "WERD"],
            rows,
        )
    if any(row.interval_by == "utterance" for row in found.rows):
        note("Intervals are over utterances: fewer than five known speakers.")
    for row in found.rows:
        for why, count in row.failures.items():
            note(f"{row.recognizer}, {row.scenario}: {count} utterances not attacked ({why})")
    note(
        f"Written to {out}: audio, transcripts.parquet, scores.parquet (for voxaudit robustness), attack.json"
    )


def _short(recognizer: str) -> str:
    """Return a recognizer's name without the folders of its file."""
    return recognizer.replace("\\", "/").rpartition("/")[2] or recognizer
