"""A process that aligns: pickled jobs on standard input, pickled answers on standard output."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from typing import BinaryIO

from voxaudit.align.base import Aligner
from voxaudit.align.timings import Timings
from voxaudit.audio import read
from voxaudit.errors import VoxauditError, one_line


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
        return "no text to align: give a reference, or a recogniser's transcript"
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
