"""A measuring process: reads, perturbs and measures what the driver sends.

Started by the driver as `main()`, so no script needs a main guard.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from functools import partial

from voxaudit import audio
from voxaudit.perturb import Scenario
from voxaudit.process import THREADS, Child, DiedError, Helper, answering, helpers
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
    answering(lambda job: partial(measure_task, job))


# The driver's side of the measuring processes: tasks go out, answers come back.

DIED = "the measuring process died"
"""Why there are no numbers where a process died twice over a scenario."""


def measure_tasks(job: Job, tasks: Sequence[Task], workers: int) -> Iterator[tuple[Task, Answer]]:
    """Yield every task with its answer, as they come; the processes end when the caller stops listening.

    A process that dies (a library that crashes) is replaced and its task tried again one scenario at a time; the
    scenario that kills it a second time gets a reason instead of numbers.
    """
    target, one_thread = "voxaudit.score.quality.worker:main", dict.fromkeys(THREADS, "1")
    start = partial(Child, target, one_thread, stderr=subprocess.DEVNULL)
    with helpers(max(1, min(workers, len(tasks))), start, job) as submit:
        asked = {submit(_asked, task): task for task in tasks}
        for done in as_completed(asked):
            yield asked[done], done.result()


def _asked(helper: Helper, task: Task) -> Answer:
    try:
        answer: Answer = helper.ask(task)
        return answer
    except DiedError:
        return [line for one in task.wanted for line in _asked_again(helper, replace(task, wanted=(one,)))]


def _asked_again(helper: Helper, task: Task) -> Answer:
    try:
        answer: Answer = helper.ask(task)
        return answer
    except DiedError:
        return [(scenario.id, failed(groups, DIED)) for scenario, groups in task.wanted]


def measure_here(job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
    """Yield every task with its answer, measured in this process."""
    for task in tasks:
        yield task, measure_task(job, task)
