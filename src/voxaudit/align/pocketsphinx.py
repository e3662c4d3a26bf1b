"""Forced alignment by PocketSphinx: the acoustic model and dictionary inside its package, 10 ms frames, English."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voxaudit.align.pronounce import dictionary_path, guess, spoken_words
from voxaudit.align.syllables import word_from_phones
from voxaudit.align.timings import AlignmentError, Phone, Timings, Word
from voxaudit.audio import Audio, content_hash, pcm16, resample
from voxaudit.errors import missing_extra, one_line

METHOD = 1
"""Raise when the same model and settings give other timings than before: kept ones are then not used."""

RATE = 16_000
FRAME = 0.01
SILENCE = 1e-4


@dataclass(frozen=True)
class PocketSphinxAligner:
    """PocketSphinx en-us: words, syllables and phones of a known English text, to 10 ms.

    `least_score` is the mean log likelihood per 10 ms frame below which the text is taken for another one than was
    spoken (matching text: about -10 to -20, in poor or short recordings down to -35; see docs/alignment.md).
    `snap` moves the start of words after a pause to where the energy rises, which the model sees 40 ms early.
    """

    extra: ClassVar[str] = "pocketsphinx"

    least_score: float = -40.0
    snap: bool = True
    hmm: str = ""
    dictionary: str = ""

    def fingerprint(self) -> dict[str, str]:
        """The package's version, the bytes of the acoustic model and dictionary, and the settings."""
        hmm, words = self._files()
        model = [content_hash(file) for file in sorted(hmm.rglob("*")) if file.is_file()]
        return {
            "engine": "pocketsphinx",
            "method": str(METHOD),
            "version": metadata.version("pocketsphinx"),
            "model": " ".join([*(digest[:12] for digest in model), content_hash(words)[:12]]),
            "least_score": f"{self.least_score:g}",
            "snap": str(self.snap),
        }

    def align(self, audio: Audio, text: str) -> Timings:
        """Return when the words of `text` are spoken; raise `AlignmentError` where they cannot be found."""
        wanted = spoken_words(text)
        if not wanted:
            raise AlignmentError("there is no word in the text to align")
        samples = resample(audio, RATE).samples
        if len(samples) == 0 or float(np.max(np.abs(samples))) < SILENCE:
            raise AlignmentError(
                f"the recording ({audio.duration:.3g} s) is silent: there is nothing to align"
            )
        hmm, words = self._files()
        with _decoder(str(hmm), str(words)) as decoder:
            keys = [[_entry(decoder, part, shown) for part in parts] for shown, parts in wanted]
            flat = [key for group in keys for key in group]
            if (found := _force(decoder, pcm16(samples).tobytes(), flat)) is None:
                raise AlignmentError(
                    f"the text ({len(flat)} words) does not fit the recording ({audio.duration:.3g} s):"
                    " it was not said, or is too long for it"
                )
        frames = sum(phone.duration for word in found for phone in word.phones)
        score = sum(word.score for word in found) / max(frames, 1)
        if score < self.least_score:
            raise AlignmentError(
                f"the text does not sound like the recording (score {score:.0f} per frame, at least"
                f" {self.least_score:g} is wanted): is it what was said?"
            )
        timings = Timings(tuple(_joined(wanted, found, audio.duration)), audio.duration)
        return snapped(timings, audio) if self.snap else timings

    def place(
        self, audio: Audio, words: Sequence[Sequence[str]]
    ) -> tuple[list[tuple[float, float]], float] | None:
        """Return when words given as phones are spoken (start and end in seconds) and the score per frame; None if not.

        For sounds that no dictionary has, such as the repeated beginning of a word.
        """
        hmm, dictionary = self._files()
        samples = resample(audio, RATE).samples
        with _decoder(str(hmm), str(dictionary)) as decoder:
            keys = []
            for phones in words:
                keys.append("said-" + "-".join(phones).lower())
                if decoder.lookup_word(keys[-1]) is None:
                    decoder.add_word(keys[-1], " ".join(phones), True)
            found = _force(decoder, pcm16(samples).tobytes(), keys)
        if found is None:
            return None
        frames = sum(phone.duration for word in found for phone in word.phones)
        spans = [
            (word.phones[0].start * FRAME, (word.phones[-1].start + word.phones[-1].duration) * FRAME)
            for word in found
        ]
        return spans, sum(word.score for word in found) / max(frames, 1)

    def _files(self) -> tuple[Path, Path]:
        spec = util.find_spec("pocketsphinx")
        inside = dictionary_path()
        if spec is None or inside is None:
            raise missing_extra("pocketsphinx", self.extra)
        hmm = Path(self.hmm) if self.hmm else inside.parent / "en-us"
        words = Path(self.dictionary) if self.dictionary else inside
        for name, path in (("hmm", hmm), ("dictionary", words)):
            if not path.exists():
                raise AlignmentError(f"aligner 'pocketsphinx': {name}: no such file or folder: {path}")
        return hmm, words


@dataclass(frozen=True)
class _Span:
    name: str
    start: int
    duration: int


@dataclass(frozen=True)
class _Found:
    score: int
    phones: tuple[_Span, ...]


@lru_cache(maxsize=4)
class _Kept:
    """One decoder per process and model: loading takes longer than aligning."""

    def __init__(self, hmm: str, words: str) -> None:
        self.lock = threading.Lock()
        self.settings = {"hmm": hmm, "dict": words}
        self.decoder: Any = None


