"""One driver per run folder: a second one is told who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from voxaudit.errors import VoxauditError


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold the run folder for this process.

    The lock is the operating system's, so it ends with the process however it ends (kill -9 too);
    the file's content only says who holds it.
    """
    path = folder / "lock"
    try:
        # Not through a link that somebody laid there: what it leads to would be emptied.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        raise VoxauditError(f"{path}: {error.strerror or error}") from error
    try:
        if not _lock(descriptor):
            raise VoxauditError(
                f"{folder}: {_holder(path)} is at work on this run. Wait for it, or use another folder"
            )
        os.ftruncate(descriptor, 0)
        holder = {
            "process": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text())
        return f"process {holder['process']} on {holder['host']} (since {holder['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"
