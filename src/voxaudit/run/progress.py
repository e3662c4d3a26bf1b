"""Progress on the terminal: one line per recognizer with rate and remaining time; silent elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress:
    """Counts trials. Rate and remaining time come from trials that were heard, not from the cache."""

    def __init__(self, enabled: bool) -> None:
        self._bars: RichProgress | None = _bars() if enabled else None
        self._task: TaskID | None = None
        self._heard = 0
        self._failed = 0
        self._since: float | None = None

    def __enter__(self) -> Progress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begin(self, recognizer: str, trials: int) -> None:
        """Start the line of a recognizer."""
        self._heard = self._failed = 0
        self._since = None
        if self._bars is not None:
            self._task = self._bars.add_task(recognizer, total=trials, note="")

    def advance(self, trials: int, *, heard: bool = False, failed: int = 0) -> None:
        """Count finished trials; `heard` ones took the recognizer's time."""
        if heard:
            self._heard += trials
        elif self._since is None:
            self._since = time.monotonic()
        self._failed += failed
        if self._bars is not None and self._task is not None:
            task = self._bars.tasks[self._task]
            left = (task.total or 0) - task.completed - trials
            self._bars.update(self._task, advance=trials, note=self._note(left))

    def _note(self, left: float) -> str:
        parts = []
        elapsed = time.monotonic() - (self._since or time.monotonic())
        if self._heard and elapsed > 0:
            rate = self._heard / elapsed
            parts.append(f"{rate:.1f}/s" if rate < 100 else f"{rate:.0f}/s")
            if left > 0:
                parts.append(f"{_clock(left / rate)} left")
        if self._failed:
            parts.append(f"{self._failed} failed")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _bars() -> RichProgress | None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
    )
