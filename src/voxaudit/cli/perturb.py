"""`voxaudit perturb`: the audio of a scenario, to listen to or to use elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import add_corpus_arguments, read_corpus_as_asked

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus
    from voxaudit.perturb.sources import Source

EXAMPLE = "voxaudit perturb speech.wav noisy.wav gaussian_noise:3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("input", metavar="IN", type=Path, help="an audio file, a folder of them, or a corpus")
    parser.add_argument(
        "target", metavar="OUT", type=Path, help="a .wav or .flac file; for folders and corpora a new folder"
    )
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        help="a scenario id, see `voxaudit list scenarios`, such as echo:2; for a file also"
        " stutter:KIND,..., such as stutter:block,word_repetition",
    )
    parser.add_argument("--says", metavar="TEXT", help="what is said in the file, to make it stutter")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the run (default: 0)")
    parser.add_argument(
        "--subtype",
        choices=("PCM_16", "PCM_24", "PCM_32", "FLOAT"),
        default="PCM_16",
        help="sample format (default: PCM_16)",
    )
    parser.add_argument(
        "--source",
        type=Path,
        metavar="FOLDER",
        help="recordings of noise or rooms for this scenario (default: built in; crosstalk: the corpus's own speakers)",
    )
    add_corpus_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what was written and measured as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audio import SUFFIXES
    from voxaudit.cli.output import note, print_json
    from voxaudit.perturb import parse_scenario
    from voxaudit.perturb.export import export_file, file_in

    one_file = args.input.suffix.lower() in SUFFIXES and not args.input.is_dir()
    if args.scenario.partition(":")[0] == "stutter":
        return _stuttered(args, one_file)
    if one_file:
        scenario = parse_scenario(args.scenario, _sources(args))
        target = file_in(args.target, args.input)
        achieved = export_file(args.input, target, scenario, seed=args.seed, subtype=args.subtype)
        if args.json:
            print_json({"file": str(target), "scenario": scenario.id, "achieved": achieved})
        else:
            measured = ", ".join(f"{key} {value:.2f}" for key, value in achieved.items())
            note(f"{target}: {scenario.id}{f' (measured: {measured})' if measured else ''}")
        return 0
    return _corpus(args)


def _stuttered(args: argparse.Namespace, one_file: bool) -> int:
    from dataclasses import asdict

    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.perturb.export import export_stuttered, file_in

    if not one_file or not args.says:
        raise VoxauditError(
            "one file at a time is made to stutter, and its words must be known: --says TEXT."
            " `voxaudit stutter` does it to a corpus"
        )
    target = file_in(args.target, args.input)
    made = export_stuttered(
        args.input, target, args.says, args.scenario, seed=args.seed, subtype=args.subtype
    )
    if args.json:
        print_json({"file": str(target), **asdict(made)})
    else:
        note(f"{target}: {made.surface}\n  {made.chain}")
    return 0


def _sources(args: argparse.Namespace, corpus: Corpus | None = None) -> dict[str, Source]:
    from voxaudit.perturb.sources import open_sources

    name = args.scenario.partition(":")[0]
    return open_sources({name: args.source} if args.source else {}, [name], corpus)


def _corpus(args: argparse.Namespace) -> int:
    from voxaudit.cli.output import note, print_json
    from voxaudit.perturb import parse_scenario
    from voxaudit.perturb.export import export_corpus
    from voxaudit.run.progress import Progress

    corpus = read_corpus_as_asked(args.input, args)
    scenario = parse_scenario(args.scenario, _sources(args, corpus))
    with Progress(not args.json) as bars:
        bars.begin(scenario.id, len(corpus))
        done = export_corpus(
            corpus, args.target, scenario, seed=args.seed, subtype=args.subtype, progress=bars.advance
        )
    if args.json:
        print_json(
            {
                "metadata": str(done.metadata),
                "scenario": scenario.id,
                "files": done.files,
                "failures": done.failures,
            }
        )
        return 0
    for why in done.failures.values():
        note(f"left out: {why}")
    note(f"{done.files} files under {scenario.id}; {done.metadata} lists them")
    return 0
