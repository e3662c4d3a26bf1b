"""What disfluent speech is to a corpus: what is meant, what can be heard, and the events between the two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from voxaudit.registry import unknown

EVENTS = (
    "block",
    "prolongation",
    "sound_repetition",
    "word_repetition",
    "phrase_repetition",
    "interjection",
    "broken_word",
    "fragment",
    "revision",
)
"""Kinds of events. Revisions, fragments and fillers are no stuttering by themselves: everybody has them."""
SURFACE, EVENT_LIST, CODED = "surface", "events", "coded"
"""Columns of a corpus of disfluent speech beside its text, which is what is meant."""
_NONE = "none"


@dataclass(frozen=True)
class Event:
    """One disfluency and, for repetitions, how often something is said again."""

    kind: str
    iterations: int = 1


@dataclass(frozen=True)
class Said:
    """An utterance: the words that are meant, the words and pieces that can be heard, and the events."""

    intended: str
    surface: str
    events: tuple[Event, ...] = ()


def written_events(events: Iterable[Event]) -> str:
    """Return events as a column of a corpus holds them.

    >>> written_events([Event("sound_repetition", 2), Event("block")])
    'sound_repetition:2 block:1'
    >>> written_events([])
    'none'
    """
    return " ".join(f"{event.kind}:{event.iterations}" for event in events) or _NONE


def read_events(text: str | None) -> list[Event] | None:
    """Return the events of a column's value; None where it is not known whether there are any.

    A kind that there is not raises one line: without it, an utterance would count as fluent.

    >>> read_events("sound_repetition:2")
    [Event(kind='sound_repetition', iterations=2)]
    >>> read_events("none")
    []
    """
    if text is None or not text.strip():
        return None
    if text.strip() == _NONE:
        return []
    parts = [part.partition(":") for part in text.split()]
    for kind, _, _ in parts:
        if kind not in EVENTS:
            raise unknown(f"column `{EVENT_LIST}`: no kind of event", kind, (*EVENTS, _NONE))
    return [Event(kind, int(count) if count.isdecimal() else 1) for kind, _, count in parts]
