"""`voxaudit robustness`: where does a recogniser break, how fast, and which of several breaks least?"""

from __future__ import annotations

import argparse
import os

from voxaudit.cli.arguments import names

EXAMPLE = "voxaudit robustness RUN --attributes gender --plot curves.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "tables",
        nargs="+",
        metavar="RUN_OR_TABLE",
        help="a run's folder or a table of scores (csv, tsv, jsonl, parquet); several: other recognizers, or other"
        " seeds to see how stable the results are",
    )
    parser.add_argument(
        "--attributes",
        default="",
        metavar="COL,...",
        help="attributes whose groups are compared in every scenario",
    )
    parser.add_argument(
        "--difficulty",
        metavar="WHICH",
        help="published, measured, none, or a file with the columns scenario and difficulty (default: measured where"
        " the run has it, else published)",
    )
    parser.add_argument(
        "--facts",
        metavar="FILE",
        help="facts about recognizers: a column recognizer, then parameters, hours ...",
    )
    parser.add_argument(
        "--by",
        default="",
        metavar="COL,...",
        help="set results apart by language, corpus or both (default: pooled)",
    )
    parser.add_argument("--plot", metavar="FILE", help="write the severity curves (.png or .svg)")
    parser.add_argument(
        "--worst", type=int, default=5, metavar="N", help="worst scenarios to list (default: 5)"
    )
    parser.add_argument(
        "--resamples", type=int, default=2000, metavar="N", help="bootstrap draws of speakers (default: 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the bootstrap (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    # The matrices are small: threads would only wait for each other. Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from voxaudit.audits.robustness import robustness
    from voxaudit.audits.robustness.difficulty import listed
    from voxaudit.audits.robustness.sources import (
        choose_difficulty,
        noise_sources,
        read_many,
        slots_left_out,
    )
    from voxaudit.cli.output import note, print_json
    from voxaudit.cli.robustness_tables import print_findings
    from voxaudit.tables import read_table, require_columns

    if args.plot:
        from voxaudit.audits.disparity.plot import check_plot_path

        check_plot_path(args.plot)
    where = ", ".join(args.tables)
    scores = read_many(args.tables)
    require_columns(scores, ["scenario"], where)
    scenarios = [str(name) for name in scores["scenario"].unique().to_list()]
    difficulty, source = choose_difficulty(args.difficulty, args.tables, scenarios)
    found = robustness(
        scores,
        difficulty=difficulty,
        difficulty_source=source,
        attributes=names(args.attributes),
        by=names(args.by),
        facts=read_table(args.facts) if args.facts else None,
        facts_where=args.facts or "facts",
        resamples=args.resamples,
        seed=args.seed,
        where=where,
    )
    note(f"note: difficulties: {found.difficulty_source}")
    for line in found.notes:
        note(f"note: {line}")
    sources = noise_sources(args.tables)
    for name, description in sources.items():
        note(f"note: {name}: {description}")
    if left_out := slots_left_out(args.tables):
        note(f"note: not heard: {listed(left_out)}; run.json says what each needs")
    if args.plot:
        from voxaudit.audits.robustness.plot import severity_plot

        severity_plot(found, args.plot)
        note(f"note: plot written to {args.plot}")
    if args.json:
        print_json({"tables": list(args.tables), "sources": sources, **found.to_dict()})
    else:
        print_findings(found, worst=max(args.worst, 0))
    return 0
