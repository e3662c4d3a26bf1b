"""`voxaudit select CORPUS --where CLAUSE`: a part of a corpus, written as a manifest of its own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus

EXAMPLE = "voxaudit select cv-corpus/en --where gender=female --where 'dnsmos>=3.4' --out chosen.csv"

MEASURED = "dnsmos"
"""The column that is measured where a clause asks for it and the corpus does not have it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from voxaudit.cli.arguments import add_corpus_arguments

    parser.add_argument("corpus", metavar="CORPUS", help="a manifest file or the folder of a corpus")
    add_corpus_arguments(parser)
    parser.add_argument(
        "--where",
        metavar="CLAUSE",
        action="append",
        default=[],
        help="accent (is given), !accent, gender=female, accent!=us, accent~scot, accent!~united, 'dnsmos>=3.4';"
        " rows must meet all",
    )
    parser.add_argument(
        "--srb-accented",
        action="store_true",
        help="the Speech Robust Bench's clean accented speech: an accent, not American, DNSMOS at least 3.4",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write them to a .csv, .tsv, .jsonl or .parquet manifest"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes to measure with (default: one per core)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Choose, measure what is missing, write, and say how many are left."""
    from voxaudit.cli.arguments import read_corpus_as_asked
    from voxaudit.cli.output import note, print_json
    from voxaudit.corpus.export import check_manifest_path, write_manifest
    from voxaudit.corpus.select import SRB_ACCENTED, parse_clause, select
    from voxaudit.errors import VoxauditError

    clauses = [parse_clause(text) for text in (*args.where, *(SRB_ACCENTED if args.srb_accented else ()))]
    if not clauses:
        raise VoxauditError("nothing to choose by: give --where CLAUSE, for example --where gender=female")
    out = None if args.out is None else check_manifest_path(args.out)
    corpus = read_corpus_as_asked(args.corpus, args)
    later = [
        clause for clause in clauses if clause.column == MEASURED and MEASURED not in corpus.table.columns
    ]
    # What costs nothing to know comes first: only the rest is listened to.
    chosen = select(corpus, [clause for clause in clauses if clause not in later])
    measured = len(chosen) if later else 0
    if later:
        note(f"measuring the quality of {measured:,} utterances (DNSMOS); kept for the next time")
        chosen = select(_measured(chosen, args.workers, progress=not args.json), later)
    if out is not None:
        write_manifest(chosen, out)
    notes = [problem.message for problem in chosen.problems if problem.kind in ("selected", "no_such_value")]
    if args.json:
        document = {
            "path": args.corpus,
            "format": corpus.format,
            "utterances": len(corpus),
            "chosen": len(chosen),
            "speakers": chosen.table["speaker"].drop_nulls().n_unique() or None,
            "measured": measured,
            "notes": notes,
            "out": args.out,
        }
        print_json(document)
        return 0
    print(f"{len(chosen):,} of {len(corpus):,} utterances" + (f" written to {out}" if out else ""))
    for line in notes:
        note(line)
    return 0


def _measured(corpus: Corpus, workers: int | None, *, progress: bool) -> Corpus:
    """Return the corpus with the DNSMOS of every utterance; null where it cannot be measured."""
    from dataclasses import replace

    import polars as pl

    from voxaudit.score.quality import measure_quality

    quality = measure_quality(corpus, utterances=len(corpus), workers=workers, progress=progress)
    clean = quality.select(pl.col("utterance").alias("id"), pl.col(MEASURED).round(6).cast(pl.String))
    return replace(corpus, table=corpus.table.join(clean, on="id", how="left", maintain_order="left"))
