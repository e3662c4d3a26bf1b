"""A worker process: loads one recognizer, then reads, perturbs and recognizes what the driver sends.

Started by the driver as `main()`. Whatever the recognizer prints goes to the run's `workers.log`, never into the
messages.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from voxaudit import audio, files
from voxaudit.errors import VoxauditError, exhausted, one_line
from voxaudit.options import Limits
from voxaudit.perturb import Scenario
from voxaudit.process import Channel, serve
from voxaudit.recognize.base import (
    Recognizer,
    RecognizerError,
    Transcriber,
    Transcript,
    as_transcript,
    counted,
)
from voxaudit.run.trial import Trial


@dataclass(frozen=True)
class Job:
    """What stays the same for all trials of a worker."""

    recognizer: Recognizer
    scenarios: Mapping[str, Scenario]
    seed: int
    limits: Limits = Limits()


@dataclass(frozen=True)
class Heard:
    """The answer to one trial. `again` says that another try could help, `spent` that only another process can."""

    trial: Trial
    transcript: Transcript | None
    seconds: float = 0.0
    failure: str | None = None
    again: bool = False
    spent: bool = False

    @property
    def message(self) -> tuple[object, ...]:
        """What is sent of it: plain values, as the driver has the trial, and objects take longer to pack."""
        return self.trial.identity, self.transcript, self.seconds, self.failure, self.again, self.spent


@dataclass(frozen=True)
class Ready:
    """The recognizer is loaded."""


@dataclass(frozen=True)
class Unusable:
    """The recognizer cannot be loaded, or will never answer again: no trial can be heard."""

    reason: str


def hear(job: Job, transcribe: Transcriber, trials: Sequence[Trial]) -> Iterator[list[Heard]]:
    """Yield the answers to trials, each once: all together, or as they come where the recognizer says them so.

    A batch that fails as a whole is heard again one by one.
    """
    clips: list[audio.Audio] = []
    asked: list[Trial] = []
    answers: list[Heard] = []
    for trial in trials:
        try:
            clips.append(_prepare(job, trial))
            asked.append(trial)
        except Exception as error:
            # A file can be asked for again where a network is in between.
            answers.append(_failed(trial, "audio", error, again=files.url_of(trial.audio) is not None))
    if clips and (each := getattr(transcribe, "each", None)) is not None:
        start = time.perf_counter()
        for place, answer in each(clips):
            yield [_heard(asked[place], answer, time.perf_counter() - start)]
    elif clips:
        for part in _fitting(clips, getattr(job.recognizer, "batch_seconds", 0.0)):
            answers += _transcribe(transcribe, asked[part], clips[part])
    if answers:
        yield answers


def _fitting(clips: Sequence[audio.Audio], most: float) -> Iterator[slice]:
    """Yield the parts of a batch that have at most so many seconds each, padding too; 0 is no limit."""
    start, longest = 0, 0.0
    for place, clip in enumerate(clips):
        longest = max(longest, clip.duration)
        if most and place > start and longest * (place + 1 - start) > most:
            yield slice(start, place)
            start, longest = place, clip.duration
    yield slice(start, len(clips))


@lru_cache(maxsize=2)
def _fetched(url: str, most: int) -> bytes:
    """The content of a recording elsewhere: its scenarios come one after the other, and it is fetched once for all."""
    return files.read_bytes(url, most)


@lru_cache(maxsize=1)
def _decoded(path: str, start: float, duration: float | None, limits: Limits) -> audio.Audio:
    """Return a recording, decoded once for all its scenarios: an MP3 costs more than most of them."""
    return audio.read(path, start=start, duration=duration, fetch=_fetched, limits=limits)


def _prepare(job: Job, trial: Trial) -> audio.Audio:
    clip = _decoded(trial.audio, trial.start, trial.duration, job.limits)
    # Whoever writes into what it is given, a recognizer of the user's for one, does not change the next trial's.
    clip = audio.Audio(clip.samples.copy(), clip.rate)
    clip = job.scenarios[trial.scenario].apply(clip, seed=job.seed, utterance=trial.utterance)
    return clip if job.recognizer.rate is None else audio.resample(clip, job.recognizer.rate)


def _transcribe(
    transcribe: Transcriber, trials: Sequence[Trial], clips: Sequence[audio.Audio]
) -> list[Heard]:
    start = time.perf_counter()
    try:
        answers = counted(transcribe(clips), len(clips))
    except RecognizerError:  # nothing will work any more: a key that was refused, a model that is gone
        raise
    except BaseException as error:  # SystemExit too: a recognizer that exits costs its own trial
        if len(clips) > 1 and not exhausted(error):
            pairs = zip(trials, clips, strict=True)
            return [_transcribe(transcribe, [trial], [clip])[0] for trial, clip in pairs]
        again, seconds = getattr(error, "again", True), (time.perf_counter() - start) / len(clips)
        return [_failed(trial, "recognizer", error, seconds, again=again) for trial in trials]
    seconds = (time.perf_counter() - start) / len(clips)
    return [_heard(trial, answer, seconds) for trial, answer in zip(trials, answers, strict=True)]


def _heard(trial: Trial, answer: object, seconds: float) -> Heard:
    try:
        return Heard(trial, as_transcript(answer), seconds)
    except Exception as error:
        return _failed(trial, "recognizer", error, seconds, again=getattr(error, "again", True))


def _failed(trial: Trial, stage: str, error: BaseException, seconds: float = 0.0, *, again: bool) -> Heard:
    # Our own errors already speak to the user; of a stranger's, the type is often the only information.
    kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
    reason = f"{kind}{one_line(error)}"
    if exhausted(error):  # nothing is wrong with the recording: whoever leaked lives in this process
        return Heard(trial, None, seconds, f"recognizer: its process is spent ({reason})", True, spent=True)
    return Heard(trial, None, seconds, f"{stage}: {reason}", again)


def main() -> None:
    """Serve the driver until it closes the channel, then end the process."""
    serve(_serve)


def _serve(driver: Channel) -> None:
    job: Job = driver.receive()
    _bound_memory(job.limits)
    try:
        transcribe = job.recognizer.load()
    except BaseException as error:
        kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
        driver.send(Unusable(f"{kind}{one_line(error)}"))
        return
    driver.send(Ready())
    size = max(1, job.recognizer.batch_size)
    while True:
        trials: list[Trial] = driver.receive()
        for first in range(0, len(trials), size):
            try:
                for answers in hear(job, transcribe, trials[first : first + size]):
                    driver.send([heard.message for heard in answers])
            except RecognizerError as error:
                driver.send(Unusable(one_line(error)))
                return


def _bound_memory(limits: Limits) -> None:
    if limits.memory is None:
        return
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        most = int(limits.memory * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
