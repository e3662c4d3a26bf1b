"""Child processes that die with this one, however it dies."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

# Sleeps until its standard input ends, which it does when the keeper goes, even by `kill -9`;
# then removes the folder and kills its own process group: every child, and itself.
_WATCH = 'read -r _; rm -rf -- "$1"; kill -9 0'


class Keeper:
    """Runs commands one at a time in a process group that ends with this process, and owns a temporary folder."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="voxaudit-"))
        self._watch: subprocess.Popen[bytes] | None = None
        if os.name == "posix":
            self._watch = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "voxaudit", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        self._finalizer = weakref.finalize(self, _end, self._watch, self.folder)

    def close(self) -> None:
        """End what is still running and remove the folder."""
        self._finalizer()

    def run(self, arguments: Sequence[str], most: int) -> tuple[int, bytes, bytes]:
        """Run a command to its end; return its exit code, its output and the end of its messages.

        Of the output `most` bytes are kept, and one more to show that there were too many: then it is killed.
        """
        group = {} if self._watch is None else {"process_group": self._watch.pid}
        with subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            **group,  # type: ignore[call-overload]
        ) as process:
            try:
                output, messages = _drain(process, most)
            except BaseException:
                process.kill()
                raise
            if len(output) > most:
                process.kill()
            return process.wait(), output, messages


def _drain(process: subprocess.Popen[bytes], most: int) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    output, messages = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map() and len(output) <= most:
            for key, _ in selector.select():
                data = os.read(key.fd, 65_536)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    output += data[: most + 1 - len(output)]
                else:
                    messages = (messages + data)[-4_096:]
    return bytes(output), bytes(messages)


def _end(watch: subprocess.Popen[bytes] | None, folder: Path) -> None:
    if watch is not None and watch.stdin is not None:
        with contextlib.suppress(OSError):
            watch.stdin.close()
        watch.wait()
    shutil.rmtree(folder, ignore_errors=True)
