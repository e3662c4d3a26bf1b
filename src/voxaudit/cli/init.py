"""`voxaudit init`: a commented `audit.toml` for the user's corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from voxaudit.cli.arguments import SHARED, take
from voxaudit.cli.output import note, print_json
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit init manifest.csv"

SCHEMA = "audit.schema.json"
"""What the JSON schema is called that lies beside an audit.toml."""
MOST_LEVELS = 12
"""An attribute with more different values than this is not proposed as groups to compare."""
_OWN = {
    "force": Option("overwrite FILE if it exists", "flag"),
    "schema": SHARED["schema"].noting(
        f"of FILE, by which editors check and complete it: also write {SCHEMA} beside it; without a corpus: print it"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus",
        metavar="CORPUS",
        type=Path,
        nargs="?",
        help="a manifest or corpus folder; `voxaudit list corpora` shows formats",
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", default=Path("audit.toml"), help="default: audit.toml"
    )
    take(parser, "format force schema", _OWN)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import json
    import os

    from voxaudit.config import audit_toml, config_schema
    from voxaudit.corpus import examine_corpus
    from voxaudit.tables import write_atomically

    if args.corpus is None:
        if not args.schema:
            raise VoxauditError(f"name the corpus that shall be audited: {EXAMPLE}")
        print_json(config_schema())
        return 0
    if args.file.exists() and not args.force:
        raise VoxauditError(f"{args.file}: exists already. Use --force to overwrite it, or name another file")
    corpus = examine_corpus(args.corpus, format=args.format)
    levels = {name: corpus.table[name].drop_nulls().n_unique() for name in corpus.attributes}
    text = audit_toml(
        os.path.relpath(args.corpus.absolute(), args.file.absolute().parent),
        format=args.format or corpus.format,
        found_out=args.format is None,
        attributes=[name for name, count in levels.items() if 2 <= count <= MOST_LEVELS],
    )
    if args.schema:
        # A path beside the file is the only one that is right wherever the folder goes.
        schema = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(
            args.file.with_name(SCHEMA), lambda target: target.write_text(schema, encoding="utf-8")
        )
        text = f"#:schema ./{SCHEMA}\n{text}"
    write_atomically(args.file, lambda target: target.write_text(text, encoding="utf-8"))
    for problem in corpus.problems:
        note(f"note: {problem.message}")
    speakers = corpus.table["speaker"].drop_nulls().n_unique()
    print(
        f"{args.file}: {len(corpus)} utterances, {speakers} speakers. Look through it, then: voxaudit run {args.file}"
    )
    return 0
