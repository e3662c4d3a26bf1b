"""All experiments; what of them is still to be done, and doing it in several processes."""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from benchmarks.verdicts import disturbance, early, explained, groups, kinds, listeners, parity, single, words
from benchmarks.verdicts.experiment import Experiment, Tally, repeat
from benchmarks.verdicts.results import Results
from benchmarks.verdicts.world import Setting

RESULTS = Path(__file__).resolve().parents[1] / "results" / "verdicts.json"
EXPERIMENTS: tuple[Experiment, ...] = (
    *groups.EXPERIMENTS,
    *explained.EXPERIMENTS,
    *disturbance.EXPERIMENTS,
    *kinds.EXPERIMENTS,
    *parity.EXPERIMENTS,
    *words.EXPERIMENTS,
    *single.EXPERIMENTS,
    *listeners.EXPERIMENTS,
    *early.EXPERIMENTS,
)
PART = 50
"""Audits done at a time: what is lost at most when a run is stopped."""

Todo = tuple[str, Setting, float, int, int]
"""Experiment, setting, what is planted, and the numbers of audits: from, to before."""


def asked(
    results: Results,
    experiments: Sequence[Experiment],
    *,
    worlds: Sequence[str],
    sizes: Sequence[str] | None,
    audits: int | None,
    power: bool = False,
) -> list[Todo]:
    """Return what is still to be done, in parts."""
    found: list[Todo] = []
    for experiment in experiments:
        nothing = {(where, experiment.null) for where in experiment.settings}
        for where, effect, wanted in experiment.cells():
            if where.world not in worlds or (sizes is not None and where.size not in sizes):
                continue
            if power and (where, effect) in nothing:
                continue
            wanted = wanted if audits is None else audits
            done = results.done(experiment, where, effect)
            step = PART if experiment.batch is None else 4 * PART
            found += [
                (experiment.name, where, effect, start, min(start + step, wanted))
                for start in range(done, wanted, step)
            ]
    return found


def do(todo: Todo) -> tuple[Todo, dict[str, Tally], float]:
    """Do some audits; return their sums and the CPU seconds they took."""
    name, where, effect, start, stop = todo
    experiment = next(one for one in EXPERIMENTS if one.name == name)
    begun = time.process_time()
    found = repeat(experiment, where, effect, start, stop)
    return todo, found, time.process_time() - begun


def measure(results: Results, todo: Sequence[Todo], out: Path, *, jobs: int) -> int:
    """Do what is to be done and keep it on file, every part as it is finished and those before it are.

    Return how many parts failed.
    """
    begun, written, done, failed = time.monotonic(), time.monotonic(), 0, 0
    by_name = {one.name: one for one in EXPERIMENTS}
    waiting: dict[Todo, tuple[dict[str, Tally], float]] = {}
    # Ended from outside, it puts on file what is done and leaves no processes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        futures: list[Future[tuple[Todo, dict[str, Tally], float]]] = [
            executor.submit(do, one) for one in todo
        ]
        try:
            for future in as_completed(futures):
                try:
                    one, tallies, seconds = future.result()
                except Exception as error:  # the other cells are worth having
                    traceback.print_exception(error)
                    failed += 1
                    continue
                waiting[one] = (tallies, seconds)
                # Parts of a cell are added in order: what is on file are the first so many audits.
                for ready in sorted(waiting, key=lambda each: each[3]):
                    name, where, effect, start, _ = ready
                    if results.done(by_name[name], where, effect) == start:
                        results.add(by_name[name], where, effect, *waiting.pop(ready))
                        done += 1
                if time.monotonic() - written > 15.0:
                    results.write(out)
                    written = time.monotonic()
                    share = done / len(todo)
                    left = (written - begun) * (1.0 - share) / max(share, 1e-9) / 60.0
                    print(f"{done} of {len(todo)} parts; about {left:.0f} minutes left", file=sys.stderr)
        finally:
            for future in futures:
                future.cancel()
            results.write(out)
    return failed
