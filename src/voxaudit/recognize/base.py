"""What a recognizer is: settings that can be written down, and a function from audio to transcripts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, one_line

LONGEST_TEXT = 100_000
"""More characters than this are no transcript of an utterance but a recognizer that went wrong."""


class RecognizerError(VoxauditError):
    """A recognizer that cannot be set up at all: the run stops and says why."""


class MissingModelError(RecognizerError):
    """A model that is not on this machine; `model` is what `voxaudit models fetch` calls it."""

    def __init__(self, message: str, model: str) -> None:
        super().__init__(f"{message} Fetch it with: voxaudit models fetch {model}")
        self.model = model

    def __reduce__(self) -> tuple[Any, ...]:
        return RecognizerError, (str(self),)


class UtteranceError(VoxauditError):
    """One utterance that got no usable answer: it costs its own trial, not the run."""

    again = True
    """Whether hearing it once more could help."""


class RefusedUtteranceError(UtteranceError):
    """An utterance that would be refused again: it is not sent, and perhaps paid for, once more."""

    again = False


@dataclass(frozen=True)
class Word:
    """One recognized word with its start and end in seconds, and the engine's confidence if it has one."""

    text: str
    start: float
    end: float
    confidence: float | None = None


@dataclass(frozen=True)
class Message:
    """What a recognizer said while it listened: a stretch of text, `final` where it will not change any more.

    `sent_s` are the seconds of audio that it had been given by then, `received_s` those on the clock since the speaker
    began. A text that is not final replaces the one before it; after a final one the next stretch begins.
    """

    sent_s: float
    received_s: float
    text: str
    final: bool


@dataclass(frozen=True)
class Transcript:
    """What a recognizer returned for one utterance: its text exactly as it came, and what it said on the way."""

    text: str
    words: tuple[Word, ...] = ()
    confidence: float | None = None
    messages: tuple[Message, ...] = ()


Transcriber = Callable[[Sequence[Audio]], Sequence[Transcript | UtteranceError]]
"""A loaded recognizer: a batch of audio in, one transcript each out, in the same order.

An answer must depend on its own audio only: not on the batch, nor on what was heard before
(`voxaudit recognizers check NAME` puts an engine to that test). Where only one utterance of a batch
failed, an `UtteranceError` may stand in its place. A recognizer that answers one utterance before the others of its
batch may have a method `each` that yields (place in the batch, answer) as they come.
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


@runtime_checkable
class AnswersById(Protocol):
    """A recognizer that needs no audio: it knows its answers by the utterance's id (transcripts in a file)."""

    @property
    def source(self) -> str:
        """Where the answers come from, to name it when one is missing."""

    def lookup(self, ids: Sequence[str]) -> dict[str, Transcript]:
        """Return the transcripts of those `ids` that have one."""


def as_transcripts(answers: object, count: int) -> list[Transcript]:
    """Return what a recognizer answered to `count` utterances as transcripts; raise `UtteranceError` if wrong."""
    return [as_transcript(answer) for answer in counted(answers, count)]


def counted(answers: object, count: int) -> Sequence[object]:
    """Return the answers to `count` utterances as they are; raise `UtteranceError` if they are not that many."""
    if not isinstance(answers, list | tuple):
        raise UtteranceError(f"the recognizer returned {_kind(answers)} instead of a list of {count} answers")
    if len(answers) != count:
        raise UtteranceError(f"the recognizer returned {len(answers)} answers to {count} utterances")
    return answers


def as_transcript(answer: object) -> Transcript:
    """Return one answer (text, a `Transcript`, or a mapping with `text`, `words`, `confidence`) as a transcript.

    What cannot be stored or scored (None, bytes, endless text, NUL characters, lone surrogates, times or
    confidences that are no finite numbers) raises `UtteranceError`; an exception in place of an answer is raised.
    """
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Transcript):
        return Transcript(
            _text(answer.text),
            _words(answer.words),
            _confidence(answer.confidence),
            tuple(
                Message(
                    _number(one.sent_s, "the seconds sent"),
                    _number(one.received_s, "the time of a message"),
                    _text(one.text),
                    bool(one.final),
                )
                for one in answer.messages
            ),
        )
    if isinstance(answer, str):
        return Transcript(_text(answer))
    if isinstance(answer, Mapping):
        if "text" not in answer:
            raise UtteranceError("the recognizer returned a mapping without 'text'")
        words, confidence = answer.get("words"), answer.get("confidence")
        return Transcript(
            _text(answer["text"]), _words(() if words is None else words), _confidence(confidence)
        )
    raise UtteranceError(f"the recognizer returned {_kind(answer)} instead of text")


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise UtteranceError(f"the recognizer returned {_kind(text)} instead of text")
    if len(text) > LONGEST_TEXT:
        raise UtteranceError(
            f"the recognizer returned {len(text):,} characters; no transcript is longer than {LONGEST_TEXT:,}"
        )
    if "\0" in text:
        raise UtteranceError("the recognizer's text has a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UtteranceError(
            f"the recognizer's text has a lone surrogate (character {error.start + 1}): it was decoded wrongly"
        ) from error
    return str(text)


def _words(words: Any) -> tuple[Word, ...]:
    if not isinstance(words, list | tuple):
        raise UtteranceError(f"the recognizer returned {_kind(words)} instead of a list of words")
    return tuple(_word(word) for word in words)


def _word(word: Any) -> Word:
    if isinstance(word, Mapping):
        spelling = word.get("text", word.get("word"))
        word = Word(spelling, word.get("start"), word.get("end"), word.get("confidence"))  # type: ignore[arg-type]
    if not isinstance(word, Word):
        raise UtteranceError(f"the recognizer returned {_kind(word)} in the list of words")
    start, end = _number(word.start, "a word's start"), _number(word.end, "a word's end")
    if start > end:
        raise UtteranceError(f"the recognizer's word '{one_line(word.text, 40)}' ends before it starts")
    return Word(_text(word.text), start, end, _confidence(word.confidence))


def _confidence(value: Any) -> float | None:
    return None if value is None else _number(value, "the confidence")


def _number(value: Any, what: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | str | None) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UtteranceError(f"the recognizer returned {one_line(repr(value), 40)} as {what}")
    return number
