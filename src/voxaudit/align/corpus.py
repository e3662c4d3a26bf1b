"""Align a whole corpus, in its order, with worker processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from voxaudit.align.pocketsphinx import PocketSphinxAligner
from voxaudit.align.timings import Aligner, AlignmentError, Timings
from voxaudit.audio import read
from voxaudit.errors import VoxauditError, one_line
from voxaudit.process import Child, DiedError, Helper, answering, helpers

if TYPE_CHECKING:  # tables take half a second to import, and processes that only align need none
    from voxaudit.corpus import Utterance

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
    waiting: deque[tuple[Utterance, Future[Timings | str]]] = deque()
    with helpers(workers, partial(Child, "voxaudit.align.corpus:main"), chosen) as submit:
        for utterance, job in jobs:
            waiting.append((utterance, submit(_asked, job)))
            if len(waiting) >= AHEAD * workers:
                first, answer = waiting.popleft()
                yield first, answer.result()
        for first, answer in waiting:
            yield first, answer.result()


def _asked(helper: Helper, job: Job) -> Timings | str:
    try:
        answer = helper.ask(job)
    except DiedError:
        return f"{job.audio}: the aligner died on this recording"
    if not isinstance(answer, Timings | str):
        raise AlignmentError(f"the aligner returned {type(answer).__name__} instead of timings")
    return answer


# A process that aligns: jobs in, answers out.


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


def main() -> None:
    """Answer jobs until there are no more; the first thing sent is the aligner."""
    answering(lambda aligner: partial(align_one, aligner))
