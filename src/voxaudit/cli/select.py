"""`voxaudit select CORPUS --where CLAUSE`: a part of a corpus, written as a manifest of its own."""

from __future__ import annotations

import argparse

from voxaudit.cli.arguments import CORPUS, SHARED, read_corpus_as_asked, take
from voxaudit.cli.ask import show
from voxaudit.cli.output import note
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit select cv-corpus/en --where gender=female --where 'dnsmos>=3.4' --export chosen.csv"
_OWN = {
    "where": SHARED["where"].noting(
        "accent, !accent, gender=female, 'country=usa|uk', accent!=us, accent~scot, 'dnsmos>=3.4'; repeatable"
    ),
    "export": SHARED["export"].noting("a .csv, .tsv, .jsonl or .parquet manifest"),
    "srb_accented": Option(
        "the Speech Robust Bench's clean accented speech: an accent, not American, DNSMOS at least 3.4",
        "flag",
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("corpus", metavar="CORPUS", help="a manifest file or the folder of a corpus")
    take(parser, f"{CORPUS} where srb_accented export workers json", _OWN)


def run(args: argparse.Namespace) -> int:
    """Choose, measure what is missing, write, and say how many are left."""
    from voxaudit.answer import Answer, Note, Tables, tabulate
    from voxaudit.corpus.select import SRB_ACCENTED, check_manifest_path, write_manifest
    from voxaudit.score.quality import select_measured

    clauses = (*args.where, *(SRB_ACCENTED if args.srb_accented else ()))
    if not clauses:
        raise VoxauditError("nothing to choose by: give --where CLAUSE, for example --where gender=female")
    out = None if args.export is None else check_manifest_path(args.export)
    corpus = read_corpus_as_asked(args.corpus, args)
    chosen, measured = select_measured(
        corpus, clauses, workers=args.workers, progress=not args.json, report=lambda text: note(text)
    )
    if out is not None:
        write_manifest(chosen, out)
    kinds = ("selected", "no_such_value")
    notes = [Note(one.kind, one.message) for one in chosen.problems if one.kind in kinds]
    if out is not None:
        notes.append(Note("written", f"written to {out}", {"file": str(out)}))
    row = {
        "corpus": corpus.name,
        "format": corpus.format,
        "utterances": len(corpus),
        "chosen": len(chosen),
        "speakers": chosen.table["speaker"].drop_nulls().n_unique() or None,
        "measured": measured,
    }
    columns = ["corpus", "utterances", ("chosen", "", "count"), "speakers"]
    table = Tables([tabulate("chosen", "", [row], columns)])
    show(Answer("select", args.corpus, {"where": list(clauses)}, tables=table, notes=tuple(notes)), args)
    return 0
