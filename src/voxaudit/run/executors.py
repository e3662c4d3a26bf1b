"""Where trials are heard: by processes on this machine, or by replicas on a Ray cluster. Both are used alike."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest
from voxaudit.run.local import Limits, Pool
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job

EXECUTORS = ("local", "ray")


class Hears(Protocol):
    """Warm recognizers that hear trials."""

    def hear(self, trials: Iterator[Trial]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of trials as they come, every trial exactly once."""


MakePool = Callable[[Job, Limits, Path], AbstractContextManager[Hears]]
"""Makes the pool of one recognizer, given how patient to be and where its output goes."""


@contextlib.contextmanager
def open_executor(
    name: str,
    log: Path,
    *,
    workers: int | None = None,
    address: str | None = None,
    replica_cpus: float = 1.0,
    replica_gpus: float = 0.0,
) -> Iterator[MakePool]:
    """Open an executor: what is yielded makes a pool for each recognizer of a run.

    For `ray`, `workers` is the number of replicas (None: as many as the cluster holds), `address` the cluster's and
    `replica_cpus`, `replica_gpus` what each replica takes of its node; what Ray itself says goes to `log`.
    """
    if name == "local":
        yield Pool
    elif name == "ray":
        from voxaudit.run.cluster import connect
        from voxaudit.run.ray_pool import RayPool

        with connect(address, log, cpus=replica_cpus, gpus=replica_gpus, replicas=workers) as cluster:
            yield lambda job, limits, log: RayPool(job, limits, log, cluster)
    else:
        raise VoxauditError(
            f"Unknown executor '{name}'.{suggest(name, list(EXECUTORS))} Available: {', '.join(EXECUTORS)}"
        )
