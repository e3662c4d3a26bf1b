"""`voxaudit completion`: tab completion of commands and flags, for the shell to read."""

from __future__ import annotations

import argparse
from importlib import import_module

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
EXAMPLE = "voxaudit completion bash"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read it")


def run(args: argparse.Namespace) -> int:
    """Print the completions of every command."""
    import shtab

    parser = import_module("voxaudit.cli.main")._parser(None, whole=True)
    print(shtab.complete(parser, args.shell))
    return 0
