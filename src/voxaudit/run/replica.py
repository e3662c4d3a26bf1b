"""A replica: one warm recognizer on a node of a Ray cluster. Only what the driver sends and gets is defined by it.

It keeps a local pool of one worker process, so a recognizer that raises, hangs or crashes is treated on every node
exactly as on the driver's own machine, and the replica itself outlives it.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TypeVar

from voxaudit import __version__
from voxaudit.files import url_of
from voxaudit.options import RunOptions
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.local import Pool
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job

MOST_LOG = 1 << 20
"""Bytes of what a recognizer printed that travel with one answer; the end is what tells."""

AT_ANY_TIME = "at_any_time"
"""Ray's group of methods that need not wait for `hear`."""

Method = TypeVar("Method", bound=Callable[..., object])

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a replica says: outcomes, why it can never hear anything (if so), and what the recognizer printed.

    `absent` are recordings that do not exist on its node.
    """

    node: str
    outcomes: tuple[Outcome, ...] = ()
    unusable: str | None = None
    printed: bytes = b""
    absent: tuple[str, ...] = ()


def versions() -> dict[str, str]:
    """Return the versions that decide what is heard: they must be the same on all nodes."""
    packages = ("numpy", "scipy", "soundfile", "soxr")
    return {"voxaudit": __version__, **{package: metadata.version(package) for package in packages}}


def _at_any_time(method: Method) -> Method:
    """Mark a method that is answered while another one is at work; without Ray it stays as it is."""
    try:
        ray = import_module("ray")
    except ImportError:
        return method
    marked: Method = ray.method(concurrency_group=AT_ANY_TIME)(method)
    return marked


class Replica:
    """The actor. `job` is pickled; `path` is the driver's module path; `log` is how it calls the log in messages."""

    def __init__(
        self,
        job: bytes,
        options: RunOptions,
        threads: int,
        path: Sequence[str],
        expected: dict[str, str],
        log: str,
    ) -> None:
        sys.path.extend(folder for folder in path if folder not in sys.path)
        os.environ.update(dict.fromkeys(THREADS, str(threads)))
        self._node = socket.gethostname()
        self._expected = expected
        self._job = job
        self._options = options
        self._shown = log
        self._log = Path(tempfile.mkdtemp(prefix="voxaudit-")) / "workers.log"
        self._said = 0
        self._pool: Pool | None = None

    def load(self) -> Answer:
        """Load the recognizer."""
        present = versions()
        for name, version in self._expected.items():
            if present[name] != version:
                return Answer(
                    self._node,
                    unusable=f"node {self._node} has {name} {present[name]}, the driver {version}:"
                    " install the same version on all nodes",
                )
        try:
            job: Job = pickle.loads(self._job)
            self._pool = Pool(job, self._options, self._log)
            self._pool.load()
        except RecognizerError as error:
            return self._answer([], str(error))
        return self._answer([])

    def hear(self, trials: Sequence[Trial]) -> Answer:
        """Return the outcome of every trial."""
        assert self._pool is not None
        outcomes: list[Outcome] = []
        try:
            for some in self._pool.hear(iter(trials)):
                outcomes += some
        except RecognizerError as error:
            return self._answer(outcomes, str(error))
        return self._answer(outcomes)

    @_at_any_time
    def alive(self) -> bool:
        """Answer."""
        return True

    @_at_any_time
    def close(self) -> None:
        """End the recognizer and clean up."""
        if self._pool is not None:
            self._pool.stop()
        shutil.rmtree(self._log.parent, ignore_errors=True)

    def _answer(self, outcomes: Sequence[Outcome], unusable: str | None = None) -> Answer:
        if unusable is not None:
            unusable = unusable.replace(str(self._log), self._shown)
        failed = {
            outcome.trial.audio for outcome in outcomes if (outcome.failure or "").startswith("audio: ")
        }
        absent = tuple(path for path in sorted(failed) if url_of(path) is None and not Path(path).exists())
        return Answer(self._node, tuple(outcomes), unusable, self._printed(), absent)

    def _printed(self) -> bytes:
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._said, size - MOST_LOG))
                self._said = size
                return file.read()
        except OSError:  # nothing was started yet
            return b""
