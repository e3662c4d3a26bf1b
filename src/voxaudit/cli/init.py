"""`voxaudit init`: a commented `audit.toml` for the user's corpus, or for several as one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import SHARED, take
from voxaudit.cli.output import note, print_json
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus

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
        help="a manifest or corpus folder (`voxaudit list corpora` shows formats); several are merged into one"
        " manifest beside the file. A last name that ends in .toml is the file to write (default: audit.toml)",
    )
    take(parser, "format skip_bad_rows force schema", _OWN)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import json
    import os

    from voxaudit.config import audit_toml, config_schema
    from voxaudit.corpus import examine_corpus
    from voxaudit.corpus.merge import CORPUS
    from voxaudit.tables import write_atomically

    paths, file = list(args.corpora), Path("audit.toml")
    if paths and paths[-1].lower().endswith(".toml"):
        file = Path(paths.pop())
    if not paths:
        if not args.schema:
            raise VoxauditError(f"name the corpus that shall be audited: {EXAMPLE}")
        print_json(config_schema())
        return 0
    if file.exists() and not args.force:
        raise VoxauditError(f"{file}: exists already. Use --force to overwrite it, or name another file")
    source, format_ = Path(paths[0]), args.format
    if len(paths) == 1:
        corpus = examine_corpus(source, format=format_)
    else:
        source, corpus = _merged(paths, file, args)
        format_ = "manifest"
    levels = {name: corpus.table[name].drop_nulls().n_unique() for name in corpus.attributes}
    text = audit_toml(
        os.path.relpath(source.absolute(), file.absolute().parent),
        format=format_ or corpus.format,
        found_out=format_ is None,
        # Corpora differ in what is said and how it was recorded: their gap is nobody's.
        attributes=[
            name
            for name, count in levels.items()
            if 2 <= count <= MOST_LEVELS and not (len(paths) > 1 and name == CORPUS)
        ],
        skip_bad_rows=args.skip_bad_rows and len(paths) == 1,
    )
    if args.schema:
        # A path beside the file is the only one that is right wherever the folder goes.
        schema = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(file.with_name(SCHEMA), lambda target: target.write_text(schema, encoding="utf-8"))
        text = f"#:schema ./{SCHEMA}\n{text}"
    write_atomically(file, lambda target: target.write_text(text, encoding="utf-8"))
    for problem in corpus.problems:
        note(f"note: {problem.message}")
    speakers = corpus.table["speaker"].drop_nulls().n_unique()
    if len(paths) > 1:
        print(f"{source}: {len(paths)} corpora as one, each named in the column `{CORPUS}`")
    print(
        f"{file}: {len(corpus)} utterances, {speakers} speakers. Look through it, then: voxaudit run {file}"
    )
    return 0


def _merged(paths: list[str], file: Path, args: argparse.Namespace) -> tuple[Path, Corpus]:
    """Write the manifest that holds several corpora; its name, which the report will show, is theirs."""
    from voxaudit.corpus import merge_corpora, read_corpus, write_manifest

    corpus = merge_corpora(
        [read_corpus(path, format=args.format, skip_bad_rows=args.skip_bad_rows) for path in paths]
    )
    manifest = file.with_name(f"{corpus.name[:120]}.jsonl")
    if manifest.exists() and not args.force:
        raise VoxauditError(f"{manifest}: exists already. Use --force to overwrite it")
    write_manifest(corpus, manifest)
    return manifest, corpus
