"""A worker process: loads one recognizer, then reads, perturbs and recognizes what the driver sends.

Started by the driver as `serve()`; pickled messages come in on standard input and go out on standard
output. Whatever the recognizer prints goes to the run's `workers.log`, never into the messages.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO

from voxaudit import audio, files
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import Scenario
from voxaudit.recognize.base import (
    Recognizer,
    RecognizerError,
    Transcriber,
    Transcript,
    as_transcript,
    counted,
)
from voxaudit.run.trial import Trial


@dataclass(frozen=True, slots=True)
class Job:
    """What stays the same for all trials of a worker."""

    recognizer: Recognizer
    scenarios: Mapping[str, Scenario]
    seed: int


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to one trial. `again` says that another try could help."""

    transcript: Transcript | None
    seconds: float = 0.0
    failure: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """The recognizer is loaded."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The recognizer cannot be loaded, or will never answer again: no trial can be heard."""

    reason: str


def hear(job: Job, transcribe: Transcriber, trials: Sequence[Trial]) -> list[Heard]:
    """Return one answer per trial. A batch that fails as a whole is heard again one by one."""
    clips: list[audio.Audio] = []
    answers: dict[int, Heard] = {}
    for number, trial in enumerate(trials):
        try:
            clips.append(_prepare(job, trial))
        except Exception as error:
            # A file can be asked for again where a network is in between.
            far = files.url_of(trial.audio) is not None
            answers[number] = Heard(None, failure=_reason("audio", error), again=far)
    positions = [number for number in range(len(trials)) if number not in answers]
    if clips:
        answers.update(zip(positions, _transcribe(transcribe, clips), strict=True))
    return [answers[number] for number in range(len(trials))]


@lru_cache(maxsize=2)
def _fetched(url: str) -> bytes:
    """The content of a recording elsewhere: its scenarios come one after the other, and it is fetched once for all."""
    return files.read_bytes(url)


def _prepare(job: Job, trial: Trial) -> audio.Audio:
    clip = audio.read(trial.audio, start=trial.start, duration=trial.duration, fetch=_fetched)
    clip = job.scenarios[trial.scenario].apply(clip, seed=job.seed, utterance=trial.utterance)
    return clip if job.recognizer.rate is None else audio.resample(clip, job.recognizer.rate)


def _transcribe(transcribe: Transcriber, clips: Sequence[audio.Audio]) -> list[Heard]:
    start = time.perf_counter()
    try:
        answers = counted(transcribe(clips), len(clips))
    except RecognizerError:  # nothing will work any more: a key that was refused, a model that is gone
        raise
    except BaseException as error:  # SystemExit too: a recognizer that exits costs its own trial
        if len(clips) > 1:
            return [_transcribe(transcribe, [clip])[0] for clip in clips]
        again = getattr(error, "again", True)
        return [Heard(None, time.perf_counter() - start, _reason("recognizer", error), again=again)]
    seconds = (time.perf_counter() - start) / len(clips)
    return [_heard(answer, seconds) for answer in answers]


def _heard(answer: object, seconds: float) -> Heard:
    try:
        return Heard(as_transcript(answer), seconds)
    except Exception as error:
        return Heard(None, seconds, _reason("recognizer", error), again=getattr(error, "again", True))


def _reason(stage: str, error: BaseException) -> str:
    # Our own errors already speak to the user; of a stranger's, the type is often the only information.
    kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
    return f"{stage}: {kind}{one_line(error)}"


def serve() -> None:
    """Serve the driver until it closes the pipe, then end the process."""
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        _serve(*_take_pipes())
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)  # engines with threads of their own can hang in interpreter shutdown


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    job: Job = pickle.load(requests)
    try:
        transcribe = job.recognizer.load()
    except BaseException as error:
        _send(answers, Unusable(_reason("recognizer", error).removeprefix("recognizer: ")))
        return
    _send(answers, Ready())
    size = max(1, job.recognizer.batch_size)
    while True:
        try:
            trials: list[Trial] = pickle.load(requests)
        except EOFError:
            return
        for first in range(0, len(trials), size):
            try:
                _send(answers, hear(job, transcribe, trials[first : first + size]))
            except RecognizerError as error:
                _send(answers, Unusable(one_line(error)))
                return


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    # The recognizer gets an empty standard input and the log as its output: it cannot disturb the messages.
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    return requests, answers


def _send(stream: BinaryIO, message: Any) -> None:
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _end_with_parent(parent: int) -> None:
    # A driver that was killed cannot tell us: a recognizer that hangs must not outlive it.
    while os.getppid() == parent:
        time.sleep(0.5)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)
