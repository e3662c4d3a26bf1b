"""The command of an audit: its options become flags, its answer is printed. One piece of code serves all of them."""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import (
    add_column_argument,
    add_run_arguments,
    names,
    number_list,
    pairs,
    recognizer_list,
    typed,
)

if TYPE_CHECKING:
    from voxaudit.answer import Answer
    from voxaudit.audits.audit import Audit
    from voxaudit.options import Option


def add_arguments(audit: Audit, parser: argparse.ArgumentParser) -> None:
    """Declare the source, a flag for every option of an audit, and how to show the answer."""
    # The matrices of audits are small: threads would only wait for each other. Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for index, name in enumerate(audit.source.split()):
        parser.add_argument(
            f"source_{index}",
            metavar=name.strip("[]"),
            nargs="+" if audit.several else "?" if name.startswith("[") else None,
            help=audit.source_help if index == 0 else None,
        )
    for name, (option, parameter) in audit.arguments.items():
        add_option(parser, name, option, parameter)
    if audit.run_options:
        add_run_arguments(parser.add_argument_group("how it is heard"), *audit.run_options)
    if audit.page:
        parser.add_argument(
            "--out",
            metavar="FOLDER",
            help="write report.html, summary.md, findings.json and junit.xml there",
        )
    if audit.gate:
        parser.epilog = f"{parser.epilog or ''}\nexit code: 0 the gate passed, 1 it failed"
    add_output_arguments(parser)


def example(audit: Audit) -> str:
    """Return the line to try."""
    from voxaudit.answer import command_line

    source, arguments = audit.example
    return command_line(audit.name, [source] if source else [], arguments)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how an answer is shown: as text, as JSON, and its figures as pictures."""
    parser.add_argument("--json", action="store_true", help="print JSON (one schema for all answers)")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="write the answer's figure (.svg or .png); NAME=FILE chooses one of several",
    )


def add_option(
    parser: argparse._ActionsContainer, name: str, option: Option, parameter: inspect.Parameter
) -> None:
    """Declare the flag of an option with the default of its parameter."""
    flag = f"--{name.replace('_', '-')}"
    required = parameter.default is inspect.Parameter.empty
    default = None if required else parameter.default
    help_ = option.meaning
    if option.kind == "flag":
        if default:
            parser.add_argument(
                f"--no-{name.replace('_', '-')}", dest=name, action="store_false", help=f"not: {help_}"
            )
        else:
            parser.add_argument(flag, dest=name, action="store_true", help=help_)
        return
    if option.kind == "columns":
        add_column_argument(parser)
        return
    if default not in (None, "", (), []) and "default" not in help_:
        shown = ",".join(map(str, default)) if isinstance(default, list | tuple) else str(default)
        help_ = f"{help_} (default: {shown})"
    settings: dict[str, Any] = {
        "dest": name,
        "metavar": option.metavar or None,
        "help": help_.replace("%", "%%"),
    }
    if option.choices:
        settings |= {"choices": option.choices, "metavar": None}
    if option.kind == "clauses":
        parser.add_argument(flag, action="append", default=list(default or ()), **settings)
        return
    readers: dict[str, Callable[[str], Any]] = {
        # The settings of a recognizer or a scenario have commas of their own.
        "names": names,
        "specs": recognizer_list,
        "numbers": number_list,
        "pairs": pairs,
    }
    if option.kind in ("count", "number"):
        settings["type"] = typed(option)
    elif option.kind in readers:
        settings["type"] = readers[option.kind]
    parser.add_argument(flag, default=default, required=required, **settings)


def run(audit: Audit, args: argparse.Namespace) -> int:
    """Ask the audit what the command line asks, and print its answer."""
    from voxaudit.cli.arguments import columns_as_asked
    from voxaudit.cli.output import note, printable

    given = {name: getattr(args, name) for name in audit.arguments if name != "columns"}
    if "columns" in audit.arguments:
        given["columns"] = columns_as_asked(args)
    heard = {name: getattr(args, name, None) for name in audit.run_options}
    given |= {name: value for name, value in heard.items() if value is not None}
    sources = [getattr(args, f"source_{index}") for index in range(audit.positional)]
    answer = audit.ask(*sources, **given)
    show(answer, args)
    if audit.page and args.out is not None:
        _write_page(audit, answer, args.out)
    failed = audit.gate(answer) if audit.gate else None
    if failed is None:
        return 0
    note(f"voxaudit: gate failed: {printable(failed)}")
    return 1


def _write_page(audit: Audit, answer: Answer, folder: str) -> None:
    from voxaudit.cli.output import note
    from voxaudit.report.build import write_report

    module, _, name = audit.page.partition(":")
    written = write_report(getattr(import_module(module), name)(answer), folder)
    note(f"Written to {folder}: {', '.join(path.name for path in written.values())}")


def show(answer: Answer, args: argparse.Namespace) -> None:
    """Print an answer as asked (text, or JSON and nothing else on standard output) and write its figure."""
    from voxaudit.cli.output import note, print_json
    from voxaudit.render.terminal import print_answer

    if getattr(args, "plot", None):
        id_, _, path = args.plot.rpartition("=")
        answer.plot(id_ or None, path)
        note(f"Figure written to {path}")
    if args.json:
        print_json(answer.to_dict())
    else:
        print_answer(answer, flags=True)
