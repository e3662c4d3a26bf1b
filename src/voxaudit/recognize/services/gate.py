"""How many requests may be under way: fewer at once when the service says that it is too much, slowly more again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """Time in seconds, and waiting. Tests bring their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Gate:
    """Lets at most `limit` requests through at a time, shared by all threads of a worker.

    Additive increase, multiplicative decrease: a window of successes raises the limit by one, up to `most`; a
    "too many" halves it, once for all requests that were under way. Where the service named a time to wait,
    nobody passes before it is over.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = float(most)
        self._limit = float(most)
        self._clock = clock
        self._changed = threading.Condition()
        self._busy = 0
        self._lowered = float("-inf")
        self._not_before = float("-inf")

    @property
    def limit(self) -> int:
        """How many requests may be under way now."""
        return int(self._limit)

    @contextlib.contextmanager
    def slot(self) -> Iterator[float]:
        """Wait for a place, hold it, and give the time at which it was got."""
        self._enter()
        try:
            yield self._clock.now()
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _enter(self) -> None:
        while True:
            with self._changed:
                hold = self._not_before - self._clock.now()
                if hold <= 0:
                    if self._busy < self.limit:
                        self._busy += 1
                        return
                    self._changed.wait()
                    continue
            self._clock.sleep(hold)

    def succeeded(self) -> None:
        """Note a request that was answered."""
        with self._changed:
            self._limit = min(self._most, self._limit + 1 / self._limit)
            self._changed.notify_all()

    def congested(self, started: float, wait: float | None) -> None:
        """Note that a request begun at `started` was one too many; hold everybody for `wait` seconds if given."""
        with self._changed:
            now = self._clock.now()
            if started > self._lowered:
                self._limit = max(1.0, self._limit / 2)
                self._lowered = now
            if wait is not None:
                self._not_before = max(self._not_before, now + wait)
