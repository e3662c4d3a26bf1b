"""Align a whole corpus, in its order, with worker processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO

from voxaudit.align.base import Aligner, AlignmentError
from voxaudit.align.pocketsphinx import PocketSphinxAligner
from voxaudit.align.timings import Timings
from voxaudit.audio import read
from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError, one_line

AHEAD = 8
"""How many utterances a worker may be ahead of the caller: bounds the memory, hides the hand-over."""


def align_corpus(
    corpus: Iterable[Utterance],
    aligner: Aligner | None = None,
    *,
    texts: Mapping[str, str] | None = None,
    workers: int = 1,
) -> Iterator[tuple[Utterance, Timings | str]]:
    """Yield every utterance with its timings, or with one line that says why it has none.

    `texts` gives the words by utterance id and goes before the utterance's own: for recordings without a
    reference, put a recognizer's transcripts there. With `workers` above 1 that many processes align; the
    order and the answers are the same.
    """
    chosen = PocketSphinxAligner() if aligner is None else aligner
    chosen.fingerprint()  # a missing package or model stops here, once, and not once per utterance
    jobs = ((u, Job(str(u.audio), u.start, u.duration, (texts or {}).get(u.id, u.text))) for u in corpus)
    if workers <= 1:
        for utterance, job in jobs:
            yield utterance, align_one(chosen, job)
        return
    own = threading.local()
    processes: list[_Worker] = []

    def run(job: Job) -> Timings | str:
        if not hasattr(own, "worker"):
            own.worker = _Worker(chosen)
            processes.append(own.worker)
        worker: _Worker = own.worker
        return worker(job)

    waiting: deque[tuple[Utterance, Future[Timings | str]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for utterance, job in jobs:
            waiting.append((utterance, pool.submit(run, job)))
            if len(waiting) >= AHEAD * workers:
                first, answer = waiting.popleft()
                yield first, answer.result()
        while waiting:
            first, answer = waiting.popleft()
            yield first, answer.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.stop()


class _Worker:
    """A process that aligns one utterance after another; a new one takes its place should it die."""

    def __init__(self, aligner: Aligner) -> None:
        self._aligner = aligner
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, job: Job) -> Timings | str:
        try:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", "from voxaudit.align.corpus import main; main()"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                self._send(self._aligner)
            self._send(job)
            assert self._process.stdout is not None
            answer = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.stop()
            return f"{job.audio}: the aligner died on this recording"
        if not isinstance(answer, Timings | str):
            raise AlignmentError(f"the aligner returned {type(answer).__name__} instead of timings")
        return answer

    def _send(self, value: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def stop(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.communicate(timeout=5)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            process.kill()
            process.communicate()


# A process that aligns: pickled jobs on standard input, pickled answers on standard output.


@dataclass(frozen=True)
class Job:
    """A recording (or the part from `start`, `duration` long, in seconds) and the text that is said in it."""

    audio: str
    start: float
    duration: float | None
    text: str | None


def align_one(aligner: Aligner, job: Job) -> Timings | str:
    """Return the timings of one recording, or one line that says why there are none."""
    if job.text is None or not job.text.strip():
        return "no text to align: give a reference, or a recognizer's transcript"
    try:
        return aligner.align(read(job.audio, start=job.start, duration=job.duration), job.text)
    except VoxauditError as error:
        return one_line(error)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more; the first thing sent is the aligner."""
    aligner: Aligner = pickle.load(jobs)
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        pickle.dump(align_one(aligner, job), answers)
        answers.flush()


def main() -> None:
    """Serve on standard input and output; what a library prints goes to standard error, not between the answers."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as channel:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        serve(sys.stdin.buffer, channel)
