"""What a recognizer is: settings that can be written down, and a function from audio to transcripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError


class RecognizerError(VoxauditError):
    """A recognizer that cannot be set up at all: the run stops and says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One recognised word with its start and end in seconds, and the engine's confidence if it has one."""

    text: str
    start: float
    end: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a recognizer returned for one utterance: its text exactly as it came."""

    text: str
    words: tuple[Word, ...] = ()
    confidence: float | None = None


Transcriber = Callable[[Sequence[Audio]], Sequence[Transcript]]
"""A loaded recognizer: a batch of audio in, one transcript each out, in the same order.

An answer must depend on its own audio only: not on the batch, nor on what was heard before
(`voxaudit recognizers check NAME` puts an engine to that test).
"""


@runtime_checkable
class Recognizer(Protocol):
    """A system under test, described by its settings.

    Implementations are frozen dataclasses: the fields are the settings a user writes in `audit.toml`.
    Making one is cheap and imports nothing heavy; `load` does the work, inside a worker process.
    """

    @property
    def rate(self) -> int | None:
        """The sample rate in Hz that `load()`'s function wants, or None for the recording's own."""

    @property
    def batch_size(self) -> int:
        """How many utterances one call takes. 1 unless the engine gains from more."""

    def fingerprint(self) -> dict[str, str]:
        """Everything that can change a transcript: engine, its version, model, settings. Never a secret."""

    def load(self) -> Transcriber:
        """Load the model and return the function that transcribes. Raises `RecognizerError` with a remedy."""
