"""All benchmarks in one command, each in a process of its own, one table of what they found.

python -m benchmarks [--only NAME ...] [--quick] [--docs docs]

Run it from the root of the repository. docs/benchmarks.md says what is compared with what and how to read it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import (
    CALIBRATIONS,
    calibrate,
    load,
    machine,
    noise,
    package_versions,
    program_versions,
)
from benchmarks.measure import ROOT, Settings, last_line, took
from benchmarks.record import RESULTS, Done, Record, read_record, row_data, row_from
from benchmarks.show import PLACE, fill_page, machine_words, terminal

from voxaudit import __version__

USUAL = (
    *(
        "commands",
        "score",
        "disparity",
        "parity",
        "differential",
        "robustness",
        "report",
        "perturb",
        "sources",
        "quality",
    ),
    *(
        "recognizers",
        "corpus",
        "run",
        "distributed",
        "bank",
        "scale",
        "attack",
        "breaking",
        "sequential",
    ),
)
"""What runs unless something else is asked for."""
LONG = ("batches", "nodes", "grid", "soak", "beyond")
"""What runs only if it is named."""
LONGEST = 120
"""Characters of a message that are kept."""
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def about(name: str) -> str:
    """Return the first line of a benchmark's docstring, without importing it."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def one(name: str, settings: Settings, out: Path) -> None:
    """Measure one benchmark in this process; every row is written as soon as it is known."""
    module = importlib.import_module(f"benchmarks.{name}")
    with out.open("a", encoding="utf-8") as file:
        for row in module.measure(settings):
            file.write(json.dumps(row_data(row)) + "\n")
            file.flush()
        file.write(json.dumps({"versions": package_versions()}) + "\n")


def run_one(
    name: str, settings: Settings, python: str, steady: list[tuple[float, float]]
) -> tuple[Done, dict[str, str]]:
    """Measure one benchmark in a process of its own; return it, and the versions of that interpreter's packages.

    The fixed piece of work that says how steady the machine is follows and is added to `steady`.
    """
    date, busy = now(), load()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows"
        command = [python, "-m", "benchmarks", "--one", name, "--out", str(out)]
        command += [] if settings.size == "usual" else [f"--{settings.size}"]
        command += ["--audio", str(settings.audio)] if settings.audio else []
        environment = {**os.environ, **ONE_THREAD}
        # Who installs a package has its bytecode: without it every process would compile the sources again.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        spent = took(lambda: ended(command, environment))
        text = out.read_text("utf-8") if out.is_file() else ""
        # What was killed may have left half a line.
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    versions: dict[str, str] = next((line["versions"] for line in lines if "versions" in line), {})
    rows = tuple(row_from(line) for line in lines if "versions" not in line)
    steady += calibrate()
    unsteady = noise(steady[-2 * CALIBRATIONS :])["cpu_spread"]
    seconds, cpu = round(spent.wall, 1), round(spent.cpu, 1)
    return Done(name, date, settings.size, seconds, cpu, busy, unsteady, rows, str(spent.value)), versions


def ended(command: list[str], environment: dict[str, str]) -> str:
    """Run a command to its end; return why it failed in one line without folders, or nothing."""
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    except OSError as error:
        return f"{Path(command[0]).name}: {error.strerror}"
    if not done.returncode:
        return ""
    return re.sub(r"(?<!\w)/(?:[^\s/]+/)+", "", last_line(done.stderr))[:LONGEST]


