"""The Ray executor: replicas of a recognizer on the nodes of a cluster, fed in chunks, replaced when lost."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeVar

from voxaudit import __version__
from voxaudit.errors import one_line
from voxaudit.files import url_of
from voxaudit.options import RunOptions
from voxaudit.process import THREADS, module_path
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.backlog import CHUNK_SECONDS, Attempt, Backlog
from voxaudit.run.budget import is_remote
from voxaudit.run.cluster import Cluster
from voxaudit.run.local import LOAD_TIMEOUT, Pool
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job
from voxaudit.tables import appended

CHUNKS_AHEAD = 2
"""Chunks that a replica has at most: one it hears, one that waits there so that it never idles."""

CHUNKS_A_SECOND = 200
"""Chunks that the driver sends at most: one costs it about a millisecond of Ray, whatever is in it."""

LOSSES = 3
"""A trial that was by itself on so many replicas when they were lost is given up."""

LOSSES_WHILE_LOADING = 3
SILENCE = 30.0
"""After so many seconds without an answer a replica is asked whether it is alive; it has twice as long to say so."""

LOOK_AROUND = 2.0
"""Seconds between looks at how many replicas the cluster can hold: nodes come and go."""


@dataclass(eq=False)
class _Replica:
    handle: Any
    loading: Any  # the answer to `load` that is awaited, None once it came
    started: float
    pending: deque[tuple[Any, list[Attempt]]] = field(default_factory=deque)
    heard_from: float = 0.0
    question: Any = None
    process: int = 0  # known once it has loaded

    @property
    def awaited(self) -> Any:
        """The next answer of this replica: it answers in order."""
        return self.loading if self.loading is not None else self.pending[0][0] if self.pending else None


class RayPool:
    """Warm replicas of one recognizer on a cluster; used as the local pool is."""

    def __init__(self, job: Job, options: RunOptions, log: Path, cluster: Cluster) -> None:
        self._ray = cluster.ray
        self._cluster = cluster
        self._options = options
        self._log = log
        paid = is_remote(job.recognizer)
        self._ahead = 1 if paid else CHUNKS_AHEAD
        self._backlog = Backlog(max(1, job.recognizer.batch_size), single=paid)
        self._job = self._ray.put(pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL))
        self._actor = self._ray.remote(
            num_cpus=cluster.cpus, num_gpus=cluster.gpus, max_restarts=0, concurrency_groups={AT_ANY_TIME: 1}
        )(Replica)
        self._replicas: list[_Replica] = []
        self._losses_while_loading = 0
        self._capacity = (0, -LOOK_AROUND)
        self._nobody_since = time.monotonic()
        self._hopeless: RecognizerError | None = None  # raised once what was heard so far is handed over

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def hear(self, trials: Iterator[Trial]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of trials as they come, every trial exactly once.

        A replica that is lost (with its node, for want of memory) is replaced; what it was at is heard again one by
        one. `RecognizerError` means that no trial can be heard at all.
        """
        self._backlog.draw_from(trials)
        while True:
            self._feed()
            if self._backlog.empty and not any(replica.pending for replica in self._replicas):
                return
            if outcomes := self._collect():
                yield outcomes
            if self._hopeless is not None:
                raise self._hopeless

    def _feed(self) -> None:
        seconds = chunk_seconds(len(self._replicas))
        for ahead in range(self._ahead):
            for replica in self._replicas:
                if replica.loading is None and len(replica.pending) <= ahead:
                    if not (chunk := self._backlog.next_chunk(seconds)):
                        return
                    answer = replica.handle.hear.remote([attempt.trial for attempt in chunk])
                    if not replica.pending:
                        replica.heard_from = time.monotonic()
                    replica.pending.append((answer, chunk))
        while len(self._replicas) < self._room():
            loading = sum(replica.loading is not None for replica in self._replicas)
            if self._backlog.look_ahead(loading + 1) <= loading:
                return
            self._start()

    def _room(self) -> int:
        count, looked = self._capacity
        now = time.monotonic()
        if now - looked >= LOOK_AROUND:
            count = self._cluster.capacity()
            self._capacity = (count, now)
        return count

    def _start(self) -> None:
        threads = max(1, int(self._cluster.cpus))
        options = replace(self._options, workers=1)
        handle = self._actor.remote(self._job, options, threads, module_path(), versions(), str(self._log))
        now = time.monotonic()
        self._replicas.append(_Replica(handle, handle.load.remote(), now, heard_from=now))

    def _collect(self) -> list[Outcome]:
        """Wait for something to happen, then handle all that has."""
        outcomes: list[Outcome] = []
        awaited = {replica.awaited: replica for replica in self._replicas if replica.awaited is not None}
        if awaited:
            refs = list(awaited)
            ready, _ = self._ray.wait(refs, num_returns=1, timeout=1.0)
            if ready and len(refs) > 1:
                ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
            for ref in ready:
                self._take(awaited[ref], ref, outcomes)
        else:
            time.sleep(0.1)  # no node has room at the moment
        self._look_after(outcomes)
        return outcomes

    def _take(self, replica: _Replica, ref: Any, outcomes: list[Outcome]) -> None:
        errors = self._ray.exceptions
        try:
            answer: Answer = self._ray.get(ref)
        except errors.RayTaskError as error:  # not the recognizer's fault, and it would happen again
            self._hopeless = RecognizerError(f"a replica failed ({_cause(error)})")
            return
        except errors.RayError as error:
            self._lost(replica, _why(error), outcomes)
            return
        replica.heard_from, replica.question = time.monotonic(), None
        if answer.printed:
            with appended(self._log) as file:
                file.write(answer.printed)
        if replica.loading is not None:
            replica.loading, replica.process = None, answer.process
            if answer.unusable is None:
                self._losses_while_loading = 0
        elif self._is_wrong(replica, answer):
            self._lost(replica, "it answered for another trial or another process", outcomes)
        else:
            self._answered(replica.pending.popleft()[1], answer, outcomes)
        if answer.unusable is not None:
            self._hopeless = RecognizerError(answer.unusable)

    def _is_wrong(self, replica: _Replica, answer: Answer) -> bool:
        """Say whether an answer is not the replica's own to what it was asked; one that gives up may say less."""
        asked = [attempt.trial for attempt in replica.pending[0][1]]
        said = [outcome.trial for outcome in answer.outcomes]
        whole = len(said) == len(asked) and set(said) == set(asked)
        return answer.process != replica.process or not (
            whole or (answer.unusable and set(said) <= set(asked))
        )

    def _answered(self, chunk: list[Attempt], answer: Answer, outcomes: list[Outcome]) -> None:
        for path in answer.absent:
            if Path(path).exists():
                self._hopeless = RecognizerError(
                    f"node {answer.node} has no {path}: put the recordings where all nodes can read them,"
                    " or name them by URL (s3://...)"
                )
                return  # what else it heard is heard again by a run that can hear all
        outcomes += answer.outcomes
        for outcome in answer.outcomes:
            self._backlog.measure(outcome.seconds)

    def _look_after(self, outcomes: list[Outcome]) -> None:
        """Notice replicas that fell silent, and a cluster that has no room for any."""
        now = time.monotonic()
        for replica in list(self._replicas):
            if not replica.pending or now - replica.heard_from < SILENCE:
                continue
            if replica.question is None:
                replica.question = replica.handle.alive.remote()
            elif self._ray.wait([replica.question], timeout=0)[
                0
            ]:  # an error is an answer too: `_take` sees it
                replica.heard_from, replica.question = now, None
            elif now - replica.heard_from > 3 * SILENCE:
                self._lost(replica, f"no sign of life for {3 * SILENCE:g} s", outcomes)
        if any(replica.loading is None for replica in self._replicas):
            self._nobody_since = now
        elif now - self._nobody_since > LOAD_TIMEOUT + SILENCE and self._hopeless is None:
            self._hopeless = RecognizerError(
                f"no replica could be started within {LOAD_TIMEOUT:g} s: the Ray cluster has no room"
                f" for {self._cluster.cpus:g} CPUs and {self._cluster.gpus:g} GPUs"
            )

    def _lost(self, replica: _Replica, why: str, outcomes: list[Outcome]) -> None:
        """Replace a replica: the chunk it was at is to blame, or its node; what waited there goes back untouched."""
        self._replicas.remove(replica)
        self._capacity = (0, -LOOK_AROUND)
        with contextlib.suppress(Exception):
            self._ray.kill(replica.handle)
        if replica.loading is not None:
            self._losses_while_loading += 1
            if self._losses_while_loading >= LOSSES_WHILE_LOADING:
                self._hopeless = RecognizerError(f"replicas are lost while they load the model ({why})")
        chunks = [chunk for _, chunk in replica.pending]
        self._backlog.put_back(attempt for chunk in chunks[1:] for attempt in chunk)
        blamed = chunks[0] if chunks else []
        certain = len(blamed) == 1  # in a larger chunk nobody knows yet whose fault it was
        for attempt in blamed:
            if attempt.failures + certain >= LOSSES:
                reason = f"recognizer: lost with its replica {LOSSES} times ({why})"
                outcomes.append(Outcome(attempt.trial, None, failure=reason))
            else:
                self._backlog.try_again(attempt, failed=certain)

    def stop(self) -> None:
        """End all replicas."""
        with contextlib.suppress(Exception):  # a cluster that is gone has ended them itself
            closing = [replica.handle.close.remote() for replica in self._replicas]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=5.0)
            for replica in self._replicas:
                self._ray.kill(replica.handle)
        self._replicas.clear()


