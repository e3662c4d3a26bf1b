"""Commands on next to nothing: what each takes on one pair, or a table of 192 trials, process and imports included.

Beside each what Python needs to import numpy and polars, below which no command that reads a table can get.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl
from benchmarks.measure import Row, Settings, race, row_of

PROGRAM = [sys.executable, "-c", "import sys; from voxaudit.cli.main import main; sys.exit(main())"]
FLOOR = [sys.executable, "-c", "import numpy, polars"]
WITHOUT = ("list audits", "completion bash")
AUDITS = (
    *("accuracy", "versus", "robustness", "robustness --attributes gender", "disparity --attribute gender"),
    *("parity --attributes gender", "differential --attribute gender", "localize", "hallucination"),
    *("keywords", "references", "waiting", "confidence"),
)
TRIALS = "trials.csv"


def make_files(folder: Path) -> None:
    """Write a pair of files and a table of trials that every audit can read."""
    (folder / "said.txt").write_text("a1\tturn it off please\n", encoding="utf-8")
    (folder / "heard.txt").write_text("a1\tturn off now please\n", encoding="utf-8")
    rows = [
        (f"u{who}", scenario, name, f"s{who}", "female" if who % 2 else "male", "turn it off please", text)
        for who in range(32)
        for scenario in ("clean", "noise_white:4")
        for name, text in (
            ("one", "turn it off please"),
            ("two", "turn off now please"),
            ("three", "turn it off"),
        )
    ]
    names = ("utterance", "scenario", "recognizer", "speaker", "gender", "reference", "text")
    counts = {"words": 4, "substitutions": 1, "deletions": 0, "insertions": 1}
    more = {"duration": 2.0, "seconds": 0.5, "confidence": 0.75, **counts}
    table = pl.DataFrame(rows, schema=names, orient="row")
    table.with_columns(**{name: pl.lit(value) for name, value in more.items()}).write_csv(folder / TRIALS)


def commands() -> dict[str, list[str]]:
    """Return the arguments of every command that is timed, by what it is called in the table."""
    known = {"score, one pair": ["score", "said.txt", "heard.txt"]}
    known |= {f"{one}, 192 trials": [*one.split()[:1], TRIALS, *one.split()[1:]] for one in AUDITS}
    return known | {one: one.split() for one in WITHOUT}


def call(arguments: Sequence[str], folder: Path) -> None:
    """Run a program that must come to its end without a complaint."""
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()[-400:]}")


def measure(settings: Settings) -> Iterator[Row]:
    rounds = settings.pick(1, 5)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        make_files(folder)
        for what, arguments in commands().items():
            calls = {
                "ours": partial(call, [*PROGRAM, *arguments], folder),
                "floor": partial(call, FLOOR, folder),
            }
            found = race(calls, rounds)
            ours, floor = ([one.cpu for one in found[name]] for name in calls)
            yield row_of(what, "CPU s", ours, floor, peer="importing numpy and polars", kind="floor")
