"""Every verdict of voxaudit on made-up audits: its false alarms where nothing is to be found, and its power.

python -m benchmarks.verdicts [--audits 400] [--only NAME ...] [--resume] [--docs docs/verdicts.md]

Run it from the root of the repository. Prints the table of docs/verdicts.md and writes the figures behind it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.pages import fill
from benchmarks.verdicts import disturbance, early, groups, listeners, parity, words
from benchmarks.verdicts.experiment import Experiment, repeat
from benchmarks.verdicts.results import Results, read_results
from benchmarks.verdicts.table import above, markdown

RESULTS = Path(__file__).resolve().parents[1] / "results" / "verdicts.json"
EXPERIMENTS: tuple[Experiment, ...] = (
    *groups.EXPERIMENTS,
    *parity.EXPERIMENTS,
    *disturbance.EXPERIMENTS,
    *words.EXPERIMENTS,
    *listeners.EXPERIMENTS,
    *early.EXPERIMENTS,
)


def measure(results: Results, experiments: tuple[Experiment, ...], audits: int, out: Path) -> None:
    """Fill in what is missing of some experiments up to `audits` audits; a quarter as many where power is asked."""
    for experiment in experiments:
        count = max(1, round(audits * experiment.weight))
        asked = [(setting, experiment.null, count) for setting in experiment.settings]
        asked += [(experiment.power_at, effect, max(1, count // 4)) for effect in experiment.effects]
        for setting, effect, wanted in asked:
            start = time.process_time()
            known = results.tallies(experiment, setting, effect)
            done = min(known[one.id].audits if one.id in known else 0 for one in experiment.verdicts)
            if done >= wanted:
                continue
            found = repeat(experiment, setting, effect, wanted, known)
            seconds = time.process_time() - start
            results.keep(experiment, setting, effect, found, seconds)
            results.write(out)
            print(
                f"{experiment.name}, {setting}, {effect:g}: {wanted} audits, {seconds:.0f} s", file=sys.stderr
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--audits", type=int, default=400, metavar="N", help="made-up audits a cell (400)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="experiments to measure, e.g. disparity")
    parser.add_argument("--resume", action="store_true", help="go on from what the file has")
    parser.add_argument("--table", action="store_true", help="print the table of the file, measure nothing")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables into docs/verdicts.md")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    args = parser.parse_args()
    names = [one.name for one in EXPERIMENTS]
    for name in args.only or ():
        if name not in names:
            parser.error(f"no experiment '{name}'. There are: {', '.join(names)}")
    results = read_results(args.out) if args.resume or args.table or args.only else Results()
    if not args.table:
        chosen = tuple(one for one in EXPERIMENTS if not args.only or one.name in args.only)
        if args.only and not args.resume:
            results.forget(chosen)
        measure(results, chosen, args.audits, args.out)
    print(markdown(EXPERIMENTS, results))
    if args.docs is not None:
        text = args.docs.read_text(encoding="utf-8")
        text = fill(text, "above", above(EXPERIMENTS, results))
        args.docs.write_text(fill(text, "figures", markdown(EXPERIMENTS, results)), encoding="utf-8")


if __name__ == "__main__":
    main()
