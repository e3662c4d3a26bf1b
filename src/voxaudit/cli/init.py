"""`voxaudit init`: a commented `audit.toml` for the user's corpus, or for several."""

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
        "corpora",
        metavar="CORPUS",
        nargs="*",
        help="a manifest or corpus folder (`voxaudit list corpora` shows formats); several are heard in one run."
        " A last name that ends in .toml is the file to write (default: audit.toml)",
    )
    take(parser, "format skip_bad_rows force schema", _OWN)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import os

    from voxaudit.config import audit_toml, config_schema, corpus_toml
    from voxaudit.corpus import examine_corpus
    from voxaudit.corpus.merge import CORPUS, LANGUAGE, names_of
    from voxaudit.tables import write_atomically, write_json

    paths, file = list(args.corpora), Path("audit.toml")
    if paths and paths[-1].lower().endswith(".toml"):
        file = Path(paths.pop())
    if not paths:
        if not args.schema:
            raise VoxauditError(f"name the corpus to audit: {EXAMPLE}")
        print_json(config_schema())
        return 0
    if file.exists() and not args.force:
        raise VoxauditError(f"{file}: already exists. Use --force to overwrite it, or name another file")
    corpora = [examine_corpus(path, format=args.format) for path in paths]
    names = names_of(corpora) if len(corpora) > 1 else [None]
    sections = [
        corpus_toml(
            os.path.relpath(Path(path).absolute(), file.absolute().parent),
            format=args.format or corpus.format,
            found_out=args.format is None,
            # Corpora differ in what is said and how it was recorded: their gap is nobody's.
            attributes=[
                attribute
                for attribute in corpus.attributes
                if 2 <= corpus.table[attribute].drop_nulls().n_unique() <= MOST_LEVELS
                and not (len(paths) > 1 and attribute in (CORPUS, LANGUAGE))
            ],
            skip_bad_rows=args.skip_bad_rows,
            name=name,
        )
        for path, corpus, name in zip(paths, corpora, names, strict=True)
    ]
    text = audit_toml(*sections)
    if args.schema:
        # A path beside the file is the only one that is right wherever the folder goes.
        write_json(file.with_name(SCHEMA), config_schema(), indent=2)
        text = f"#:schema ./{SCHEMA}\n{text}"
    write_atomically(file, lambda target: target.write_text(text, encoding="utf-8"))
    for name, corpus in zip(names, corpora, strict=True):
        for problem in corpus.problems:
            note(f"note: {problem.message}" if name is None else f"note: {name}: {problem.message}")
    utterances = sum(map(len, corpora))
    speakers = sum(corpus.table["speaker"].drop_nulls().n_unique() for corpus in corpora)
    several = f"{len(corpora)} corpora, " if len(corpora) > 1 else ""
    print(
        f"{file}: {several}{utterances} utterances, {speakers} speakers. Look through it, then: voxaudit run {file}"
    )
    return 0
