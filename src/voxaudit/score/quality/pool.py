"""The driver's side of the measuring processes: tasks go out, answers come back, a process that dies is replaced."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from voxaudit.score.quality.measures import failed
from voxaudit.score.quality.worker import Answer, Job, Task, measure_task

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
