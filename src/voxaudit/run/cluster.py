"""The Ray cluster a run is heard on: reached, looked at and left again, without Ray's own talk on our output."""

from __future__ import annotations

import _thread
import contextlib
import logging
import os
import re
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from voxaudit.errors import VoxauditError, one_line
from voxaudit.tables import appended

CONNECT_SECONDS = 5.0
"""How long a first word may take of whoever listens at an address."""

SILENT_SECONDS, PATIENT_SECONDS = 10.0, 60.0
"""How long Ray may take to connect before that is said, and before it is given up."""

_HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How every gRPC connection begins, Ray's too."""

_HERE = ("auto", "local")
"""Addresses that Ray resolves itself: the cluster on this machine, and a new one of our own."""


@dataclass(frozen=True)
class Cluster:
    """A connection to Ray. A replica takes `cpus` and `gpus`; `replicas` is how many, None for as many as fit."""

    ray: Any
    cpus: float
    gpus: float
    replicas: int | None

    def capacity(self) -> int:
        """Return how many replicas to have: as asked, or as many as the nodes that are alive can hold."""
        if self.replicas is not None:
            return self.replicas
        return sum(self._fit(node["Resources"]) for node in self.ray.nodes() if node["Alive"])

    def require_room(self) -> None:
        """Raise one line if no node could hold even one replica."""
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if not any(self._fit(node) for node in nodes):
            have = "; ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
            raise VoxauditError(
                f"no node of the Ray cluster has room for a replica of {self.cpus:g} CPUs and {self.gpus:g} GPUs"
                f" (nodes: {have or 'none'}). Lower replica_cpus or replica_gpus, or add a node"
            )

    def _fit(self, resources: dict[str, float]) -> int:
        wanted = {"CPU": self.cpus, "GPU": self.gpus}
        return int(min(resources.get(kind, 0.0) / count for kind, count in wanted.items() if count))


@contextlib.contextmanager
def connect(
    address: str | None, log: Path, *, cpus: float, gpus: float, replicas: int | None
) -> Iterator[Cluster]:
    """Connect to Ray for as long as the context lasts.

    `address` is `auto` (the cluster on this machine), `host:port`, `ray://host:port`, or None: the address in
    $RAY_ADDRESS, else a cluster on this machine, else one of our own. A connection that the program already has is used
    and left open. What Ray says about lost workers and nodes goes to `log`.
    """
    if cpus < 0 or gpus < 0 or not (cpus or gpus):
        raise VoxauditError(
            f"a replica needs CPUs or GPUs: replica_cpus {cpus:g} and replica_gpus {gpus:g} cannot be used"
        )
    ray = import_ray()
    ours = not ray.is_initialized()
    # Ray prints its reports on standard output, where a command's own output must stand alone.
    stream = _Sorted(sys.stdout, log)
    with contextlib.redirect_stdout(stream):
        if ours:
            _initialize(ray, address)
        try:
            cluster = Cluster(ray, cpus, gpus, replicas)
            cluster.require_room()
            yield cluster
        finally:
            if ours:
                stream.all_is_theirs = True
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ray.shutdown()


