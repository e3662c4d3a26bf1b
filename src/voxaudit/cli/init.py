"""`voxaudit init`: a commented `audit.toml` for the user's corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus

EXAMPLE = "voxaudit init manifest.csv"

MOST_LEVELS = 12
"""An attribute with more different values than this is not proposed as groups to compare."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus", type=Path, help="a manifest or corpus folder; `voxaudit list corpora` shows formats"
    )
    parser.add_argument("--format", help="corpus format (default: found out)")
    parser.add_argument(
        "--out", type=Path, default=Path("audit.toml"), metavar="FILE", help="default: audit.toml"
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import os

    from voxaudit.cli.output import note
    from voxaudit.corpus import examine_corpus
    from voxaudit.errors import VoxauditError
    from voxaudit.tables import write_atomically

    if args.out.exists() and not args.force:
        raise VoxauditError(
            f"{args.out}: exists already. Use --force to overwrite it, or --out for another name"
        )
    corpus = examine_corpus(args.corpus, format=args.format)
    path = os.path.relpath(args.corpus.absolute(), args.out.absolute().parent)
    text = audit_toml(corpus, path, args.format)
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
out = "runs/first"
seed = 0
# workers = 2      # recognizer processes; default: one per core
timeout = 120      # seconds a recognizer may take for one utterance
retries = 1
cache = true       # reuse transcripts of other runs on this machine

[score]
normalizer = "basic"  # `voxaudit list normalizers`

# Can people who stutter use it? Some utterances are made to stutter and heard again; needs the extra `embeddings`.
# [stutter]
# utterances = 8         # how many, of as many speakers as there are
# budget = 4             # stuttered cases of each
# dose = [0, 5, 10, 20]  # also: the error rate at these stuttered moments per 100 words
# threshold = 0.8        # an answer less similar than this to the one without stuttering is suspicious

# What must hold for `voxaudit run` to exit with 0 rather than 1. Rates are fractions.
# [gates]
# clean_wer = 0.15          # word error rate on clean speech, at most
# worst_wer = {{ limit = 0.6, bound = "upper" }}  # in the worst scenario, judged by its upper limit
# worst_group_ratio = 1.5   # errors of a group over those of another, judged by its lower limit
# max_failures = 0.01       # share of trials without an answer
# baseline = "runs/before"  # an earlier run: nothing may be significantly worse
"""


def _toml(text: str) -> str:
    """Return text as a TOML string, whatever is in it."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else f"\\U{ord(character):08X}"
        for character in text
    )
    return f'"{escaped}"'
