"""The local executor: warm recognizer processes, fed in chunks, watched, and replaced when they die."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from voxaudit.options import RunOptions
from voxaudit.process import THREADS, Child, StrangerError
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.backlog import Attempt, Backlog
from voxaudit.run.budget import is_remote
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job, Ready, Unusable
from voxaudit.tables import appended

DEATHS_WHILE_LOADING = 3
LOAD_TIMEOUT = 600.0
"""Seconds that a recognizer may take to load its model."""
TOGETHER = 0.2
"""Seconds for which answers are handed over together: to keep each by itself costs more than many take to make."""
NAP = 0.005
"""Seconds after an answer that had to be waited for in which nobody listens: quick ones then wake the driver together,
and the last of a chunk waits no longer than this."""
AT_ONCE = 1e-4
"""Seconds that it takes, at most, to read an answer that is already there."""


@dataclass(eq=False)
class _Worker:
    child: Child
    pending: dict[tuple[str, str, bytes], Attempt] = field(default_factory=dict)
    ready: bool = False
    deadline: float = 0.0


class Pool:
    """Warm workers of one recognizer. They stay loaded between calls of `hear` until the pool is left.

    A worker that dies or does not answer in time is replaced; the batch it was at is tried again one by one,
    and a trial that fails more than `options.retries` times is an outcome with a reason. So is one that answers for
    another trial or in another process's name: nothing that it said in that message counts. `RecognizerError` means
    that the recognizer cannot be loaded at all.
    """

    def __init__(self, job: Job, options: RunOptions, log: Path) -> None:
        self._job = job
        self._batch = max(1, job.recognizer.batch_size)
        self._backlog = Backlog(self._batch, single=is_remote(job.recognizer))
        self._together = 0.0 if is_remote(job.recognizer) else TOGETHER  # what is paid for is kept at once
        self._options = options
        self._log = log
        self._events: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._loading_deaths = 0
        self._hopeless: RecognizerError | None = None  # raised once what was heard so far is handed over

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def hear(self, trials: Iterator[Trial]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of trials as they come, every trial exactly once.

        Workers are started as far as there is work for them.
        """
        self._backlog.draw_from(trials)
        outcomes: list[Outcome] = []
        due = 0.0
        while True:
            if outcomes and not self._together:  # kept before anything more is asked
                yield outcomes
                outcomes = []
            self._feed()
            over = self._idle or self._hopeless is not None
            if outcomes and (over or time.monotonic() >= due):
                yield outcomes
                outcomes, due = [], time.monotonic() + self._together
            if self._hopeless is not None:
                raise self._hopeless
            if self._idle:
                return
            outcomes += self._collect(due if outcomes else None)

    def load(self) -> None:
        """Start a worker and wait until its recognizer is loaded; `RecognizerError` if it cannot be."""
        while self._hopeless is None and not any(worker.ready for worker in self._workers):
            if not self._workers:
                self._start()
            self._collect()
        if self._hopeless is not None:
            raise self._hopeless

    @property
    def _idle(self) -> bool:
        """True when nothing is under way and nothing is left."""
        return self._backlog.empty and not any(worker.pending for worker in self._workers)

    def _feed(self) -> None:
        """Give every free worker its next chunk; start workers while there is work for them."""
        for worker in self._workers:
            if worker.ready and not worker.pending and (chunk := self._backlog.next_chunk()):
                worker.pending.update((attempt.trial.identity, attempt) for attempt in chunk)
                worker.deadline = self._trial_deadline(worker)
                worker.child.send([attempt.trial for attempt in chunk])
        while len(self._workers) < self._options.processes:
            starting = sum(not worker.ready for worker in self._workers)
            if self._backlog.look_ahead(starting + 1) <= starting:
                return
            self._start()

    def _collect(self, due: float | None = None) -> list[Outcome]:
        """Wait for something to happen, until `due` at most, then handle all that has."""
        outcomes: list[Outcome] = []
        now = time.monotonic()
        nearest = min((worker.deadline for worker in self._workers if self._busy(worker)), default=now + 1.0)
        nearest = nearest if due is None else min(nearest, due)
        with contextlib.suppress(queue.Empty):
            self._handle(*self._events.get(timeout=max(0.0, min(nearest - now, 3600.0))), outcomes)
            while True:
                self._handle(*self._events.get_nowait(), outcomes)
        now = time.monotonic()
        for worker in [worker for worker in self._workers if self._busy(worker) and worker.deadline <= now]:
            self._timed_out(worker, outcomes)
        return outcomes

    def _busy(self, worker: _Worker) -> bool:
        return not worker.ready or bool(worker.pending)

    def _handle(self, worker: _Worker, message: Any, outcomes: list[Outcome]) -> None:
        if worker not in self._workers:  # a late word from a worker that was already replaced
            return
        if isinstance(message, Ready):
            worker.ready = True
            self._loading_deaths = 0
        elif isinstance(message, Unusable):
            self._hopeless = RecognizerError(message.reason)
        elif message is None or isinstance(message, StrangerError):
            if self._hopeless is None:  # else it said goodbye already
                self._died(worker, message, outcomes)
        elif not all(identity in worker.pending for identity, *_ in message):
            self._replace(worker, self._batch, "recognizer: its process answered for another trial", outcomes)
        else:
            self._answered(worker, message, outcomes)

    def _answered(self, worker: _Worker, answers: list[tuple[Any, ...]], outcomes: list[Outcome]) -> None:
        exhausted = False
        for identity, transcript, seconds, failure, again, spent in answers:
            attempt = worker.pending.pop(identity)
            tries = max(self._options.retries, 1) if spent else self._options.retries
            if failure is not None and again and attempt.failures < tries:
                self._backlog.try_again(attempt, failed=True)
            else:
                outcomes.append(Outcome(attempt.trial, transcript, seconds, failure))
            self._backlog.measure(seconds)
            exhausted |= spent
        worker.deadline = self._trial_deadline(worker)
        if exhausted:
            self._replace(worker, suspects=0, reason="", outcomes=outcomes)

    def _died(self, worker: _Worker, stranger: StrangerError | None, outcomes: list[Outcome]) -> None:
        if stranger is None:
            worker.child.wait(1.0)  # it closed its pipe, so it is on its way out: let it say how
        code = worker.child.end()
        ending = f"the process {_ending(code)}" if stranger is None else str(stranger)
        if not worker.ready:
            self._loading_deaths += 1
            if self._loading_deaths >= DEATHS_WHILE_LOADING:
                self._hopeless = RecognizerError(f"{ending} while loading the model; see {self._log}")
            self._replace(worker, suspects=0, reason="", outcomes=outcomes)
            return
        self._replace(worker, self._batch, f"recognizer: {ending}; see {self._log.name}", outcomes)

    def _timed_out(self, worker: _Worker, outcomes: list[Outcome]) -> None:
        if not worker.ready:
            self._hopeless = RecognizerError(
                f"the model was not loaded within {LOAD_TIMEOUT:g} s; see {self._log}"
            )
            return
        reason = f"recognizer: no answer within {self._options.timeout:g} s"
        self._replace(worker, self._batch, reason, outcomes, self._options.timeout)

    def _replace(
        self, worker: _Worker, suspects: int, reason: str, outcomes: list[Outcome], seconds: float = 0.0
    ) -> None:
        """End a worker; its `suspects` first pending trials are to blame, the others go back untouched."""
        self._workers.remove(worker)
        worker.child.end()
        pending = iter(worker.pending.values())
        blamed = list(islice(pending, suspects))
        self._backlog.put_back(pending)
        certain = len(blamed) == 1  # in a larger batch nobody knows yet whose fault it was
        for attempt in blamed:
            if attempt.failures + certain > self._options.retries:
                outcomes.append(Outcome(attempt.trial, None, seconds, reason))
            else:
                self._backlog.try_again(attempt, failed=certain)

    def _trial_deadline(self, worker: _Worker) -> float:
        return time.monotonic() + self._options.timeout * min(self._batch, max(len(worker.pending), 1))

    def _start(self) -> None:
        share = str(max(1, (os.cpu_count() or 1) // self._options.processes))
        threads = {variable: os.environ.get(variable, share) for variable in THREADS}
        with appended(self._log) as log:
            child = Child("voxaudit.run.worker:main", threads, stderr=log)
        worker = _Worker(child, deadline=time.monotonic() + LOAD_TIMEOUT)
        self._workers.append(worker)
        threading.Thread(target=_listen, args=(worker, self._events), daemon=True).start()
        child.send(self._job)

    def stop(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.child.end()
        self._workers.clear()


def _listen(worker: _Worker, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
    try:
        while True:
            start = time.monotonic()
            events.put((worker, worker.child.receive()))
            if time.monotonic() - start > AT_ONCE:
                time.sleep(NAP)
    except StrangerError as error:
        events.put((worker, error))
    except Exception:  # end of file, or half a message from a process that was killed while it wrote
        events.put((worker, None))


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}" + (" (out of memory?)" if -code == signal.SIGKILL else "")
