"""What is still to be heard: drawn from its source as it is needed, handed out in chunks of a fifth of a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from voxaudit.run.trial import Trial

CHUNK_SECONDS = 0.2
"""How much work is sent to a worker at a time: long enough to hide the hand-over, short enough that little is heard
again where the driver is killed before it could commit."""

LARGEST_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trial with its history. `alone`: it was in a batch that was lost, and is tried by itself from now on."""

    trial: Trial
    failures: int = 0
    alone: bool = False


class Backlog:
    """Trials that wait, in bounded memory: the source is asked only for what a worker can take now.

    With `single`, a chunk is one batch: of a service that bills, every answer is committed before more is asked.
    """

    def __init__(self, batch: int, *, single: bool = False) -> None:
        self._batch = batch
        self._single = single
        self._source: Iterator[Trial] = iter(())
        self._exhausted = True
        self._waiting: deque[Attempt] = deque()
        self._seconds_a_trial: float | None = None

    def draw_from(self, source: Iterator[Trial]) -> None:
        """Take further trials from `source`."""
        self._source, self._exhausted = source, False

    @property
    def empty(self) -> bool:
        """True when nothing waits and the source is known to have no more."""
        return self._exhausted and not self._waiting

    def look_ahead(self, count: int) -> int:
        """Have `count` trials at hand if there are as many; return how many wait."""
        while len(self._waiting) < count and not self._exhausted:
            trial = next(self._source, None)
            if trial is None:
                self._exhausted = True
            else:
                self._waiting.append(Attempt(trial))
        return len(self._waiting)

    def next_chunk(self, seconds: float = CHUNK_SECONDS) -> list[Attempt]:
        """Return what a free worker should hear next, about so many seconds of work; [] when nothing waits."""
        self.look_ahead(1)
        if self._waiting and self._waiting[0].alone:
            return [self._waiting.popleft()]
        size = self._batch
        if self._seconds_a_trial is not None and not self._single:
            batches = seconds / max(self._seconds_a_trial * self._batch, 1e-6)
            size = self._batch * max(1, min(int(batches), LARGEST_CHUNK // self._batch))
        self.look_ahead(size)
        chunk: list[Attempt] = []
        while self._waiting and not self._waiting[0].alone and len(chunk) < size:
            chunk.append(self._waiting.popleft())
        return chunk

    def put_back(self, untouched: Iterable[Attempt]) -> None:
        """Take back attempts that were handed out but not begun: they are next."""
        self._waiting.extendleft(reversed(list(untouched)))

    def try_again(self, attempt: Attempt, *, failed: bool) -> None:
        """Have a trial heard again, by itself and after the others; `failed` if the failure was surely its own."""
        self._waiting.append(Attempt(attempt.trial, attempt.failures + failed, alone=True))

    def measure(self, seconds: float) -> None:
        """Note how long a trial took."""
        before = self._seconds_a_trial
        self._seconds_a_trial = seconds if before is None else 0.9 * before + 0.1 * seconds
