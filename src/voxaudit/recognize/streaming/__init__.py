"""Recognizers that answer while they listen: audio in chunks, texts that may still change, and when each came.

An engine gives a `Session` per utterance; `listen` hands it the audio and keeps every message with its times, as part
of the transcript. So a streaming recognizer is one like any other: it is run, stored, resumed and scored as they are.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from voxaudit.audio import Audio, Samples
from voxaudit.recognize.base import Message, RefusedUtteranceError, Transcript, UtteranceError, Word
from voxaudit.recognize.settings import setting

REAL_TIME, FAST = "real_time", "fast"
PATIENCE = 60.0
"""Seconds without a message, once all audio was sent, after which a session is given up."""
LONGEST_TRACE = 100_000_000
"""Characters of all messages of an utterance: a server that says more is not listening."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a recognizer says of a stretch of speech: its text so far, or for good (`final`)."""

    text: str
    final: bool
    words: tuple[Word, ...] = ()


class Session(Protocol):
    """One utterance being heard. `over` is True once nothing more will be said."""

    over: bool
    local: bool
    """True where all work is done within `send` and `end`: then waiting for the speaker can be skipped."""

    def send(self, samples: Samples) -> None:
        """Hand over the next chunk."""

    def end(self) -> None:
        """Say that no audio follows."""

    def receive(self, seconds: float) -> Said | None:
        """Return what is said next, waiting at most so long; None where nothing is."""


@dataclass
class LocalSession:
    """What sessions of engines in this process share: what they say waits until it is asked for."""

    over: bool = False
    local: bool = True
    waiting: deque[Said] = field(default_factory=deque)

    def receive(self, seconds: float) -> Said | None:
        """Return what was said and not yet asked for."""
        return self.waiting.popleft() if self.waiting else None


def chunk_setting() -> Any:
    """Return the setting of how much audio is handed over at a time."""
    return setting(0.1, help="seconds of audio handed over at a time", at_least=0.01)


def pace_setting(usual: str = FAST) -> Any:
    """Return the setting of how fast audio is handed over."""
    text = "real_time, or fast: of an engine on this machine, waiting for the speaker is skipped on the clock"
    return setting(usual, help=text, choices=(REAL_TIME, FAST))


@dataclass
class _Clock:
    """Seconds since the speaker began, those included that were skipped.

    With `busy`, work counts as its CPU time where that is less than the time it took: other programs that keep the
    machine busy do not make an engine slower.
    """

    busy: bool
    start: tuple[float, float] = field(default_factory=lambda: (time.perf_counter(), time.process_time()))
    skipped: float = 0.0

    def now(self) -> float:
        passed, worked = time.perf_counter() - self.start[0], time.process_time() - self.start[1]
        return (min(passed, worked) if self.busy else passed) + self.skipped


def listen(session: Session, audio: Audio, *, chunk: float, pace: str) -> Transcript:
    """Hand a recording over in chunks, each when its last sample was spoken, and return all that was said.

    At the pace `fast` a session in this process gets the next chunk at once and the clock is put forward to where it
    would have been: times are those of real time on this machine when it does nothing else, without the waiting. A
    session elsewhere gets everything as fast as it takes it; its times then say nothing about real time (`sent_s` is
    above `received_s`).
    """
    size = max(1, round(chunk * audio.rate))
    skips = session.local and pace == FAST
    clock, sent, messages, said = _Clock(skips), 0.0, list[Message](), list[Said]()
    length = 0

    def note(one: Said) -> None:
        nonlocal length
        length += len(one.text) + 100  # what an empty one takes
        if length > LONGEST_TRACE:
            raise RefusedUtteranceError(f"it said more than {LONGEST_TRACE:,} characters on the way")
        last = messages[-1] if messages else Message(0.0, 0.0, "", True)
        changed = (one.text, one.final) != (last.text, last.final)
        # Silence is said again and again, and so is a text that stays as it was.
        if changed and (one.text or (last.text and not last.final)):
            messages.append(Message(round(sent, 3), round(clock.now(), 4), one.text, one.final))
        if one.final and one.text:
            said.append(one)

    def take(until: float) -> None:
        while (one := session.receive(max(until - clock.now(), 0.0))) is not None:
            note(one)

    for first in range(0, len(audio.samples), size):
        piece = audio.samples[first : first + size]
        due = (first + len(piece)) / audio.rate
        if pace == REAL_TIME:
            take(due)
            time.sleep(max(due - clock.now(), 0.0))
        elif skips:
            clock.skipped += max(due - clock.now(), 0.0)
        session.send(piece)
        sent = due
        take(0.0)
    session.end()
    take(0.0)
    while not session.over:
        one = session.receive(PATIENCE)
        if one is not None:
            note(one)
        elif not session.over:
            raise UtteranceError(f"no message within {PATIENCE:g} s of the end of the audio")
    take(0.0)
    text = " ".join(one.text for one in said)
    return Transcript(text, tuple(word for one in said for word in one.words), None, tuple(messages))


@dataclass(frozen=True)
class Listener:
    """A loaded recognizer that listens: a session for each utterance, all heard at one pace."""

    session: Callable[[], Session]
    chunk: float
    pace: str

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        """Return the transcripts of a batch, one after the other."""
        return [listen(self.session(), audio, chunk=self.chunk, pace=self.pace) for audio in batch]
