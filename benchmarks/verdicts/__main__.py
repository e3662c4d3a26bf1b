"""Every verdict of voxaudit on made-up audits: its false alarms where nothing is to be found, and its power.

python -m benchmarks.verdicts [--only NAME ...] [--worlds WORLD ...] [--sizes 8+8 ...] [--audits N] [--jobs 2]

Run it from the root of the repository. What is on file is not done again; a broken run goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.verdicts.measure import EXPERIMENTS, RESULTS, asked, measure
from benchmarks.verdicts.resampled import AS_THEY_ARE, HERE, PLACES, missing
from benchmarks.verdicts.results import read_results
from benchmarks.verdicts.table import EARLIER, write_page
from benchmarks.verdicts.world import HARD, SIZES, setting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = [one.name for one in EXPERIMENTS]
    worlds = [*HARD, *AS_THEY_ARE.values()]
    add = parser.add_argument
    add("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    add("--worlds", nargs="+", choices=worlds, metavar="WORLD", help=f"of {', '.join(worlds)}")
    add("--sizes", nargs="+", metavar="A+B", help=f"speakers of the groups ({', '.join(SIZES)})")
    add("--audits", type=int, metavar="N", help="audits a cell (else as many as each experiment says)")
    add("--power", action="store_true", help="only where something is planted")
    add("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    add("--again", action="store_true", help="forget what is on file of what is chosen")
    add("--count", action="store_true", help="say how much is to be done, and do nothing")
    add("--docs", type=Path, metavar="FILE", help="write the tables of docs/verdicts.md")
    add("--out", type=Path, default=RESULTS, metavar="FILE")
    for world, variable in PLACES.items():
        otherwise = f"${variable}, or the public audit" if world in HERE else f"${variable}"
        add(f"--{world.lower()}", metavar="PATH", help=f"data of {world} (else {otherwise})")
    args = parser.parse_args()
    for world, variable in PLACES.items():
        if path := getattr(args, world.lower()):
            os.environ[variable] = path
    chosen = tuple(one for one in EXPERIMENTS if not args.only or one.name in args.only)
    sizes = None if args.sizes is None else [setting("", one).size for one in args.sizes]
    results = read_results(args.out)
    here = []
    for world in args.worlds or worlds:
        reason = missing(world)
        if reason:
            print(f"left out: {reason}", file=sys.stderr)
        else:
            here.append(world)
    if args.again:
        every = {where.size for one in chosen for where, _, _ in one.cells()}
        results.forget(chosen, here, every if sizes is None else sizes)
    failed = 0
    todo = asked(results, chosen, worlds=here, sizes=sizes, audits=args.audits, power=args.power)
    if args.count:
        audits = sum(stop - start for *_, start, stop in todo)
        print(f"{len(todo)} parts, {audits} audits")
    elif todo:
        failed = measure(results, todo, args.out, jobs=args.jobs)
    if args.docs is not None:
        write_page(args.docs, EXPERIMENTS, results, read_results(EARLIER))
    if failed:
        sys.exit(f"{failed} parts failed; the errors are above")


if __name__ == "__main__":
    main()
