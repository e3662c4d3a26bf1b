"""`voxaudit inspect CORPUS`: how a corpus is read, who is in it, and everything wrong with it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import add_corpus_arguments, columns_as_asked

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.corpus import Corpus

EXAMPLE = "voxaudit inspect data/manifest.csv --columns text=sentence,speaker=client_id"

GROUPS_SHOWN = 8
GROUPS_IN_JSON = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("corpus", metavar="CORPUS", help="a manifest file or the folder of a corpus")
    add_corpus_arguments(parser)
    parser.add_argument(
        "--where",
        metavar="CLAUSE",
        action="append",
        default=[],
        help="only these rows, for example gender=female or 'duration<=10'; give it again for more (docs/corpora.md)",
    )
    parser.add_argument(
        "--no-audio", action="store_true", help="do not look for the audio files: references alone"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Print what was read; exit code 2 if there are fatal problems."""
    from voxaudit.cli.output import print_json
    from voxaudit.corpus import examine_corpus, select, without_bad_rows

    columns = columns_as_asked(args)
    corpus = examine_corpus(args.corpus, format=args.format, columns=columns, check_audio=not args.no_audio)
    if args.skip_bad_rows:
        corpus = without_bad_rows(corpus)
    corpus = select(corpus, args.where)
    summary = summarize(corpus, args.corpus)
    if args.json:
        print_json(summary)
    else:
        _show(summary)
    return 0 if summary["usable"] else 2


def summarize(corpus: Corpus, path: str) -> dict[str, Any]:
    """Return what `--json` prints (docs/corpora.md describes it)."""
    table = corpus.table
    known = int(table["duration"].count())
    return {
        "path": path,
        "name": corpus.name,
        "format": corpus.format,
        "usable": not any(problem.fatal for problem in corpus.problems),
        "utterances": len(corpus),
        "skipped": corpus.skipped,
        "speakers": table["speaker"].drop_nulls().n_unique() or None,
        "seconds": round(float(table["duration"].sum()), 3) if known and known == len(corpus) else None,
        "columns": dict(corpus.columns),
        "attributes": {name: _groups(table, name) for name in corpus.attributes},
        "problems": [
            {
                "kind": problem.kind,
                "message": problem.message,
                "fatal": problem.fatal,
                "count": problem.count,
                "rows": list(problem.rows),
            }
            for problem in corpus.problems
        ],
    }


def _groups(table: pl.DataFrame, name: str) -> dict[str, Any]:
    """Return the groups of an attribute, the most frequent first, with their utterances and speakers."""
    import polars as pl

    given = table.select(pl.col(name).alias("group"), "speaker").filter(pl.col("group").is_not_null())
    speakers = pl.col("speaker").drop_nulls().n_unique() if table["speaker"].count() else pl.lit(None)
    groups = (
        given.group_by("group")
        .agg(utterances=pl.len(), speakers=speakers)
        .sort("utterances", "group", descending=[True, False])
    )
    return {
        "count": groups.height,
        "missing": table.height - given.height,
        "groups": groups.head(GROUPS_IN_JSON).to_dicts(),
    }


def _show(summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from voxaudit.cli.output import printable

    console = Console(highlight=False)
    speakers = "not known" if summary["speakers"] is None else f"{summary['speakers']:,}"
    facts = {
        "corpus": f"{summary['name']} ({summary['path']})",
        "format": summary["format"],
        "columns": ", ".join(f"{ours} = {theirs}" for ours, theirs in summary["columns"].items()),
        "utterances": f"{summary['utterances']:,}" + _left_out(summary["skipped"]),
        "speakers": speakers,
    }
    if summary["seconds"] is not None:
        hours = summary["seconds"] / 3600
        facts["hours"] = f"{hours:,.1f}" if hours >= 10 else f"{hours:.3g}"
    for name, fact in facts.items():
        console.print(f"{name:<12}{escape(printable(fact))}", soft_wrap=True)
    if summary["attributes"]:
        console.print()
        console.print(_attribute_table(summary["attributes"]))
    console.print()
    if not summary["problems"]:
        console.print("No problems found.")
    for problem in sorted(summary["problems"], key=lambda problem: not problem["fatal"]):
        mark = "[red]problem[/red]" if problem["fatal"] else "[yellow]note[/yellow]"
        console.print(f"{mark}  {escape(printable(problem['message']))}", soft_wrap=True)
    if not summary["usable"] and summary["utterances"]:
        console.print("\nNot usable as it is. Fix the rows, or leave them out with --skip-bad-rows.")


def _left_out(skipped: int) -> str:
    return f" ({skipped:,} bad row{'s' if skipped > 1 else ''} not counted)" if skipped else ""


def _attribute_table(attributes: dict[str, Any]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from voxaudit.cli.output import printable

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("attribute")
    table.add_column("group")
    table.add_column("utterances", justify="right")
    table.add_column("speakers", justify="right")
    for name, attribute in attributes.items():
        shown = attribute["groups"][:GROUPS_SHOWN]
        label = escape(printable(name))
        for group in shown:
            speakers = "" if group["speakers"] is None else f"{group['speakers']:,}"
            table.add_row(label, escape(repr(group["group"])[1:-1]), f"{group['utterances']:,}", speakers)
            label = ""
        if attribute["count"] > len(shown):
            table.add_row(label, f"... {attribute['count'] - len(shown):,} more groups", "", "")
            label = ""
        if attribute["missing"]:
            table.add_row(label, "(not given)", f"{attribute['missing']:,}", "")
    return table
