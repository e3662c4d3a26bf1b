"""`voxaudit init`: a commented `audit.toml` for the user's corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus

EXAMPLE = "voxaudit init manifest.csv"

SCHEMA = "audit.schema.json"
"""What the JSON schema is called that lies beside an audit.toml."""

EXAMPLES = {
    "out": '"runs/first"',
    "workers": "2",
    "executor": '"ray"',
    "ray_address": '"auto"',
    "replica_cpus": "1",
    "replica_gpus": "0.5",
    "publish": '"s3://bucket/folder"',
    "dose": "[0, 5, 10, 20]",
}
"""What is shown for keys that are not for everybody."""

MOST_LEVELS = 12
"""An attribute with more different values than this is not proposed as groups to compare."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus",
        type=Path,
        nargs="?",
        help="a manifest or corpus folder; `voxaudit list corpora` shows formats",
    )
    parser.add_argument("--format", help="corpus format (default: found out)")
    parser.add_argument(
        "--out", type=Path, default=Path("audit.toml"), metavar="FILE", help="default: audit.toml"
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")
    parser.add_argument(
        "--schema",
        action="store_true",
        help=f"also write {SCHEMA} beside FILE, by which editors check and complete it; without a corpus: print it",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import json
    import os

    from voxaudit.cli.output import note, print_json
    from voxaudit.config import config_schema
    from voxaudit.corpus import examine_corpus
    from voxaudit.errors import VoxauditError
    from voxaudit.tables import write_atomically

    if args.corpus is None:
        if not args.schema:
            raise VoxauditError(f"name the corpus that shall be audited: {EXAMPLE}")
        print_json(config_schema())
        return 0
    if args.out.exists() and not args.force:
        raise VoxauditError(
            f"{args.out}: exists already. Use --force to overwrite it, or --out for another name"
        )
    corpus = examine_corpus(args.corpus, format=args.format)
    path = os.path.relpath(args.corpus.absolute(), args.out.absolute().parent)
    text = audit_toml(corpus, path, args.format)
    if args.schema:
        # A path beside the file is the only one that is right wherever the folder goes.
        schema = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(
            args.out.with_name(SCHEMA), lambda target: target.write_text(schema, encoding="utf-8")
        )
        text = f"#:schema ./{SCHEMA}\n{text}"
    write_atomically(args.out, lambda target: target.write_text(text, encoding="utf-8"))
    for problem in corpus.problems:
        note(f"note: {problem.message}")
    speakers = corpus.table["speaker"].drop_nulls().n_unique()
    print(
        f"{args.out}: {len(corpus)} utterances, {speakers} speakers. Look through it, then: voxaudit run {args.out}"
    )
    return 0


def audit_toml(corpus: Corpus, path: str, format_: str | None) -> str:
    """Return an `audit.toml` for a corpus, with every key explained."""
    groups = [
        name for name in corpus.attributes if 2 <= corpus.table[name].drop_nulls().n_unique() <= MOST_LEVELS
    ]
    attributes = ", ".join(_toml(name) for name in groups)
    form = (
        f"format = {_toml(format_)}"
        if format_
        else f"# format = {_toml(corpus.format)}  # what was found out"
    )
    return f"""\
# What voxaudit audits. Paths are relative to this file. Run it with: voxaudit run audit.toml

[corpus]
path = {_toml(path)}
{form}
# columns = {{ text = "sentence", speaker = "client_id" }}  # ours = the corpus's name, where it is not found out
attributes = [{attributes}]  # the groups to compare
skip_bad_rows = false  # true: leave out rows with missing audio or duplicate ids instead of stopping

# One section per recognizer. The name is yours; `engine` says what it is, if that is not the name.
# `voxaudit list recognizers` shows the engines and their settings.
[recognizers.moonshine]

[recognizers.pocketsphinx]

# [recognizers.mine]
# engine = "command"
# command = "my-recognizer --quiet {{audio}}"

[scenarios]
use = ["quick"]  # suites and scenario ids, such as "gaussian_noise:3"; clean speech is always heard too

[run]
{_keys("run")}

[score]
{_keys("score")}

# Can people who stutter use it? Some utterances are made to stutter and heard again; needs the extra `embeddings`.
# [stutter]
{_keys("stutter", commented=True)}

# What must hold for `voxaudit run` to exit with 0 rather than 1. Rates are fractions.
# [gates]
# clean_wer = 0.15          # word error rate on clean speech, at most
# worst_wer = {{ limit = 0.6, bound = "upper" }}  # in the worst scenario, judged by its upper limit
# worst_group_ratio = 1.5   # errors of a group over those of another, judged by its lower limit
# max_failures = 0.01       # share of trials without an answer
# baseline = "runs/before"  # an earlier run: nothing may be significantly worse
"""


def _keys(section: str, *, commented: bool = False) -> str:
    """Return the lines of a section with every key explained; those that are not for everybody are commented out."""
    from voxaudit.config import SECTIONS

    lines = []
    for name, one in SECTIONS[section].items():
        said = one.meaning
        if name in EXAMPLES and one.default_said and not one.required:
            said += f"; default: {one.default_said}"
        lead = "# " if commented or (name in EXAMPLES and not one.required) else ""
        lines.append((f"{lead}{name} = {EXAMPLES.get(name) or _value(one.default)}", said))
    width = max(len(line) for line, _ in lines)
    return "\n".join(f"{line:{width}}  # {said}" for line, said in lines)


def _value(value: Any) -> str:
    """Return a default as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return _toml(value) if isinstance(value, str) else f"{value:g}"


def _toml(text: str) -> str:
    """Return text as a TOML string, whatever is in it."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else f"\\U{ord(character):08X}"
        for character in text
    )
    return f'"{escaped}"'
