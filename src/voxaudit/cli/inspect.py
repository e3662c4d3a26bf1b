"""`voxaudit inspect CORPUS`: how a corpus is read, who is in it, and everything wrong with it."""

from __future__ import annotations

import argparse
from typing import Any

from voxaudit.cli.arguments import CORPUS, columns_as_asked, take
from voxaudit.cli.ask import show
from voxaudit.options import Option

EXAMPLE = "voxaudit inspect data/manifest.csv --columns text=sentence,speaker=client_id"

GROUPS_SHOWN = 8
_OWN = {
    "audio": Option(
        "look for the audio files", "flag", off="do not look for the audio files: references alone"
    )
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("corpus", metavar="CORPUS", help="a manifest file or the folder of a corpus")
    take(parser, f"{CORPUS} where audio json", _OWN, audio=True)


def run(args: argparse.Namespace) -> int:
    """Print what was read; exit code 2 if there are fatal problems."""
    from voxaudit.answer import Answer, Note, Tables, tabulate
    from voxaudit.corpus import examine_corpus, select, without_bad_rows
    from voxaudit.corpus.describe import describe_corpus

    columns = columns_as_asked(args)
    corpus = examine_corpus(args.corpus, format=args.format, columns=columns, check_audio=args.audio)
    if args.skip_bad_rows:
        corpus = without_bad_rows(corpus)
    known = describe_corpus(select(corpus, args.where), args.corpus)
    (facts,) = known["corpus"]
    notes = [] if known["problems"] else [Note("no_problems", "no problems found")]
    if not facts["usable"] and facts["utterances"]:
        text = "not usable as it is: fix the rows, or leave them out"
        notes.append(Note("not_usable", text, see=("skip_bad_rows",)))
    if (more := facts["attributes"] - len(known["attributes"])) > 0:
        notes.append(
            Note("more_attributes", f"{more:,} more attributes are not listed", {"attributes": more})
        )
    about = [{**facts, "length": _length(facts["seconds"])}]
    tables = [
        tabulate("corpus", "", about, "corpus format utterances left_out speakers length"),
        tabulate("columns", "Columns", known["columns"], [("column", "ours"), ("name", "in the corpus")]),
        tabulate("largest", "Groups", _largest(known), "attribute group utterances speakers"),
        tabulate("problems", "Problems", known["problems"], [("weight", "kind"), ("message", "what")]),
        tabulate("attributes", "Attributes", known["attributes"], "attribute groups not_given", folded=True),
        tabulate("groups", "All groups", known["groups"], "attribute group utterances speakers", folded=True),
    ]
    shown = Tables(table for table in tables if table.frame.height)
    show(Answer("inspect", args.corpus, {"where": args.where}, tables=shown, notes=tuple(notes)), args)
    return 0 if facts["usable"] else 2


def _length(seconds: float | None) -> str | None:
    """Return a length of time as a person would say it.

    >>> _length(6.24), _length(400.0), _length(18_000.0)
    ('6.2 seconds', '6.7 minutes', '5.0 hours')
    """
    if seconds is None:
        return None
    unit, size = next(
        (one for one in (("hours", 3600), ("minutes", 60)) if seconds >= one[1]), ("seconds", 1)
    )
    return f"{seconds / size:.1f} {unit}"


def _largest(known: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the groups to show: the largest of each attribute, how many more there are, and who has none."""
    rows: list[dict[str, Any]] = []
    for one in known["attributes"]:
        name = one["attribute"]
        groups = [row for row in known["groups"] if row["attribute"] == name][:GROUPS_SHOWN]
        rows += [{**row, "group": repr(row["group"])[1:-1]} for row in groups]
        more = {f"... {one['groups'] - len(groups):,} more groups": None, "(not given)": one["not_given"]}
        wanted = (one["groups"] > len(groups), bool(one["not_given"]))
        rows += [
            {"attribute": name, "group": label, "utterances": count, "speakers": None}
            for (label, count), there in zip(more.items(), wanted, strict=True)
            if there
        ]
    return rows
