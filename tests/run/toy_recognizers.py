"""Recognizers for the tests of the run: quick ones, and ones that misbehave in every way we could think of.

The "transcript" of a clip is its number of samples in words, so that every answer can be checked; a clip whose
length is listed in `bad` makes the recognizer misbehave, one in `each` in a way of its own.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from voxaudit.process import serve
from voxaudit.recognize.base import RecognizerError, Transcript
from voxaudit.run import worker
from voxaudit.run.trial import Trial

LEAKED: list[int] = []
OTHER = Trial("", "clean", "", 0.0, None, b"another")


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


def words_for(samples: int) -> str:
    return f"heard {samples} samples"


def forge():
    """Serve a driver by a copy that does not use the channel as it is meant to be used."""

    def answer(driver):
        if os.fork() == 0:
            pickle.dump((os.getpid(), "forged"), driver._answers)
            driver._answers.flush()
        time.sleep(3600)

    serve(answer)


@dataclass(frozen=True)
class Toy:
    behavior: str = "fine"
    bad: tuple[int, ...] = ()
    batch_size: int = 1
    rate: int | None = None
    pause: float = 0.0
    journal: str = ""
    version: int = 1
    only_once: str = ""
    each: Mapping[int, str] = field(default_factory=dict)

    def fingerprint(self):
        return {"engine": "toy", "version": str(self.version)}

    def load(self):
        if self.behavior == "cannot load":
            raise RuntimeError("the model file is missing")
        if self.behavior == "dies loading":
            os._exit(3)
        if self.behavior == "hangs loading":
            time.sleep(3600)
        if self.behavior == "forks loading" and os.fork():
            time.sleep(1.0)  # the copy is the first to say that it is ready
        if self.behavior == "prints":
            os.write(1, b"noise on standard output\n" * 10)
            print("more noise", flush=True)
            print("and on stderr", file=sys.stderr, flush=True)
            assert sys.stdin.read() == ""
        return self.transcribe

    def transcribe(self, batch):
        time.sleep(self.pause * len(batch))
        if self.behavior == "leaks files":
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            LEAKED.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(5))
        for clip in batch:
            if self.journal:
                with Path(self.journal).open("a") as file:
                    file.write(f"{len(clip.samples)}\n")
            if own := self.each.get(len(clip.samples)):
                return replace(self, behavior=own).misbehave()
            if len(clip.samples) in self.bad and self._still_bad():
                if not self.behavior.startswith("forks"):
                    return self.misbehave()
                if os.fork() == 0:
                    return [Transcript("from a copy")] * len(batch)
                if self.behavior == "forks":  # the copy is the first to answer
                    time.sleep(0.3)
        return [Transcript(words_for(len(clip.samples))) for clip in batch]

    def _still_bad(self):
        if not self.only_once:
            return True
        mark = Path(self.only_once)
        if mark.exists():
            return False
        mark.touch()
        return True

    def misbehave(self):
        if self.behavior == "answers for another":
            heard, elsewhere = worker._heard, replace(OTHER, utterance="another")
            worker._heard = lambda _, answer, seconds: heard(elsewhere, answer, seconds)
            return [Transcript("for another")]
        if self.behavior == "takes memory":
            return [bytearray(1 << 40)]
        if self.behavior == "recurses":
            return self.misbehave()
        if self.behavior == "odd name":
            raise FileNotFoundError("caf\udce9.wav: no such file")
        if self.behavior == "cannot say":
            raise MuteError
        if self.behavior == "refused":
            raise RecognizerError("the service refused the key")
        if self.behavior == "raises":
            raise ValueError("cannot\nhear this")
        if self.behavior == "exits":
            sys.exit("goodbye")
        if self.behavior == "dies":
            os._exit(7)
        if self.behavior == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.behavior == "kills its parent":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(3600)
        if self.behavior == "freezes its parent":
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(3600)
        if self.behavior == "hangs":
            time.sleep(3600)
        return {
            "none": [None],
            "bytes": [b"text"],
            "number": [3],
            "no list": None,
            "too few": [],
            "too many": [Transcript("a"), Transcript("b")],
            "megabyte": [Transcript("word " * 200_000)],
            "surrogate": [Transcript("bad \ud800 text")],
        }[self.behavior]


@dataclass(frozen=True)
class Polyglot:
    """Says which language it was told."""

    language: str = ""
    batch_size: int = 1
    rate: int | None = None

    def fingerprint(self):
        return {"engine": "polyglot", "language": self.language}

    def load(self):
        return lambda batch: [Transcript(f"heard {self.language or 'something'}") for _ in batch]
