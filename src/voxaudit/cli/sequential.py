"""`voxaudit sequential`: hear no more than is needed, or see what that would have saved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import add_run_arguments
from voxaudit.options import ON_DEMAND

if TYPE_CHECKING:
    from voxaudit.audits.sequential import Sequential
    from voxaudit.config import AuditConfig

EXAMPLE = "voxaudit sequential audit.toml --decide gender --per-speaker 4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "source",
        type=Path,
        metavar="AUDIT",
        help="audit.toml to hear; or a finished run's folder or scores table, to see what stopping would have saved",
    )
    add_goal_arguments(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: as in audit.toml)")
    group = parser.add_argument_group("options of the run (audit.toml may set other defaults)")
    add_run_arguments(group, *ON_DEMAND)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def add_goal_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare when a cell has been heard enough."""
    parser.add_argument(
        "--precision",
        type=float,
        metavar="X",
        help="stop when the word error rate is known to this share of words, such as 0.02",
    )
    parser.add_argument(
        "--decide",
        metavar="ATTRIBUTE",
        help="stop when a gap between the groups is shown, is shown to be small, or is out of reach",
    )
    parser.add_argument("--reference", metavar="GROUP", help="group to compare with (default: the largest)")
    parser.add_argument(
        "--margin", type=float, default=0.05, metavar="X", help="a gap up to this is none (default: 0.05)"
    )
    parser.add_argument(
        "--per-speaker", type=int, metavar="N", help="hear at most N utterances a speaker (default: all)"
    )
    parser.add_argument("--alpha", type=float, default=0.05, metavar="X", help="default: 0.05")
    parser.add_argument(
        "--each",
        action="store_true",
        help="claims at level alpha in each cell (default: alpha is the share of false claims over all cells)",
    )
    parser.add_argument(
        "--patient", action="store_true", help="do not give up on gaps that look out of reach"
    )


def goal_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_goal_arguments` lets the user say, as arguments of `sequential` and `replay`."""
    from voxaudit.audits.sequential import Goal

    goal = Goal(
        args.precision,
        args.decide is not None,
        args.margin,
        args.alpha,
        fdr=not args.each,
        give_up=not args.patient,
    )
    return {
        "goal": goal,
        "attribute": args.decide,
        "reference": args.reference,
        "per_speaker": args.per_speaker,
    }


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audits.sequential import replay
    from voxaudit.cli.arguments import as_asked
    from voxaudit.config import load_config

    if args.source.suffix.lower() != ".toml":
        show(replay(args.source, **goal_of(args), seed=args.seed or 0), None, as_json=args.json)
        return 0
    return hear(as_asked(load_config(args.source), args), args)


def hear(config: AuditConfig, args: argparse.Namespace) -> int:
    """Run a configured audit sequentially and print what was found."""
    from voxaudit.cli.output import note
    from voxaudit.config import Gates
    from voxaudit.pipeline import STUTTER, run_sequential

    if config.gates != Gates():
        note("No gate is judged: gates need the full grid. Run without --precision and --decide for them")
    show(run_sequential(config, **goal_of(args), progress=not args.json), config.out, as_json=args.json)
    if config.stutter is not None:
        note(
            f"Stuttered speech, as [stutter] asks, is in {config.out / STUTTER}: voxaudit report {config.out}"
        )
    return 0


def show(found: Sequential, out: Path | None, *, as_json: bool) -> None:
    """Print what was found."""
    from voxaudit.cli.output import note, print_json, print_table, printable
    from voxaudit.report.numbers import percent_interval, points_interval

    if as_json:
        print_json(found.findings)
        return
    if found.goal.precision is not None or not found.gaps:
        rows = [
            [
                rate.recognizer,
                rate.scenario,
                rate.group,
                percent_interval(rate.wer, rate.low, rate.high),
                rate.speakers,
                rate.stopped or "-",
            ]
            for rate in found.rates
        ]
        head = ["recognizer", "scenario", "group", "WER (95 % at all looks)", "speakers", "stopped"]
        print_table("Word error rates", head, rows)
    if found.gaps:
        rows = [
            [
                gap.recognizer,
                gap.scenario,
                gap.group,
                points_interval(gap.gap, gap.low, gap.high),
                f"{gap.e_value:.3g}",
                gap.pairs,
                gap.stopped,
                gap.verdict,
            ]
            for gap in found.gaps
        ]
        level = f"{100 * (1 - found.goal.alpha):g} %"
        head = [
            *("recognizer", "scenario", "group", f"gap in percentage points ({level} at all looks)"),
            *("e-value", "pairs", "stopped", "verdict"),
        ]
        print_table(f"Gaps against {found.order.names[0]}", head, rows)
    for sentence in found.sentences():
        print(f"- {printable(sentence)}")
    if out is not None:
        note(f"Written to {out}: sequential.json, scores.parquet, transcripts.parquet, run.json")
