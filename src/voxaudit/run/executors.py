"""Where trials are heard: by processes on this machine, or by replicas on a Ray cluster. Both are used alike."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from voxaudit.options import RunOptions
from voxaudit.run.local import Pool
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job


class Hears(Protocol):
    """Warm recognizers that hear trials."""

    def hear(self, trials: Iterator[Trial]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of trials as they come, every trial exactly once."""


MakePool = Callable[[Job, RunOptions, Path], AbstractContextManager[Hears]]
"""Makes the pool of one recognizer, given how patient to be and where its output goes."""


@contextlib.contextmanager
def open_executor(options: RunOptions, log: Path) -> Iterator[MakePool]:
    """Open the executor that is asked for: what is yielded makes a pool for each recognizer of a run.

    On Ray, `workers` is the number of replicas (None: as many as the cluster holds); what Ray itself says goes to
    `log`.
    """
    if options.executor == "local":
        yield Pool
        return
    from voxaudit.run.cluster import connect
    from voxaudit.run.ray_pool import RayPool

    with connect(
        options.ray_address,
        log,
        cpus=options.replica_cpus,
        gpus=options.replica_gpus,
        replicas=options.workers,
    ) as cluster:
        yield lambda job, options, log: RayPool(job, options, log, cluster)
