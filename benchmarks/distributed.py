"""A trial on Ray: what it costs beside local processes, with a recognizer that answers at once or after 0.1 s.

Two workers, two replicas, clips of 0.1 s. Where answers come at once each is timed with few trials and with many: the
difference is the cost of a trial, the rest is the start. The start of the cluster itself is not counted. The tables of
both must be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, Settings, absent, named, race, row_of, skipped
from benchmarks.run import instant_corpus, instant_run

from voxaudit.run.cluster import import_ray

FEW = 200
SLOW = 0.1
"""Seconds that a trial takes where the recognizer does not answer at once."""


def measure(settings: Settings) -> Iterator[Row]:
    trials, slow = settings.pick((1_000, 20), (10_000, 400), (20_000, 10_000))
    what = f"{trials:,} trials, a recognizer that answers at once, two workers"
    if missing := absent("ray"):
        yield skipped(what, "wall us per trial", "ray", missing)
        return
    ray = import_ray()
    ray.init(address="local", log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    try:
        with tempfile.TemporaryDirectory() as home:
            few, many = instant_corpus(Path(home), FEW), instant_corpus(Path(home), trials)
            calls = {
                f"{executor} {name}": partial(instant_run, corpus, executor)
                for executor in ("local", "ray")
                for name, corpus in (("few", few), ("many", many))
            }
            found = race(calls, settings.pick(1, 3), warm=False)
            slowly = instant_corpus(Path(home), slow)
            calls = {
                executor: partial(instant_run, slowly, executor, seconds=SLOW)
                for executor in ("local", "ray")
            }
            waited = race(calls, 1, warm=False)
    finally:
        ray.shutdown()
    tables = (found["local many"], found["ray many"]), (waited["local"], waited["ray"])
    if not all(local[0].value.equals(ray[0].value) for local, ray in tables):
        raise ValueError("the tables of Ray and of local processes differ")
    cost = {
        executor: [
            1e6 * (long.wall - short.wall) / (trials - FEW)
            for short, long in zip(found[f"{executor} few"], found[f"{executor} many"], strict=True)
        ]
        for executor in ("local", "ray")
    }
    walls = {name: [one.wall for one in took] for name, took in (found | waited).items()}
    rows = (
        (what, "wall us per trial", cost["ray"], cost["local"]),
        (f"{FEW} trials, with the start", "wall s", walls["ray few"], walls["local few"]),
        (
            f"{slow:,} trials that take {SLOW} s each, two workers",
            "wall s",
            walls["ray"],
            walls["local"],
        ),
    )
    for which, unit, ours, theirs in rows:
        yield row_of(f"{named('ray')}: {which}", unit, ours, theirs, peer="local processes", kind="floor")
