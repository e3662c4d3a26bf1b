"""`voxaudit models`: weights for engines whose packages carry none; listed, fetched, found, removed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLE = "voxaudit models fetch vosk-small-en-us"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "action",
        choices=("list", "fetch", "path", "remove"),
        help="list what there is, fetch one, print where it lies, remove it",
    )
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="a model, as `list` calls it")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="take the packages from this folder instead of the package index",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.errors import VoxauditError

    if args.action == "list":
        if args.name:
            raise VoxauditError("models list takes no name")
        return _list(args.json)
    if not args.name:
        raise VoxauditError(f"models {args.action} needs a name. See: voxaudit models list")
    if args.source is not None and args.action != "fetch":
        raise VoxauditError("--from goes with fetch")
    return {"fetch": _fetch, "path": _path, "remove": _remove}[args.action](args)


def _list(json: bool) -> int:
    from voxaudit.cli.output import print_json, print_table
    from voxaudit.recognize.weights import KNOWN, fetched, models_folder

    rows: list[dict[str, Any]] = []
    for model in KNOWN.values():
        folder = fetched(model)
        rows.append(
            {
                "model": model.name,
                "recognizer": f"{model.engine}:{model.setting}",
                "what": model.what,
                "license": model.license,
                "download_mb": round(sum(archive.size for archive in model.archives) / 1e6),
                "disk_mb": round(model.size / 1e6),
                "fetched": folder is not None,
                "path": None if folder is None else str(folder),
                "origin": model.origin,
                "packages": [f"{archive.package}=={archive.version}" for archive in model.archives],
            }
        )
    if json:
        print_json({"folder": str(models_folder()), "models": rows})
        return 0
    shown = ("model", "recognizer", "what", "license", "disk_mb", "fetched")
    cells = [
        [("yes" if row[key] else "no") if key == "fetched" else row[key] for key in shown] for row in rows
    ]
    print_table("", ["model", "recognizer", "what", "license", "MB", "fetched"], cells)
    return 0


def _fetch(args: argparse.Namespace) -> int:
    from voxaudit.cli.output import note
    from voxaudit.recognize.weights import fetched, known_model
    from voxaudit.recognize.weights.fetch import fetch

    model = known_model(args.name)
    there = fetched(model)
    if there is None:
        note(f"{model.what}; license: {model.license}; from {model.origin}")
        there = fetch(model, source=args.source, report=_progress())
    else:
        note(f"{model.name} is there already")
    _print(args, model.name, path=str(there))
    return 0


def _path(args: argparse.Namespace) -> int:
    from voxaudit.errors import VoxauditError
    from voxaudit.recognize.weights import fetched, known_model

    model = known_model(args.name)
    folder = fetched(model)
    if folder is None:
        raise VoxauditError(f"{model.name} is not fetched. Fetch it with: voxaudit models fetch {model.name}")
    _print(args, model.name, path=str(folder))
    return 0


def _remove(args: argparse.Namespace) -> int:
    from voxaudit.recognize.weights import known_model
    from voxaudit.recognize.weights.fetch import remove

    model = known_model(args.name)
    removed = remove(model)
    if args.json:
        _print(args, model.name, removed=removed)
    else:
        print(f"{model.name} removed" if removed else f"{model.name} was not there")
    return 0


def _print(args: argparse.Namespace, name: str, **values: Any) -> None:
    from voxaudit.cli.output import print_json

    if args.json:
        print_json({"model": name, **values})
    else:
        print(values["path"])


def _progress() -> Callable[[str, float], None]:
    """Return what shows progress: a line that counts up on a terminal, else one line a step."""
    from voxaudit.cli.output import note

    said: set[str] = set()
    live = sys.stderr.isatty()

    def report(what: str, done: float) -> None:
        if live:
            print(f"\r{what}: {done:4.0%}", end="\n" if done >= 1 else "", file=sys.stderr, flush=True)
        elif what not in said:
            said.add(what)
            note(f"{what} ...")

    return report