def chunk_seconds(replicas: int) -> float:
    """Return how much work a chunk has: more where so many replicas ask that the driver could not answer all in time.

    >>> chunk_seconds(8), chunk_seconds(512)
    (0.2, 2.56)
    """
    return max(CHUNK_SECONDS, replicas / CHUNKS_A_SECOND)


def _why(error: Exception) -> str:
    """Return Ray's reason for a loss in a few words: its own takes a screen."""
    text = str(error)
    if "node" in text and ("node has died" in text or "node died" in text or "marked dead" in text):
        return "its node died"
    if "memory" in text and "OOM" in text and "memory monitor" in text:
        return "out of memory on its node"
    return one_line(text.splitlines()[0] if text else type(error).__name__, 200).rstrip(".")


def _cause(error: Any) -> str:
    return one_line(getattr(error, "cause", None) or error, 300)


# A replica: one warm recognizer on a node of a Ray cluster. Only what the driver sends and gets is defined by it.
#
# It keeps a local pool of one worker process, so a recognizer that raises, hangs or crashes is treated on every node
# exactly as on the driver's own machine, and the replica itself outlives it.

MOST_LOG = 1 << 20
"""Bytes of what a recognizer printed that travel with one answer; the end is what tells."""

AT_ANY_TIME = "at_any_time"
"""Ray's group of methods that need not wait for `hear`."""

Method = TypeVar("Method", bound=Callable[..., object])


@dataclass(frozen=True)
class Answer:
    """What a replica says: outcomes, why it can never hear anything (if so), and what the recognizer printed.

    `absent` are recordings that do not exist on its node.
    """

    node: str
    process: int
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
                    os.getpid(),
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
        return Answer(self._node, os.getpid(), tuple(outcomes), unusable, self._printed(), absent)

    def _printed(self) -> bytes:
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._said, size - MOST_LOG))
                self._said = size
                return file.read()
        except OSError:  # nothing was started yet
            return b""
