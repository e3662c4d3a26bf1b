"""The unit of work: one utterance, under one scenario, heard by one recognizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from voxaudit.recognize.base import Transcript


@dataclass(frozen=True)
class Trial:
    """What a worker needs to hear one utterance; `key` is the trial's identity in the store and the cache."""

    utterance: str
    scenario: str
    audio: str
    start: float
    duration: float | None
    key: bytes

    @property
    def identity(self) -> tuple[str, str, bytes]:
        """What tells it from all other trials: equal recordings under two names have the same key."""
        return self.utterance, self.scenario, self.key


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: a transcript and its time in seconds, or one line that says why not."""

    trial: Trial
    transcript: Transcript | None
    seconds: float = 0.0
    failure: str | None = None

    @property
    def text(self) -> str | None:
        """What was heard; None where nothing could be."""
        return None if self.transcript is None else self.transcript.text


def trial_key(audio: str, start: float, duration: float | None, scenario: str, recognizer: str) -> bytes:
    """Return the 16-byte identity of a trial.

    It covers the recording's content hash and segment, the scenario's fingerprint and the recognizer's
    digest: equal keys mean that the same recognizer would hear the same samples.
    """
    parts = json.dumps([audio, start, duration, scenario, recognizer])
    return hashlib.sha256(parts.encode()).digest()[:16]


def recognizer_digest(fingerprint: Mapping[str, str]) -> str:
    """Return a digest of a recognizer's fingerprint."""
    return hashlib.sha256(json.dumps(dict(fingerprint), sort_keys=True).encode()).hexdigest()
