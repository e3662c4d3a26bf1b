"""What a run would cost, before anything is heard: trials, minutes of audio, money."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.options import RunOptions
from voxaudit.recognize import AnswersById
from voxaudit.run.budget import Bill, Meter, is_remote
from voxaudit.run.cache import Cache, opened_cache
from voxaudit.run.plan import Plan, unfinished
from voxaudit.run.store import Store


@dataclass(frozen=True)
class Estimate:
    """One recognizer's part: trials in all, done before, known from other runs, without hearing; and what is left.

    `unreadable` trials fail without being heard. `left` is what would be heard, and what services bill for it.
    """

    recognizer: str
    remote: bool
    trials: int
    finished: int
    cached: int
    unreadable: int
    left: Bill


def estimate(plan: Plan, folder: Path, options: RunOptions | None = None, **given: Any) -> list[Estimate]:
    """Return what hearing the rest of a plan takes, a recognizer at a time. Nothing is heard and no run is begun.

    The store in `folder`, where there is one, says what is done already.
    """
    options = RunOptions.of(options, **given)
    with ExitStack() as stack:
        path = folder / "trials.sqlite"
        if not path.exists():
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "trials.sqlite"
        store = stack.enter_context(closing(Store(path)))
        kept = stack.enter_context(opened_cache(options.cache))
        return [_estimate(plan, name, store, kept, options.retry_failed) for name in plan.recognizers]


def _estimate(plan: Plan, name: str, store: Store, cache: Cache | None, retry_failed: bool) -> Estimate:
    recognizer = plan.recognizers[name]
    by_id = isinstance(recognizer, AnswersById)
    meter = Meter(recognizer, plan.scenarios_by_id(name))
    finished = cached = unreadable = 0
    left = Bill()
    for chunk in unfinished(plan, name, store, retry_failed=retry_failed):
        finished += chunk.finished
        unreadable += len(chunk.failed)
        if by_id:
            left += Bill(len(chunk.trials))
            continue
        known = cache.find([trial.key for trial in chunk.trials]) if cache else {}
        cached += len(known)
        for trial in chunk.trials:
            if trial.key not in known:
                left += meter.bill(trial)
    return Estimate(name, is_remote(recognizer), plan.trials_of(name), finished, cached, unreadable, left)
