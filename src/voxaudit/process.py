"""One way to start a Python process and to talk to it.

It finds the modules that this process finds, and none that lie in the folder it happens to work in: a corpus that was
downloaded may hold a `json.py`. A copy that a library made of the process (`fork`) ends instead of speaking in its
place, every message names the process that sent it, and whatever it started ends with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

if TYPE_CHECKING:
    from concurrent.futures import Future

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that say how many threads numerical libraries use."""

_MARK = "VOXAUDIT_CHILD"
"""Variable by which the descendants of a process are found again, wherever they moved."""

_PARENT_CHECKS = 0.2
"""Seconds between looks whether the parent is alive."""


class StrangerError(Exception):
    """A message that another process sent than the one that was asked."""


def module_path() -> list[str]:
    """Return where modules are searched, for another process: the working folder, if at all, comes last."""
    found = [path for path in sys.path if path]
    return found if len(found) == len(sys.path) else [*found, str(Path.cwd())]


def python_command(*arguments: str, program: str | None = None) -> list[str]:
    """Return the command that starts this Python without looking for modules in the working folder.

    `program` is Python code that finds the modules which this process finds; without it, `arguments` say what is run.

    >>> python_command("-m", "pip", "download")[1:]
    ['-P', '-m', 'pip', 'download']
    """
    if program is None:
        return [sys.executable, "-P", *arguments]
    path = f"import sys; sys.path[:] = {module_path()!a}; "
    return [sys.executable, "-P", "-c", path + program, *arguments]


def marked() -> tuple[str, dict[str, str]]:
    """Return a new mark, and the environment that gives it to a process and all its descendants."""
    mark = f"{os.environ.get(_MARK, '')}/{secrets.token_hex(8)}"
    return mark, {**os.environ, _MARK: mark}


def end_marked(mark: str) -> None:
    """Kill every process with a mark, except this one: those that left their group or lost their parent, too.

    It needs `/proc`, as Linux has it; elsewhere it does nothing.
    """
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(10):  # what was started while we looked is seen the next time
        found = False
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it ended, or is somebody else's
                process = int(path.parent.name)
                if process != os.getpid() and any(
                    entry.startswith(wanted) for entry in path.read_bytes().split(b"\0")
                ):
                    os.kill(process, signal.SIGKILL)
                    found = True
        if not found:
            return


def give_back_memory() -> None:
    """Return memory that is free again to the system, where the C library (glibc) would keep it for later.

    Worth a call between pieces of work that each need much of it, and nothing within one.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class Child:
    """A process of ours: `target` (`module:function`) is called there and talks through a `Channel`."""

    def __init__(
        self,
        target: str,
        environment: Mapping[str, str] | None = None,
        *,
        stderr: int | BinaryIO | None = None,
    ) -> None:
        module, _, name = target.partition(":")
        self._mark, marked_environment = marked()
        self._process = subprocess.Popen(
            python_command(program=f"from {module} import {name}; {name}()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**marked_environment, **(environment or {})},
            start_new_session=True,  # Ctrl-C reaches the driver only, which then ends its workers
        )

    def send(self, message: object) -> None:
        """Send a message. A process that is dead is noticed when its answer is awaited."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def receive(self) -> Any:
        """Return the next message; `StrangerError` where another process sent it, any other error where it died."""
        assert self._process.stdout is not None
        sender, message = pickle.load(self._process.stdout)
        if sender != self._process.pid:
            raise StrangerError("a copy that it made of its process (fork) answered in its place")
        return message

    def wait(self, seconds: float) -> None:
        """Give it some time to end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=seconds)

    def end(self) -> int:
        """End it and all that it started; return its exit code."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        code = self._process.wait()
        end_marked(self._mark)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return code


class Channel:
    """The way from a child to the process that started it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        # Libraries get an empty standard input and the log as their output: they cannot disturb the messages.
        self._requests = os.fdopen(os.dup(0), "rb")
        self._answers = os.fdopen(os.dup(1), "wb")
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.dup2(2, 1)
        os.close(empty)

    def receive(self) -> Any:
        """Return the next message; `EOFError` where there will be none."""
        self._only_for_its_owner()
        return pickle.load(self._requests)

    def send(self, message: object) -> None:
        """Send a message under the name of this process."""
        self._only_for_its_owner()
        pickle.dump((os.getpid(), message), self._answers, protocol=pickle.HIGHEST_PROTOCOL)
        self._answers.flush()

    def _only_for_its_owner(self) -> None:
        # However late a copy comes back, it can then cost no trial, neither its own nor the next one.
        if os.getpid() != self._owner:
            os.write(2, f"process {os.getpid()} is a copy of {self._owner} (fork): ended\n".encode())
            os._exit(1)


def serve(answer: Callable[[Channel], None]) -> NoReturn:
    """Answer the process that started this one until it closes the channel or is gone, then end."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt, EOFError):
        answer(Channel())
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)  # engines with threads of their own can hang in interpreter shutdown


def _end_with_parent(parent: int) -> None:
    # A driver that was killed cannot tell us: a recognizer that hangs must not outlive it.
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECKS)
    if _MARK in os.environ:
        end_marked(os.environ[_MARK])
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


# Processes that are asked one thing after another, and replaced when they die.


class DiedError(Exception):
    """A process that ended before it answered."""


class Helper:
    """A process that answers one question at a time; a new one takes its place should it die.

    `start` starts one, whose function calls `answering`; `setup` is sent to it first.
    """

    def __init__(self, start: Callable[[], Child], setup: object) -> None:
        self._start, self._setup = start, setup
        self._child: Child | None = None
        self._asked = 0
        self._over = False

    def ask(self, question: object) -> Any:
        """Return the answer to a question; `DiedError` where the process died over it."""
        if self._over:
            raise DiedError
        if self._child is None:
            self._child = self._start()
            self._child.send(self._setup)
        self._asked += 1
        self._child.send((self._asked, question))
        try:
            number, answer = self._child.receive()
        except Exception:  # end of file, half a message, or somebody else's
            number = answer = None
        if number != self._asked:
            self._end()
            raise DiedError
        return answer

    def stop(self) -> None:
        """End the process; nothing is answered any more."""
        self._over = True
        self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


@contextlib.contextmanager
def helpers(count: int, start: Callable[[], Child], setup: object) -> Iterator[Callable[..., Future[Any]]]:
    """Give a function that has work done by threads with a `Helper` each: `work(helper, *arguments)`.

    The processes end with the block, whatever they are at.
    """
    from concurrent.futures import ThreadPoolExecutor

    own, made = threading.local(), list[Helper]()

    def done(work: Callable[..., Any], *arguments: Any) -> Any:
        if not hasattr(own, "helper"):
            own.helper = Helper(start, setup)
            made.append(own.helper)
        return work(own.helper, *arguments)

    pool = ThreadPoolExecutor(count)
    try:
        yield lambda work, *arguments: pool.submit(done, work, *arguments)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for _ in range(2):  # once more when no thread can start another
            for helper in made:
                helper.stop()
            pool.shutdown()


def answering(make: Callable[[Any], Callable[[Any], Any]]) -> NoReturn:
    """Serve a `Helper`: `make` turns what it sends first into the function that answers."""

    def answer(driver: Channel) -> None:
        respond = make(driver.receive())
        while True:
            number, question = driver.receive()
            driver.send((number, respond(question)))

    serve(answer)