def import_ray() -> Any:
    """Return Ray, set to say nothing by itself; one line where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault(
        "RAY_worker_niceness", "0"
    )  # of a cluster of our own: as local processes have it, not 15
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # its future default; else it warns
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("ray")
    except ImportError as error:
        raise VoxauditError(
            f"the executor 'ray' needs Ray ({one_line(error)}): pip install 'voxaudit[ray]'"
        ) from error


def _initialize(ray: Any, address: str | None) -> None:
    wanted = address or os.environ.get("RAY_ADDRESS") or None
    if wanted is not None and wanted not in _HERE:
        _knock(wanted)
    options: dict[str, Any] = {"address": wanted, "namespace": f"voxaudit-{uuid4().hex}"}
    if wanted is None or not wanted.startswith("ray://"):
        options |= {"include_dashboard": False} if wanted in (None, "local") else {}
        options |= {"log_to_driver": False, "logging_level": logging.CRITICAL}
        options["job_config"] = import_module("ray.job_config").JobConfig()
        options["job_config"]._py_driver_sys_path = _Importable()
    before = logging.root.manager.disable
    try:
        with tempfile.TemporaryFile() as said, _standard_error_to(said) as screen, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.disable(logging.CRITICAL)
            try:
                with _patience(wanted or "this machine", screen):
                    ray.init(**options)
            except Exception as error:
                said.seek(0)
                if b"AuthToken" in said.read():
                    raise ConnectionError("it asks for a token: set RAY_AUTH_MODE=token") from error
                raise
    except ImportError as error:  # the client of ray:// needs more than Ray itself
        raise VoxauditError(f"{wanted}: {one_line(error)}: pip install 'voxaudit[ray]'") from error
    except Exception as error:
        place = wanted or "this machine"
        raise VoxauditError(f"cannot use the Ray cluster at {place} ({one_line(error, 200)})") from error
    finally:
        logging.disable(before)


class _Importable(list[str]):
    """Where Ray's workers look for modules first: of the places that it adds, those where this process looks, too.

    It would add the folder that the driver works in, and a corpus that was downloaded may hold a `json.py`.
    """

    def extend(self, places: Iterable[str]) -> None:
        super().extend(place for place in places if place in sys.path)


@contextlib.contextmanager
def _patience(place: str, screen: int) -> Iterator[None]:
    """Say on `screen` (a file descriptor) that what is done here takes long, and give it up in the end.

    Where something speaks its protocol and is no head, such as a node's own port, Ray tries for 20 s to minutes.
    """
    over, late = threading.Event(), threading.Event()

    def watch() -> None:
        if over.wait(SILENT_SECONDS):
            return
        limit = f"given up after {PATIENT_SECONDS:g} s"
        os.write(screen, f"voxaudit: still connecting to the Ray cluster at {place} ({limit})\n".encode())
        if not over.wait(PATIENT_SECONDS - SILENT_SECONDS) and ours:
            late.set()
            _thread.interrupt_main()  # as Ctrl-C does: Ray returns from its native part for it

    ours = threading.current_thread() is threading.main_thread()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except (KeyboardInterrupt, ConnectionError) as error:
        if isinstance(error, ConnectionError) or late.is_set():  # Ray gave up first, or was interrupted
            why = f"no answer in {PATIENT_SECONDS:g} s" if late.is_set() else str(error)
            raise ConnectionError(f"{why}; is this the port of its head?") from None
        raise
    finally:
        over.set()
        watcher.join()


@contextlib.contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[int]:
    """Send file descriptor 2 elsewhere: Ray's native part writes there a line for every second it waits.

    Yields a descriptor of where it went before.
    """
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield kept
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _knock(address: str) -> None:
    """Raise one line where nobody listens: Ray itself would try for a minute and fill the screen."""
    parts = re.fullmatch(r"(?:ray://)?(\[[^]]+\]|[^:/]+):(\d+)", address)
    if parts is None:
        raise VoxauditError(
            f"'{one_line(address, 80)}' is not the address of a Ray cluster: use auto, host:port or ray://host:port"
        )
    try:
        place = (parts[1].strip("[]"), int(parts[2]))
        with socket.create_connection(place, timeout=CONNECT_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                connection.sendall(_HTTP2_GREETING)
                if connection.recv(4)[3:] != b"\x04":  # the type of a frame with settings, HTTP/2's first
                    raise OSError("what listens there is something else")
    except (OSError, OverflowError) as error:
        raise VoxauditError(
            f"no Ray cluster at {address} ({one_line(error)}). Start one with `ray start --head`,"
            " or name another",
            see=("ray_address",),
        ) from error


class _Sorted:
    """A stream that passes everything on, except what Ray's own thread says: that goes to `log`."""

    def __init__(self, stream: IO[str], log: Path) -> None:
        self._stream = stream
        self._log = log
        self.all_is_theirs = False

    def write(self, text: str) -> int:
        if not self.all_is_theirs and threading.current_thread().name != "ray_listen_error_messages":
            return self._stream.write(text)
        with contextlib.suppress(OSError, VoxauditError), appended(self._log) as file:
            file.write(text.encode("utf-8", "replace"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