def now() -> str:
    """Return the time in UTC to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def run_all(names: list[str], settings: Settings, pythons: dict[str, str], record: Record, out: Path) -> None:
    """Measure benchmarks one after the other into a record, which is written after each."""
    before, steady, versions = load(), calibrate(), program_versions() | package_versions()
    here = machine()
    if record.about and record.about["machine"] != here:
        print("the results on file are of another machine: they are dropped", file=sys.stderr)
        record.done.clear()
    elif record.about:
        versions = record.about["versions"] | versions
    for place, name in enumerate(names):
        print(f"{place + 1}/{len(names)} {name} ...", end="", file=sys.stderr, flush=True)
        found, theirs = run_one(name, settings, pythons.get(name, sys.executable), steady)
        versions |= {package: version for package, version in theirs.items() if package not in versions}
        print(f" {found.seconds:.0f} s{f', failed: {found.failed}' if found.failed else ''}", file=sys.stderr)
        record.done[name] = found
        record.about = {
            "command": shlex.join(
                ["python", "-m", "benchmarks", *(["--quick"] if settings.size == "quick" else [])]
            ),
            "date": now(),
            "voxaudit": __version__,
            "machine": here,
            "versions": versions,
            "load_start": before,
            "load_end": load(),
            "noise": noise(steady),
        }
        record.done = {key: record.done[key] for key in (*USUAL, *LONG) if key in record.done}
        record.write(out)


def listing(record: Record) -> str:
    """Return every benchmark with what it is about and what it took last time."""
    lines = []
    for name in (*USUAL, *LONG):
        known = record.done.get(name)
        seconds = f"{known.seconds:>5.0f} s{' (quick)' * (known.size == 'quick')}" if known else "not run"
        only = " [only if named]" if name in LONG else ""
        lines.append(f"{name:<13} {seconds:>15}  {about(name)}{only}")
    total = sum(known.seconds for name, known in record.done.items() if name in USUAL)
    return "\n".join([*lines, f"{'together':<13} {total:>5.0f} s"])


def fill_docs(path: Path, record: Record) -> None:
    """Write the tables into a page, or into every page of a folder that has a place for them."""
    for page in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
        text = page.read_text(encoding="utf-8")
        if f"<!-- {PLACE}" in text:
            page.write_text(fill_page(text, record), encoding="utf-8")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these benchmarks; others stay on file"
    )
    parser.add_argument("--list", action="store_true", help="say what there is and what each took")
    parser.add_argument("--show", action="store_true", help="print the table on file, measure nothing")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", dest="size", action="store_const", const="quick", help="small sizes, few repeats"
    )
    size.add_argument("--full", dest="size", action="store_const", const="full", help="the largest sizes")
    parser.add_argument("--audio", type=Path, metavar="FOLDER", help="recordings instead of synthetic speech")
    parser.add_argument(
        *("--python",),
        nargs="+",
        default=[],
        metavar="NAME=PROGRAM",
        help="another interpreter for a benchmark, e.g. one that has torch for `attack`",
    )
    parser.add_argument(
        "--docs", type=Path, metavar="PATH", help="a page or a folder of pages to put tables into"
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, metavar="FILE", help="results (default: on file)"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(size="usual")
    return parser


def main(words: list[str] | None = None) -> int:
    parser = arguments()
    args = parser.parse_args(words)
    settings = Settings(args.size, args.audio.resolve() if args.audio else None)
    if args.one:
        one(args.one, settings, args.out)
        return 0
    pythons = dict(word.partition("=")[::2] for word in args.python)
    for name in (*args.only, *pythons):
        if name not in USUAL + LONG:
            parser.error(f"no benchmark '{name}'. There are: {', '.join(USUAL + LONG)}")
    record = read_record(args.out)
    if args.list:
        print(listing(record))
        return 0
    names = [name for name in USUAL + LONG if name in args.only] or list(USUAL)
    if not args.show:
        if not args.only:
            record.done = {name: known for name, known in record.done.items() if name in LONG}
        run_all(names, settings, pythons, record, args.out)
    if not record.done:
        parser.error(f"there are no results in {args.out.name} yet: run without --show")
    shown = [known for name, known in record.done.items() if not args.only or name in args.only]
    print(terminal(shown))
    print(f"\n{machine_words(replace_done(record, shown))}")
    if args.docs is not None:
        fill_docs(args.docs, record)
    return 1 if any(known.failed for known in shown) else 0


def replace_done(record: Record, shown: list[Done]) -> Record:
    """Return a record of some of the benchmarks."""
    return replace(record, done={known.name: known for known in shown})


if __name__ == "__main__":
    raise SystemExit(main())
