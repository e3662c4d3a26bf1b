"""`voxaudit perturb`: the audio of a scenario, to listen to or to use elsewhere."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from voxaudit.cli.arguments import CORPUS, read_corpus_as_asked, take
from voxaudit.cli.output import note, print_json
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit perturb speech.wav noisy.wav gaussian_noise:3"
_OWN = {
    "says": Option("what is said in the file, to make it stutter", metavar="TEXT"),
    "subtype": Option("sample format", choices=("PCM_16", "PCM_24", "PCM_32", "FLOAT")),
    "source": Option(
        "recordings of noise or rooms for this scenario (default: built in; crosstalk: the corpus's own speakers)",
        "file",
        "FOLDER",
    ),
}


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
    take(parser, f"says seed subtype source {CORPUS} json", _OWN, seed=0, subtype="PCM_16")


def run(args: argparse.Namespace) -> int:
    """Write the audio and print what was written and measured."""
    from voxaudit.audio import SUFFIXES

    one_file = args.input.suffix.lower() in SUFFIXES and not args.input.is_dir()
    stuttered = args.scenario.partition(":")[0] == "stutter"
    if stuttered and not (one_file and args.says):
        raise VoxauditError(
            "one file at a time is made to stutter, and its words must be known: --says TEXT."
            " `voxaudit stutter` does it to a corpus"
        )
    made = _stuttered if stuttered else _file if one_file else _corpus
    document, said = made(args, {"seed": args.seed, "subtype": args.subtype})
    if args.json:
        print_json(document)
    else:
        note(said)
    return 0


def _stuttered(args: argparse.Namespace, settings: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from voxaudit.perturb.export import export_stuttered, file_in

    target = file_in(args.target, args.input)
    made = export_stuttered(args.input, target, args.says, args.scenario, **settings)
    return {"file": str(target), **asdict(made)}, f"{target}: {made.surface}\n  {made.chain}"


def _file(args: argparse.Namespace, settings: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from voxaudit.perturb.export import export_file, file_in

    scenario, target = _scenario(args), file_in(args.target, args.input)
    achieved = export_file(args.input, target, scenario, **settings)
    measured = ", ".join(f"{key} {value:.2f}" for key, value in achieved.items())
    said = f"{target}: {scenario.id}{f' (measured: {measured})' if measured else ''}"
    return {"file": str(target), "scenario": scenario.id, "achieved": achieved}, said


def _corpus(args: argparse.Namespace, settings: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from voxaudit.perturb.export import export_corpus
    from voxaudit.run.progress import Progress

    corpus = read_corpus_as_asked(args.input, args)
    scenario = _scenario(args, corpus)
    with Progress(not args.json) as bars:
        bars.begin(scenario.id, len(corpus))
        done = export_corpus(corpus, args.target, scenario, **settings, progress=bars.advance)
    document = {"metadata": str(done.metadata), "scenario": scenario.id, "files": done.files}
    left_out = "".join(f"left out: {why}\n" for why in done.failures.values())
    said = f"{left_out}{done.files} files under {scenario.id}; {done.metadata} lists them"
    return document | {"failures": done.failures}, said


def _scenario(args: argparse.Namespace, corpus: Any = None) -> Any:
    from voxaudit.perturb import parse_scenario
    from voxaudit.perturb.sources import open_sources

    name = args.scenario.partition(":")[0]
    return parse_scenario(
        args.scenario, open_sources({name: args.source} if args.source else {}, [name], corpus)
    )
