"""`voxaudit differential`: does disturbed speech hurt some groups more? Asked without reference texts."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voxaudit.audits.differential import Findings, View

EXAMPLE = "voxaudit differential RUN --attribute gender --exclude scale:0.6 scale:0.5"
_MOST_ROWS = 15
_MOST_REFUSALS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="a run folder, a table of transcripts, or a table of distances: .csv, .tsv, .jsonl, .parquet",
    )
    parser.add_argument(
        "--attribute", metavar="COL", help="column of the groups (default for distances: group)"
    )
    parser.add_argument(
        "--tau",
        default="0.01,0.05,0.1,0.15",
        metavar="T,...",
        help="tolerances in word distance (default: 0.01,0.05,0.1,0.15)",
    )
    parser.add_argument(
        "--exclude",
        action="extend",
        nargs="+",
        default=[],
        metavar="SCENARIO",
        help="leave these out: scale:0.6 scale:0.5, or a whole perturbation",
    )
    parser.add_argument(
        "--min-comprehensibility",
        type=float,
        metavar="X",
        help="only scenarios that people rated X or more, of 10 (published ratings, or --ratings)",
    )
    parser.add_argument(
        "--ratings", metavar="FILE", help="ratings of your own: columns perturbation, setting, rating"
    )
    parser.add_argument("--corpus", metavar="NAME", help="one corpus of a table of distances (default: each)")
    parser.add_argument(
        "--speaker", default="speaker", metavar="COL", help="column of the speaker (default: speaker)"
    )
    parser.add_argument("--clean", metavar="ID", help="the undisturbed scenario (default: clean or original)")
    parser.add_argument("--normalizer", default="basic", metavar="NAME", help="of texts (default: basic)")
    parser.add_argument(
        "--fdr",
        type=float,
        default=0.05,
        metavar="Q",
        help="share of false claims among the significant ones that is put up with (default: 0.05)",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="of the gaps' intervals (default: 0.95)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of permutations (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audits.differential import differential, merged, read_ratings
    from voxaudit.cli.output import print_json

    all_findings = differential(
        args.input,
        args.attribute,
        taus=_taus(args.tau),
        exclude=[part for text in args.exclude for part in re.split(r",(?=[^,=]+:)", text)],
        min_comprehensibility=args.min_comprehensibility,
        ratings=read_ratings(args.ratings) if args.ratings else None,
        corpus=args.corpus,
        speaker=args.speaker,
        clean=args.clean,
        normalizer=args.normalizer,
        fdr=args.fdr,
        confidence=args.confidence,
        seed=args.seed,
    )
    if args.json:
        print_json({"input": args.input, **merged(all_findings)})
        return 0
    for findings in all_findings:
        _show(findings)
    return 0


def _taus(text: str) -> tuple[float, ...]:
    from voxaudit.errors import VoxauditError

    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise VoxauditError(f"--tau takes numbers with commas between (0.01,0.05), not '{text}'") from error


def _show(findings: Findings) -> None:
    from voxaudit.cli.output import note

    view = findings.view
    name = f"{findings.corpus}: " if findings.corpus else ""
    _show_groups(
        findings,
        f"{name}violations by {findings.attribute}, {len(view.scenarios)} scenarios, {', '.join(view.pairs)}",
    )
    _show_counts(view, name)
    if view.tested:
        _show_significant(view, findings.fdr)
    if findings.agreement is not None and findings.wer is not None:
        _show_agreement(findings)
    for what, count in findings.left_out.items():
        note(f"left out: {count} {what}")
    for text in (*findings.notes, *findings.refusals[:_MOST_REFUSALS]):
        note(f"note: {text}")
    if len(findings.refusals) > _MOST_REFUSALS:
        note(f"note: {len(findings.refusals) - _MOST_REFUSALS} more comparisons are not tested (all: --json)")


def _show_groups(findings: Findings, title: str) -> None:
    from voxaudit.cli.output import print_table

    view = findings.view
    totals = view.counts()["totals"]
    survived = view.counts(significant=True)["totals"]
    columns = [
        "group",
        "speakers",
        "violations (paper's rule)",
        "by chance: mean, 95th percentile",
        "p of the total",
    ]
    rows = []
    for group in view.groups:
        chance = None if view.chance is None else view.chance[group]
        rows.append(
            [
                group,
                "-" if findings.speakers is None else findings.speakers[group],
                totals[group],
                "-" if chance is None else f"{chance.mean:.1f}, {chance.upper:.0f}",
                "-" if chance is None else f"{chance.p:.3f}",
                survived[group] if view.tested else "-",
            ]
        )
    print_table(title, [*columns, f"significant (FDR {findings.fdr:g})"], rows)


def _show_counts(view: View, name: str) -> None:
    from voxaudit.cli.output import print_table

    counts, survived = view.counts(), view.counts(significant=True)
    rows = []
    for kind, key in (("tau", "by_tau"), ("pair", "by_pair"), ("perturbation", "by_perturbation")):
        for label, row in counts[key].items():
            cells = [
                f"{row[group]} ({survived[key][label][group]})" if view.tested else str(row[group])
                for group in view.groups
            ]
            rows.append([kind, label, *cells])
    title = f"{name}paper's counts (significant ones)" if view.tested else f"{name}paper's counts"
    print_table(title, ["by", "", *view.groups], rows)


def _show_significant(view: View, fdr: float) -> None:
    import polars as pl

    from voxaudit.cli.output import print_table
    from voxaudit.report.numbers import percent_interval
    from voxaudit.wording import p_cell

    rows = view.violations.filter(pl.col("significant").fill_null(False))
    # One line a cell: the largest tau that the data carry.
    cells = rows.sort("tau", descending=True).unique(
        ["group", "against", "pair", "scenario"], keep="first", maintain_order=True
    )
    if not cells.height:
        print(
            f"No violation survives at a false-discovery rate of {fdr:g} ({view.family} questions asked).\n"
        )
        return
    shown = cells.sort(["tau", "gap"], descending=True).head(_MOST_ROWS)
    title = f"violations that survive at a false-discovery rate of {fdr:g}: {cells.height} cells"
    if cells.height > shown.height:
        title += f", the largest {shown.height} (all: --json)"
    print_table(
        title,
        ["group", "against", "pair", "scenario", "gap", "beyond tau", "p", "q"],
        [
            [
                *(row["group"], row["against"], row["pair"], row["scenario"]),
                percent_interval(row["gap"], row["ci_low"], row["ci_high"]),
                f"{row['tau']:g}",
                p_cell(row["p"]),
                p_cell(row["q"]),
            ]
            for row in shown.to_dicts()
        ],
    )


def _show_agreement(findings: Findings) -> None:
    from voxaudit.cli.output import print_table

    agreement, wer = findings.agreement, findings.wer
    if agreement is None or wer is None:
        return
    totals, survived = wer.counts()["totals"], wer.counts(significant=True)["totals"]
    print_table(
        "the same question with word error rates (reference texts)",
        ["group", "violations (paper's rule)", "significant", "rank correlation of degradations"],
        [
            [
                group,
                totals[group],
                survived[group] if wer.tested else "-",
                _two(agreement.spearman_degradation[group]),
            ]
            for group in wer.groups
        ],
    )
    overlaps = {f"tau {tau}": overlap for tau, overlap in agreement.overlap.items()}
    if agreement.significant is not None:
        overlaps["significant"] = agreement.significant
    print_table(
        f"agreement of the two: rank correlation of {agreement.cells} gaps {_two(agreement.spearman)}",
        ["cells flagged", "both", "only without truth", "only by WER", "neither", "kappa"],
        [
            [name, o.both, o.only_differential, o.only_wer, o.neither, _two(o.kappa)]
            for name, o in overlaps.items()
        ],
    )


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
