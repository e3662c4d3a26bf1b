"""A measuring process: reads, perturbs and measures what the driver sends.

Started by the driver as `main()`, so no script needs a main guard.
"""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from voxaudit import audio
from voxaudit.perturb import Scenario
from voxaudit.process import THREADS, Channel, Child, serve
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


def main() -> None:
    """Serve the driver until it closes the channel, then end the process."""
    serve(_serve)


def _serve(driver: Channel) -> None:
    job: Job = driver.receive()
    while True:
        task: Task = driver.receive()
        driver.send((task.utterance, measure_task(job, task)))


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
        self._child: Child | None = None
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
        child = self._child
        if child is None:
            one_thread = dict.fromkeys(THREADS, "1")
            child = Child("voxaudit.score.quality.worker:main", one_thread, stderr=subprocess.DEVNULL)
            child.send(self.job)
            self._child = child
        child.send(task)
        try:
            utterance, answer = child.receive()
        except Exception:  # end of file, half a message, or somebody else's
            utterance = answer = None
        if utterance != task.utterance:
            self._end()
            return None
        found: Answer = answer
        return found

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


def _singly(task: Task) -> list[Task]:
    return [replace(task, wanted=(one,)) for one in task.wanted]
