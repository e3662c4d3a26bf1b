"""What hearing costs: minutes of audio, what services bill for them, and a limit that stops a run in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from voxaudit import audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb import Scenario
from voxaudit.recognize import Recognizer
from voxaudit.run.trial import Trial


@dataclass(frozen=True)
class Bill:
    """Trials of one recognizer, the audio in them in seconds, what is billed for it, and the cost in US dollars.

    `cost` is None where the price is unknown. Tries after a failure are not in it.
    """

    trials: int = 0
    seconds: float = 0.0
    billed_seconds: float = 0.0
    cost: float | None = 0.0

    def __add__(self, other: Bill) -> Bill:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Bill(
            self.trials + other.trials,
            self.seconds + other.seconds,
            self.billed_seconds + other.billed_seconds,
            cost,
        )


def is_remote(recognizer: Recognizer) -> bool:
    """Say whether a recognizer is a service that may charge for what it hears."""
    return bool(getattr(recognizer, "remote", False))


class Meter:
    """Knows what a trial costs with one recognizer: recordings are measured by their headers, each once."""

    def __init__(self, recognizer: Recognizer, scenarios: Mapping[str, Scenario]) -> None:
        self._recognizer = recognizer
        self._scenarios = scenarios
        self._price = float(getattr(recognizer, "price_per_minute", 0.0))
        self._known: tuple[str, float] = ("", 0.0)

    def bill(self, trial: Trial) -> Bill:
        """Return what hearing one trial costs."""
        seconds = self.seconds(trial)
        if not is_remote(self._recognizer):
            return Bill(1, seconds, 0.0, 0.0)
        billed = float(self._recognizer.billed_seconds(seconds))  # type: ignore[attr-defined]
        return Bill(1, seconds, billed, billed / 60.0 * self._price if self._price > 0 else None)

    def seconds(self, trial: Trial) -> float:
        """Return how long the audio of a trial is as the recognizer hears it; 0 where it cannot be read."""
        whole = self._whole(trial.audio)
        own = max(whole - trial.start, 0.0)
        if trial.duration is not None:
            own = min(own, trial.duration)
        perturbation = self._scenarios[trial.scenario].perturbation
        if perturbation is None:
            return own
        rate = 16_000
        return perturbation.length(round(own * rate), rate) / rate

    def _whole(self, path: str) -> float:
        # Trials of one recording come one after the other: remembering the last one is enough.
        if self._known[0] != path:
            self._known = (path, audio.length(path) or 0.0)
        return self._known[1]


class Budget:
    """A limit on what services may hear in one go: US dollars, or minutes of audio billed. None is no limit."""

    def __init__(self, max_cost: float | None = None, max_minutes: float | None = None) -> None:
        self.max_cost = max_cost
        self.max_minutes = max_minutes
        self.spent = Bill()
        self.reached: str | None = None
        """What stopped it, in words; None while there is something left."""

    @property
    def limited(self) -> bool:
        """True where there is a limit."""
        return self.max_cost is not None or self.max_minutes is not None

    def require(self, recognizers: Mapping[str, Recognizer]) -> None:
        """Raise one line where a limit is asked for that cannot be kept."""
        remote = {name: one for name, one in recognizers.items() if is_remote(one)}
        if self.limited and not remote:
            raise VoxauditError("a budget is for services, and no recognizer here is one; leave it out")
        if self.max_cost is not None:
            for name, one in remote.items():
                if not float(getattr(one, "price_per_minute", 0.0)) > 0:
                    raise VoxauditError(
                        f"recognizer '{name}': its price is not known, so its cost cannot be limited."
                        " Set price_per_minute (US dollars), or limit the minutes"
                    )

    def within(self, trials: Iterable[Trial], meter: Meter) -> Iterator[Trial]:
        """Yield trials while the budget lasts; the first that does not fit ends it."""
        for trial in trials:
            if self.reached is not None:
                return
            after = self.spent + meter.bill(trial)
            if self.max_minutes is not None and after.billed_seconds > 60.0 * self.max_minutes + 1e-9:
                self.reached = (
                    f"{self.spent.billed_seconds / 60.0:.1f} of {self.max_minutes:g} minutes are heard"
                )
            elif self.max_cost is not None and (after.cost is None or after.cost > self.max_cost + 1e-9):
                self.reached = f"{self.spent.cost or 0.0:.2f} of {self.max_cost:g} US dollars are spent"
            else:
                self.spent = after
                yield trial