@contextmanager
def _decoder(hmm: str, words: str) -> Iterator[Any]:
    import pocketsphinx

    kept = _Kept(hmm, words)
    with kept.lock:
        try:
            if kept.decoder is None:
                kept.decoder = pocketsphinx.Decoder(lm=None, samprate=RATE, loglevel="FATAL", **kept.settings)
            yield kept.decoder
        except (RuntimeError, ValueError) as error:
            kept.decoder = None  # a decoder that failed in the middle of an utterance refuses the next
            raise AlignmentError(f"pocketsphinx could not align this ({one_line(error, 200)})") from error


def _entry(decoder: Any, word: str, shown: str) -> str:
    """Return the dictionary's name for a word, after putting it there if it was missing."""
    if decoder.lookup_word(word) is not None:
        return word
    # A name of our own, so that no spelling can clash with the engine's marks for noises and alternatives.
    key = "oov-" + word.replace("'", "-q-")

    def look_up(other: str) -> list[str] | None:
        phones = decoder.lookup_word(other)
        return None if phones is None else list(phones.split())

    if decoder.lookup_word(key) is None:
        phones = guess(word, look_up)
        if not phones:
            raise AlignmentError(
                f"no pronunciation for '{one_line(shown, 40)}': English words can be aligned"
            )
        decoder.add_word(key, " ".join(phones), True)
    return key


def _force(decoder: Any, pcm: bytes, words: Sequence[str]) -> list[_Found] | None:
    decoder.set_align_text(" ".join(words))
    _hear(decoder, pcm)
    if decoder.hyp() is None:
        return None
    decoder.set_alignment()  # a second pass inside the words found
    _hear(decoder, pcm)
    alignment = decoder.get_alignment()
    if alignment is None:
        return None
    found = [
        _Found(word.score, tuple(_Span(phone.name, phone.start, phone.duration) for phone in word))
        for word in alignment.words()
        if word.name[0] not in "<[+"  # silence and noises
    ]
    return found if len(found) == len(words) else None


def _hear(decoder: Any, pcm: bytes) -> None:
    # Without this the cepstral mean of what was heard before would color the next answer.
    decoder.reinit_feat()
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()


def _joined(
    wanted: Sequence[tuple[str, list[str]]], found: Sequence[_Found], duration: float
) -> Iterator[Word]:
    at = 0
    for shown, parts in wanted:
        spans = [span for word in found[at : at + len(parts)] for span in word.phones]
        at += len(parts)
        yield word_from_phones(
            shown,
            [
                Phone(s.name, min(s.start * FRAME, duration), min((s.start + s.duration) * FRAME, duration))
                for s in spans
            ],
        )


# Move the start of words after a pause to where the energy rises.

PAUSE = 0.03
"""Seconds between two words from which the second is taken to come after a pause."""

REACH = 0.08
"""How far a start may move back, in seconds; forward it stays within its phone."""

BELOW_PEAK = 35.0
"""Speech is what is no more than this many dB below the word's own peak."""

ABOVE_FLOOR = 6.0
_HOP = 0.001
_WINDOW = 0.01


def snapped(timings: Timings, audio: Audio) -> Timings:
    """Return the timings with the start of words after a pause moved to where the energy crosses a threshold.

    Hidden Markov models see the onset after a pause some 40 ms early, since their features look ahead. Words that
    follow each other directly stay as they are, and so do starts where the background is too loud to tell. Ends
    stay too: speech fades, and moving them to a threshold brought them no nearer to it.
    """
    times, level = envelope(audio)
    if len(level) == 0:
        return timings
    floor = float(np.percentile(level, 10)) + ABOVE_FLOOR
    words = list(timings.words)
    for i, word in enumerate(words):
        within = level[(times >= word.start) & (times <= word.end)]
        if len(within) == 0 or not word.phones:
            continue
        threshold = max(float(within.max()) - BELOW_PEAK, floor)
        before = words[i - 1].end if i else 0.0
        if word.start - before >= PAUSE or i == 0:
            low = max(word.start - REACH, before)
            rise = _rise(times, level > threshold, low, word.phones[0].end, word.start)
            words[i] = _with_start(word, rise)
    return replace(timings, words=tuple(words))


def envelope(audio: Audio) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return moments in seconds (every ms) and the level in dB of the 10 ms around each, of the signal's slope.

    The slope leaves out hum and rumble, which no onset of speech moves.
    """
    slope = np.diff(audio.samples.astype(np.float64), prepend=audio.samples[:1].astype(np.float64))
    window, hop = max(1, round(_WINDOW * audio.rate)), _HOP * audio.rate
    total = np.concatenate([[0.0], np.cumsum(slope**2)])
    count = max(0, int((len(slope) - window) / hop) + 1)
    first = np.rint(np.arange(count) * hop).astype(np.int64)
    power = (total[first + window] - total[first]) / window
    return (first + window / 2) / audio.rate, 10.0 * np.log10(np.maximum(power, 1e-12))


def _rise(times: NDArray[np.float64], loud: NDArray[np.bool_], low: float, high: float, edge: float) -> float:
    inside = np.flatnonzero((times >= low) & (times <= high))
    if len(inside) == 0 or loud[inside[0]]:
        return edge
    steady = _steady(loud, inside)
    return edge if len(steady) == 0 else float(times[steady[0]])


def _steady(loud: NDArray[np.bool_], inside: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where it is loud for 10 ms around: a tick of the microphone is no onset."""
    run = np.convolve(loud[inside], np.ones(10), "same") >= 10
    reached = np.convolve(run, np.ones(10), "same") > 0.5
    return inside[np.asarray(reached & loud[inside])]


def _with_start(word: Word, start: float) -> Word:
    first = word.syllables[0]
    phone = replace(first.phones[0], start=start)
    syllable = replace(first, start=start, phones=(phone, *first.phones[1:]))
    return replace(word, start=start, syllables=(syllable, *word.syllables[1:]))
