"""The command of an audit: its options become flags, its answer is printed. One piece of code serves all of them."""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import SHARED, add_option, add_run_arguments, columns_as_asked, take
from voxaudit.cli.output import note, print_json, printable

if TYPE_CHECKING:
    from voxaudit.answer import Answer
    from voxaudit.audits.audit import Audit


def add_arguments(audit: Audit, parser: argparse.ArgumentParser) -> None:
    """Declare the source, a flag for every option of an audit, and how to show the answer."""
    for index, name in enumerate(audit.source.split()):
        parser.add_argument(
            f"source_{index}",
            metavar=name.strip("[]"),
            nargs="+" if audit.several else "?" if name.startswith("[") else None,
            help=audit.source_help if index == 0 else None,
        )
    for name, (option, parameter) in audit.arguments.items():
        required = parameter.default is inspect.Parameter.empty
        add_option(parser, name, option, None if required else parameter.default, required=required)
    if audit.run_options:
        add_run_arguments(parser.add_argument_group("how it is heard"), *audit.run_options)
    if audit.page:
        page = "report.html, summary.md, findings.json and junit.xml; default: nowhere"
        take(parser, "out", {"out": SHARED["out"].noting(page)})
    if audit.gate:
        parser.epilog = f"{parser.epilog or ''}\nexit code: 0 the gate passed, 1 it failed"
    take(parser, "json plot")


def example(audit: Audit) -> str:
    """Return the line to try."""
    from voxaudit.answer import command_line

    source, arguments = audit.example
    return command_line(audit.name, [source] if source else [], arguments)


def run(audit: Audit, args: argparse.Namespace) -> int:
    """Ask the audit what the command line asks, and print its answer."""
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
    from voxaudit.report.build import write_report

    module, _, name = audit.page.partition(":")
    written = write_report(getattr(import_module(module), name)(answer), folder)
    note(f"Written to {folder}: {', '.join(path.name for path in written.values())}")


def show(answer: Answer, args: argparse.Namespace) -> None:
    """Print an answer as asked (text, or JSON and nothing else on standard output) and write its figure."""
    from voxaudit.cli.output import note
    from voxaudit.render.terminal import print_answer

    if getattr(args, "plot", None):
        id_, _, path = args.plot.rpartition("=")
        if not id_ and any(path == figure.id for figure in answer.figures):
            id_, path = path, f"{path}.svg"
        answer.plot(id_ or None, path)
        note(f"Figure written to {path}")
    if args.json:
        print_json(answer.to_dict())
    else:
        print_answer(answer, flags=True)
