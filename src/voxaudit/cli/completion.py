"""`voxaudit completion`: tab completion of commands and flags, for the shell to read."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
EXAMPLE = "voxaudit completion bash > ~/.local/share/bash-completion/completions/voxaudit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read it")


def run(args: argparse.Namespace) -> int:
    """Print the completions of every command."""
    import shtab

    from voxaudit.cli.main import _parser

    print(shtab.complete(_parser(None, whole=True), args.shell))
    return 0
