"""`voxaudit models`: weights for engines whose packages carry none; listed, fetched, found, removed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from voxaudit.cli.arguments import take
from voxaudit.cli.ask import show
from voxaudit.cli.output import note, print_json
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit models fetch vosk-small-en-us"
_OWN = {"from": Option("take the packages from this folder instead of the package index", "file", "FOLDER")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "fetch", "path", "remove"),
        help="list what there is (default), fetch one, print where it lies, remove it",
    )
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="a model, as `list` calls it, or hf:ORG/NAME@REVISION",
    )
    take(parser, "from json", _OWN)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.recognize.weights.fetch import fetch, fetched, known_model, remove
    from voxaudit.recognize.weights.hub import SCHEME

    source = getattr(args, "from")
    if args.action == "list" and args.name:
        raise VoxauditError("models list takes no name")
    if source is not None and args.action != "fetch":
        raise VoxauditError("--from goes with fetch")
    if args.action == "list":
        return _list(args)
    if not args.name:
        raise VoxauditError(f"models {args.action} needs a name. See: voxaudit models list")
    if args.name.startswith(SCHEME):
        return _hub(args)
    model = known_model(args.name)
    if args.action == "remove":
        removed = remove(model)
        said = f"{model.name} removed" if removed else f"{model.name} was not there"
        return _print(args, {"model": model.name, "removed": removed}, said)
    folder = fetched(model)
    if args.action == "path" and folder is None:
        raise VoxauditError(f"{model.name} is not fetched. Fetch it with: voxaudit models fetch {model.name}")
    if folder is None:
        note(f"{model.what}; license: {model.license}; from {model.origin}")
        folder = fetch(model, source=None if source is None else Path(source), report=progress())
    elif args.action == "fetch":
        note(f"{model.name} is already there")
    return _print(args, {"model": model.name, "path": str(folder)}, str(folder))


def _hub(args: argparse.Namespace) -> int:
    """Fetch, find or remove a model of the Hugging Face Hub."""
    from voxaudit.recognize.weights.hub import fetch, find, hub_name, remove

    named = hub_name(args.name)
    if named is None or getattr(args, "from") is not None:
        raise VoxauditError(
            "a model of the Hub is named hf:ORG/NAME, or hf:ORG/NAME@REVISION, and comes from there"
        )
    name, revision = named
    if args.action == "remove":
        removed = remove(name)
        return _print(
            args, {"model": name, "removed": removed}, f"{name} {'removed' if removed else 'was not there'}"
        )
    folder = fetch(name, revision, progress()) if args.action == "fetch" else find(name, revision)
    if folder is None:
        raise VoxauditError(f"{args.name} is not fetched. Fetch it with: voxaudit models fetch {args.name}")
    return _print(args, {"model": name, "revision": folder.name, "path": str(folder)}, str(folder))


def _list(args: argparse.Namespace) -> int:
    from voxaudit.answer import Answer, Tables, tabulate
    from voxaudit.recognize.weights.fetch import describe_models, models_folder

    shown = ["model", "what", "license", ("disk_mb", "MB", "count"), "fetched"]
    tables = Tables([tabulate("models", "", describe_models(), shown)])
    show(Answer("models", "Models", {"folder": str(models_folder())}, tables=tables), args)
    return 0


def _print(args: argparse.Namespace, document: dict[str, object], said: str) -> int:
    if args.json:
        print_json(document)
    else:
        print(said)
    return 0


def progress() -> Callable[[str, float], None]:
    """Return what shows progress: a line that counts up on a terminal, else one line per step."""
    said: set[str] = set()
    live = sys.stderr.isatty()

    def report(what: str, done: float) -> None:
        if live:
            print(f"\r{what}: {done:4.0%}", end="\n" if done >= 1 else "", file=sys.stderr, flush=True)
        elif what not in said:
            said.add(what)
            note(f"{what} ...")

    return report
