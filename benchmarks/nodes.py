"""Many nodes: where the driver of a run on Ray saturates, by a discrete-event model with measured costs.

What the driver does is timed here: it plans trials, sends them in chunks, waits for all replicas, reads answers and
commits them. The model gives every replica two chunks, as `run.ray_pool` does, and lets the driver answer one replica
after the other. Nothing is lost in it, and the network costs nothing.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.instant_recognizer import Instant
from benchmarks.measure import Call, Row, Settings, absent, row_of, skipped, took
from benchmarks.run import instant_corpus

from voxaudit.recognize.base import Transcript
from voxaudit.run.backlog import LARGEST_CHUNK
from voxaudit.run.cluster import import_ray
from voxaudit.run.plan import unfinished
from voxaudit.run.ray_pool import CHUNKS_AHEAD, Answer, chunk_seconds
from voxaudit.run.runner import make_plan
from voxaudit.run.store import Store
from voxaudit.run.trial import Outcome, Trial

NODES, REPLICAS = 64, 8
ENOUGH = 0.9
"""Share of the replicas' time that must be spent hearing: below it the driver counts as saturated."""
SPREAD = 0.3
"""Standard deviation of the logarithm of what a chunk takes."""


@dataclass(frozen=True)
class Costs:
    """Seconds of the driver: per trial planned and sent, read, stored; per commit, chunk, and replica waited for."""

    plan: float
    answer: float
    row: float
    commit: float
    chunk: float
    wait: float


def lowest(call: Call, count: int = 1, times: int = 15) -> float:
    """Return the seconds of CPU that a call takes, for each of the `count` things it does."""
    return min(took(call).cpu for _ in range(times)) / count


def driver_costs(ray: Any) -> Costs:
    """Time what the driver does, the bank's 101 scenarios and 100 utterances; `ray` is connected."""
    with tempfile.TemporaryDirectory() as home:
        plan, _ = make_plan(instant_corpus(Path(home), 100), {"instant": Instant()}, ["srb"])
        store = Store(Path(home) / "trials.sqlite")

        def planned() -> list[Trial]:
            some = unfinished(plan, "instant", store, retry_failed=False)
            return [trial for chunk in some for trial in chunk.trials]

        trials = planned()
        outcomes = [Outcome(trial, Transcript("one two three"), 0.1) for trial in trials]
        many = outcomes[:LARGEST_CHUNK]
        answer = pickle.dumps(Answer("node", 1, tuple(many)), protocol=5)
        sent = lowest(lambda: pickle.dumps([one.trial for one in many], protocol=5), len(many))
        one = lowest(lambda: store.add("one", outcomes[:1]))
        costs = {
            "plan": lowest(planned, len(trials), 5) + sent,
            "answer": lowest(lambda: pickle.loads(answer), len(many)),
            "row": (lowest(lambda: store.add("many", many)) - one) / (len(many) - 1),
            "commit": one,
        }
        store.close()

    class Echo:
        def hear(self, trials: object) -> object:
            return trials

        def sleep(self) -> None:
            time.sleep(3600)

    echo, sleeper = (ray.remote(num_cpus=0)(Echo).remote() for _ in range(2))
    ray.get(echo.hear.remote(trials[:1]))
    never = [sleeper.sleep.remote() for _ in range(NODES * REPLICAS)]
    chunk = lowest(lambda: ray.get(echo.hear.remote(trials[:1])))
    wait = lowest(lambda: ray.wait(never, num_returns=len(never), timeout=0), len(never))
    for actor in (echo, sleeper):
        ray.kill(actor)
    return Costs(**costs, chunk=chunk, wait=2 * wait)  # it waits for one answer, then takes all there are


def simulate(replicas: int, seconds: float, costs: Costs, rounds: int = 40) -> tuple[float, float]:
    """Return the share of their time that replicas hear trials of so many seconds, and that the driver is busy."""
    generator = np.random.default_rng(0)
    chunk = int(np.clip(chunk_seconds(replicas) / seconds, 1, LARGEST_CHUNK))
    left = rounds * replicas
    driver = busy = heard = 0.0
    free = np.zeros(replicas)
    answers: list[tuple[float, int]] = []

    def spend(cost: float) -> None:
        nonlocal driver, busy
        driver, busy = driver + cost, busy + cost

    def give(replica: int) -> None:
        nonlocal left, heard
        if left == 0:
            return
        left -= 1
        spend(costs.chunk + chunk * costs.plan)
        own = chunk * seconds * float(np.exp(SPREAD * generator.standard_normal() - SPREAD**2 / 2))
        heard += own
        free[replica] = max(driver, free[replica]) + own
        heapq.heappush(answers, (free[replica], replica))

    for _ in range(CHUNKS_AHEAD):
        for replica in range(replicas):
            give(replica)
    while answers:
        driver = max(driver, answers[0][0])
        ready = []
        while answers and answers[0][0] <= driver:
            ready.append(heapq.heappop(answers)[1])
        spend(costs.wait * replicas + costs.commit + len(ready) * chunk * (costs.answer + costs.row))
        for replica in ready:
            give(replica)
    return heard / (replicas * driver), busy / driver


def most_replicas(seconds: float, costs: Costs) -> int:
    """Return the largest power of two of replicas that one driver keeps busy."""
    replicas = 1
    while replicas < 2**12 and simulate(2 * replicas, seconds, costs)[0] >= ENOUGH:
        replicas *= 2
    return replicas


def measure(settings: Settings) -> Iterator[Row]:
    if missing := absent("ray"):
        yield skipped("the driver of a run on Ray", "us", "ray", missing)
        return
    ray = import_ray()
    ray.init(address="local", log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    try:
        costs = driver_costs(ray)
    finally:
        ray.shutdown()
    yield from rows(costs, settings.pick((0.1,), (0.005, 0.02, 0.067, 0.5)))


def rows(costs: Costs, lengths: tuple[float, ...]) -> Iterator[Row]:
    for name, cost in asdict(costs).items():
        yield row_of(f"the driver: {name}", "CPU us", [1e6 * cost])
    for seconds in lengths:
        replicas = NODES * REPLICAS
        hearing, busy = simulate(replicas, seconds, costs)
        most = most_replicas(seconds, costs)
        yield row_of(
            f"{NODES} nodes of {REPLICAS} replicas, trials of {1000 * seconds:g} ms",
            "% of the replicas' time heard",
            [100 * hearing],
            note=f"driver {100 * busy:.0f} % busy; {100 * ENOUGH:.0f} % up to {most:,} replicas",
        )
