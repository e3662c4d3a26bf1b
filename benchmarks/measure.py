"""The one way of timing here: calls in turns, in CPU and wall seconds, and calls in processes of their own.

Every benchmark is a module with a function `measure(settings)` that yields rows.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

ROOT = Path(__file__).resolve().parents[1]
LEAST = 0.05
"""Seconds that a timed pass takes at least: what is shorter is done several times."""

Size = Literal["quick", "usual", "full"]
Kind = Literal["peer", "floor", "none"]
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """How large the benchmarks are, and recordings to use instead of what is made up."""

    size: Size = "usual"
    audio: Path | None = None

    def pick(self, quick: T, usual: T, full: T | None = None) -> T:
        """Return what belongs to the size; without a `full` that is the usual one."""
        if self.size == "quick":
            return quick
        return full if self.size == "full" and full is not None else usual


@dataclass(frozen=True)
class Spread:
    """What was measured several times: the median, the smallest and the largest."""

    median: float
    low: float
    high: float
    times: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of some values."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    def scaled(self, factor: float) -> Spread:
        """Return the same in another unit."""
        return replace(self, median=self.median * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True)
class Row:
    """A line of the table. `ratio` is the other's cost over ours: above 1 ours is the cheaper one."""

    what: str
    unit: str
    ours: Spread | None = None
    kind: Kind = "none"
    peer: str = ""
    theirs: Spread | None = None
    ratio: Spread | None = None
    note: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Missing:
    """A peer that cannot run here, and why."""

    why: str


@dataclass(frozen=True)
class Took:
    """What a call took: seconds of processor (its children's too), seconds, and MB if it had a process of its own."""

    cpu: float
    wall: float
    megabytes: float = 0.0
    """Peak of the process."""
    before: float = 0.0
    """Peak before the call: the interpreter with its imports."""
    value: Any = None

    @property
    def added(self) -> float:
        """MB that the call added to the peak."""
        return self.megabytes - self.before


Call = Callable[[], object]
Peer = Call | Missing
Clock = Literal["cpu", "wall"]


def _cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    status = Path("/proc/self/status")
    if status.is_file():  # the other figure begins with what the process that started this one had
        return int(status.read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def took(call: Call, times: int = 1) -> Took:
    """Time a call, done so many times; a call that returns a `Took` timed itself."""
    gc.collect()
    cpu, wall = _cpu(), time.perf_counter()
    value: object = None
    for _ in range(times):
        value = call()
    if isinstance(value, Took):
        return value
    return Took((_cpu() - cpu) / times, (time.perf_counter() - wall) / times, value=value)


def race(calls: Mapping[str, Call], rounds: int, *, warm: bool = True) -> dict[str, list[Took]]:
    """Time calls in turns, the order reversed every other round, so that a busy machine favors nobody.

    With `warm` each is called once before, which also says how often a short one is repeated within its turn.
    """
    times = dict.fromkeys(calls, 1)
    if warm:
        for name, call in calls.items():
            first = took(call)
            if first.wall < LEAST and not isinstance(call, Apart):
                times[name] = max(1, round(LEAST / max(took(call).wall, 1e-6)))
    found: dict[str, list[Took]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in reversed(list(calls)) if turn % 2 else list(calls):
            found[name].append(took(calls[name], times[name]))
    return found


def row_of(
    what: str,
    unit: str,
    ours: Sequence[float],
    theirs: Sequence[float] = (),
    *,
    peer: str = "",
    kind: Kind = "peer",
    note: str = "",
) -> Row:
    """Return a row from measurements taken in turns: the ratio is taken within each turn."""
    if not theirs:
        return Row(what, unit, Spread.of(ours), note=note)
    pairs = list(zip(ours, theirs, strict=True))
    ratio = Spread.of([other / own for own, other in pairs])
    return Row(what, unit, Spread.of(ours), kind, peer, Spread.of(theirs), ratio, note)


def beside_the_table(what: str, added: Sequence[float], megabytes: float) -> Row:
    """Return a row of memory above the imports, beside that of the table itself."""
    theirs = [megabytes] * len(added)
    return row_of(what, "MB above the imports", added, theirs, peer="the table itself", kind="floor")


def compare(
    what: str,
    unit: str,
    ours: Call,
    peers: Mapping[str, Peer],
    *,
    rounds: int,
    scale: float = 1.0,
    clock: Clock = "cpu",
    kind: Kind = "peer",
    warm: bool = True,
    note: str = "",
) -> Iterator[Row]:
    """Yield a row a peer, all of them and ours timed in turns; `scale` turns seconds into the unit."""
    able = {name: peer for name, peer in peers.items() if not isinstance(peer, Missing)}
    found = race({"": ours, **able}, rounds, warm=warm)
    values = {name: [scale * getattr(one, clock) for one in each] for name, each in found.items()}
    if not able:
        yield row_of(what, unit, values[""], note=note)
    for name, peer in peers.items():
        if isinstance(peer, Missing):
            yield skipped(what, unit, name, peer)
        else:
            yield row_of(what, unit, values[""], values[name], peer=name, kind=kind, note=note)


def skipped(what: str, unit: str, peer: str, missing: Missing) -> Row:
    """Return the row of a comparison that cannot be made here."""
    return Row(what, unit, kind="peer", peer=peer, skipped=missing.why)


def named(package: str) -> str:
    """Return a package with its version, if it is installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def absent(*packages: str) -> Missing | None:
    """Return which of some packages is not installed, if any."""
    for package in packages:
        if find_spec(package) is None:
            return Missing(f"{package} is not installed")
    return None


ALONE = """
import importlib, json, sys
from benchmarks.measure import report_alone
for name in sys.argv[4:]:
    importlib.import_module(name)
report_alone(getattr(importlib.import_module(sys.argv[1]), sys.argv[2]), json.loads(sys.argv[3]))
"""


def report_alone(function: Callable[..., object], arguments: dict[str, Any]) -> None:
    """Call a function and print what it took, as the last line: the other side of `alone`."""
    before = peak_megabytes()
    one = took(lambda: function(**arguments))
    facts = {"cpu": one.cpu, "wall": one.wall, "megabytes": peak_megabytes(), "before": before}
    print(json.dumps({**facts, "value": one.value}))


def alone(function: Callable[..., object], imports: Sequence[str] = (), **arguments: Any) -> Took:
    """Time a function of a module in a process of its own.

    What the module imports, and `imports`, counts for neither time nor memory added.
    """
    words = [sys.executable, "-c", ALONE, function.__module__, function.__name__, json.dumps(arguments)]
    words += imports
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{function.__name__}: {last_line(done.stderr)}")
    return Took(**json.loads(done.stdout.splitlines()[-1]))


def last_line(text: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


@dataclass
class Apart:
    """A contestant that runs in a process of its own every time, and remembers what it took."""

    function: Callable[..., object]
    arguments: dict[str, Any]
    took: list[Took] = field(default_factory=list)

    def __call__(self) -> Took:
        self.took.append(alone(self.function, **self.arguments))
        return self.took[-1]


def apart(function: Callable[..., object], imports: Sequence[str] = (), **arguments: Any) -> Apart:
    """Return a contestant for a race that runs in a process of its own, as `alone` does."""
    return Apart(function, {"imports": imports, **arguments})
