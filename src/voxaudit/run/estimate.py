"""What a run would cost, before it is begun: trials, minutes of audio, waiting, money."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voxaudit.options import RunOptions
from voxaudit.recognize import AnswersById
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.budget import Bill, Meter, is_remote
from voxaudit.run.cache import Cache, opened_cache
from voxaudit.run.local import Pool
from voxaudit.run.plan import Plan, trial_of, unfinished
from voxaudit.run.store import Store
from voxaudit.run.trial import Trial
from voxaudit.run.worker import Job

TRIED = 8
"""Trials of a recognizer that are heard to learn its speed, where nobody knows it."""
PATIENCE = 20.0
"""Seconds after which no further one is heard."""
KNOWN = 500
"""Trials whose times are looked up at most."""


@dataclass(frozen=True)
class Estimate:
    """One recognizer's part: trials in all, done before, known from other runs, without hearing; and what is left.

    `unreadable` trials fail without being heard. `left` is what would be heard, and what services bill for it.
    `speed` is how many seconds the recognizer takes per second of audio; `speed_from` says how that is known: from
    `this run`, `earlier runs` (the cache), `a test` (a few trials heard now), or not at all. `waiting` is how many
    seconds it will take to hear what is left, all processes at work.
    """

    recognizer: str
    remote: bool
    trials: int
    finished: int
    cached: int
    unreadable: int
    left: Bill
    speed: float | None = None
    speed_from: str = ""
    waiting: float | None = None


def estimate(
    plan: Plan, folder: Path, options: RunOptions | None = None, *, test_speed: bool = False, **given: Any
) -> list[Estimate]:
    """Return what hearing the rest of a plan takes, a recognizer at a time. No run is begun.

    The store in `folder`, where there is one, says what is done already. Nothing is heard, unless `test_speed` asks for
    the speed of recognizers on this machine that no earlier trial tells: they hear a few trials, services never.
    """
    options = RunOptions.of(options, **given)
    with ExitStack() as stack:
        path = folder / "trials.sqlite"
        if not path.exists():
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "trials.sqlite"
        store = stack.enter_context(closing(Store(path)))
        kept = stack.enter_context(opened_cache(options.cache))
        return [
            _estimate(part, name, store, kept, options, test_speed)
            for name in plan.recognizers
            for part in plan.by_language(name)
        ]


@dataclass
class _Speed:
    """Seconds that were taken for seconds of audio."""

    taken: float = 0.0
    audio: float = 0.0

    def add(self, taken: float, audio: float) -> None:
        self.taken += taken
        self.audio += audio

    @property
    def factor(self) -> float | None:
        return self.taken / self.audio if self.audio > 0 and self.taken > 0 else None


def _estimate(
    plan: Plan, name: str, store: Store, cache: Cache | None, options: RunOptions, test_speed: bool
) -> Estimate:
    recognizer = plan.recognizers[name]
    by_id = isinstance(recognizer, AnswersById)
    meter = Meter(recognizer, plan.scenarios_by_id(name))
    finished = cached = unreadable = 0
    left = Bill()
    before = _Speed()
    unheard: dict[str, Trial] = {}
    for chunk in unfinished(plan, name, store, retry_failed=options.retry_failed, limits=options.limits):
        finished += chunk.finished
        unreadable += len(chunk.failed)
        if by_id:
            left += Bill(len(chunk.trials))
            continue
        known = cache.find([trial.key for trial in chunk.trials]) if cache else {}
        cached += len(known)
        for trial in chunk.trials:
            if trial.key in known:
                before.add(known[trial.key][1], meter.seconds(trial))
            else:
                left += meter.bill(trial)
                if len(unheard) < TRIED:
                    unheard.setdefault(trial.scenario, trial)
    found = Estimate(name, is_remote(recognizer), plan.trials_of(name), finished, cached, unreadable, left)
    if by_id or not left.trials:
        return replace(found, waiting=0.0)
    return _with_waiting(
        found, plan, store, cache, options, before, list(unheard.values()), meter, test_speed
    )


def _with_waiting(
    found: Estimate,
    plan: Plan,
    store: Store,
    cache: Cache | None,
    options: RunOptions,
    before: _Speed,
    unheard: list[Trial],
    meter: Meter,
    test_speed: bool,
) -> Estimate:
    """Return an estimate with the speed that is known best: from this run, from others, or from a test."""
    speed, known_from = _in_this_run(plan, found.recognizer, store, meter), "this run"
    if speed is None:
        speed, known_from = before.factor, "earlier runs"
    if speed is None and test_speed and not found.remote and options.executor == "local":
        speed, known_from = _tested(plan, found.recognizer, cache, options, unheard, meter), "a test"
    if speed is None:
        return found
    at_once = max(1, min(options.processes, found.left.trials))
    return replace(found, speed=speed, speed_from=known_from, waiting=found.left.seconds * speed / at_once)


def _in_this_run(plan: Plan, name: str, store: Store, meter: Meter) -> float | None:
    times = store.times(name, KNOWN)
    wanted = {utterance for utterance, _, _ in times}
    by_id = (
        {one.id: one for corpus, _ in plan.parts_of(name) for one in corpus if one.id in wanted}
        if wanted
        else {}
    )
    scenarios = plan.scenarios_by_id(name)
    speed = _Speed()
    for utterance, scenario, seconds in times:
        if utterance in by_id and scenario in scenarios:
            trial = trial_of(by_id[utterance], scenarios[scenario], "", plan.seed, "")
            speed.add(seconds, meter.seconds(trial))
    return speed.factor


def _tested(
    plan: Plan, name: str, cache: Cache | None, options: RunOptions, trials: list[Trial], meter: Meter
) -> float | None:
    """Hear a few trials in one process and return the recognizer's speed; None where none was answered.

    The first does not count: engines set things up while they hear it. Nor does making the audio, of which the first
    time of each scenario tells nothing either. What was heard is kept in the cache.
    """
    recognizer = plan.recognizers[name]
    job = Job(recognizer, plan.scenarios_by_id(name), plan.seed)
    size = max(1, recognizer.batch_size)
    first, speed = _Speed(), _Speed()
    until = time.monotonic() + PATIENCE
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Pool(job, options, Path(folder) / "workers.log") as pool:
                for begin in (0, *range(1, len(trials), size)):
                    some = trials[begin : begin + size] if begin else trials[:1]
                    outcomes = [outcome for heard in pool.hear(iter(some)) for outcome in heard]
                    if cache is not None:
                        cache.add(outcomes)
                    for outcome in outcomes:
                        if outcome.transcript is not None:
                            (speed if begin else first).add(outcome.seconds, meter.seconds(outcome.trial))
                    if time.monotonic() > until:
                        break
        except RecognizerError:  # the run itself will say so
            return None
    return speed.factor or first.factor
