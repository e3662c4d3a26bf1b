"""A measuring process: reads, perturbs and measures what the driver sends.

Started by the driver as `serve()`, so no script needs a main guard. Pickled messages come in on standard input and go
out on standard output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

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
