"""What an aligner is: settings that can be written down, and a function from audio and text to timings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError

if TYPE_CHECKING:
    from voxaudit.align.timings import Timings


class AlignmentError(VoxauditError):
    """A recording and a text that cannot be aligned: costs this utterance, not the corpus."""


@runtime_checkable
class Aligner(Protocol):
    """Finds out when each word of a known text is spoken.

    Implementations are frozen dataclasses whose fields are the settings. An answer depends on its own audio and
    text only, not on what was aligned before.
    """

    def fingerprint(self) -> dict[str, str]:
        """Everything that can change an alignment: engine, its version, model, settings."""

    def align(self, audio: Audio, text: str) -> Timings:
        """Return when the words of `text` are spoken; raise `AlignmentError` with one line where they are not."""
