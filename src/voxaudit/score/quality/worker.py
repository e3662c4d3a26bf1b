"""A measuring process: reads, perturbs and measures what the driver sends.

Started by the driver as `serve()`, so no script needs a main guard. Pickled messages come in on standard input and go
out on standard output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from voxaudit import audio
from voxaudit.perturb import Scenario
from voxaudit.score.quality.measures import Measured, failed, measure


@dataclass(frozen=True, slots=True)
class Job:
    """What stays the same for all tasks."""

    seed: int
    rule: str


@dataclass(frozen=True, slots=True)
class Task:
    """One utterance and, for each of some scenarios, the groups of numbers that are wanted."""

    utterance: str
    audio: str
    start: float
    duration: float | None
    wanted: Sequence[tuple[Scenario, tuple[str, ...]]]


Answer = list[tuple[str, list[Measured]]]
"""(scenario id, what was measured) of every scenario of a task."""


def measure_task(job: Job, task: Task) -> Answer:
    """Return what a task asks for. A recording that cannot be read gives reasons instead of numbers."""
    try:
        clean = audio.read(task.audio, start=task.start, duration=task.duration)
    except Exception as error:
        return [(scenario.id, failed(groups, error)) for scenario, groups in task.wanted]
    answer = []
    for scenario, groups in task.wanted:
        try:
            heard = scenario.apply(clean, seed=job.seed, utterance=task.utterance)
        except Exception as error:
            answer.append((scenario.id, failed(groups, f"{type(error).__name__}: {error}")))
            continue
        twin = None if scenario.perturbation is None else clean
        answer.append((scenario.id, measure(twin, heard, groups, job.rule)))
    return answer


def serve() -> None:
    """Serve the driver until it closes the pipe, then end the process."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get into the messages
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt, EOFError):
        job: Job = pickle.load(requests)
        while True:
            answer = measure_task(job, pickle.load(requests))
            pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)


def _end_with_parent(parent: int) -> None:
    # A driver that was killed cannot tell us.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# The driver's side of the measuring processes: tasks go out, answers come back, a process that dies is replaced.

DIED = "the measuring process died"
"""Why there are no numbers where a process died twice over a scenario."""


def measure_tasks(job: Job, tasks: Sequence[Task], workers: int) -> Iterator[tuple[Task, Answer]]:
    """Yield every task with its answer, as they come; the processes end when the caller stops listening.

    A process that dies (a library that crashes) is replaced and its task tried again one scenario at a time; the
    scenario that kills it a second time gets a reason instead of numbers.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    answers: queue.SimpleQueue[tuple[Task, Answer] | BaseException | None] = queue.SimpleQueue()
    people = [_Worker(job, waiting, answers) for _ in range(min(workers, len(tasks)))]
    try:
        for worker in people:
            worker.thread.start()
        running = len(people)
        while running:
            message = answers.get()
            if isinstance(message, BaseException):
                raise message
            if message is None:
                running -= 1
            else:
                yield message
    finally:
        for worker in people:
            worker.stop()


def measure_here(job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
    """Yield every task with its answer, measured in this process."""
    for task in tasks:
        yield task, measure_task(job, task)


@dataclass
class _Worker:
    """A thread that feeds one process and replaces it when it dies."""

    job: Job
    waiting: queue.SimpleQueue[Task]
    answers: queue.SimpleQueue[tuple[Task, Answer] | BaseException | None]

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._work, daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        self._end()

    def _work(self) -> None:
        try:
            while not self._stopped:
                try:
                    task = self.waiting.get_nowait()
                except queue.Empty:
                    break
                answer = self._ask(task)
                if answer is None:
                    answer = [line for part in _singly(task) for line in self._ask_again(part)]
                self.answers.put((task, answer))
            self._end()
            self.answers.put(None)
        except BaseException as error:  # handed to the driver, where somebody can act on it
            self.answers.put(error)

    def _ask_again(self, task: Task) -> Answer:
        answer = self._ask(task)
        if answer is None:
            answer = [(scenario.id, failed(groups, DIED)) for scenario, groups in task.wanted]
        return answer

    def _ask(self, task: Task) -> Answer | None:
        """Return the process's answer, or None where it died over the task."""
        if self._process is None:
            self._process = _start()
            self._send(self.job)
        self._send(task)
        assert self._process.stdout is not None
        try:
            answer: Answer = pickle.load(self._process.stdout)
        except Exception:  # end of file, or half a message
            self._end()
            return None
        return answer

    def _send(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a dead process is noticed when its answer is read
            pickle.dump(message, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _singly(task: Task) -> list[Task]:
    return [replace(task, wanted=(one,)) for one in task.wanted]


def _start() -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[variable] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", "from voxaudit.score.quality.worker import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C reaches the driver only, which then ends its workers
    )
