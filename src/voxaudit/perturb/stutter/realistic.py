"""Stuttering as it was measured: at the beginning of words, as long as people's, out of the recording's own sounds.

Each operation says what it puts in (lengths in milliseconds, gaps between copies, a seed for what differs from copy to
copy); `profiles.py` draws them from the distributions of `measured.py`. Phones with times are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from voxaudit.align import Phone, Syllable, Timings, Word
from voxaudit.align.syllables import manner
from voxaudit.align.timings import placed_word
from voxaudit.audio import Samples, resample
from voxaudit.perturb.base import parameter
from voxaudit.perturb.stutter.base import (
    Clip,
    Edit,
    Operation,
    StutterError,
    check_clip,
    copies_of,
    find_clip,
    word_position,
)
from voxaudit.perturb.stutter.sounds import as_loud, held, laid, release, room_tone, shifted
from voxaudit.perturb.stutter.splice import Floats, cut_near, spliced, stretched

MODE = "realistic"
SHORTEST_HELD = 0.04
"""A phone under so many seconds cannot be held on."""
LEAST_VOWEL = 0.4
"""Of the vowel after a repeated consonant, at least this share stays out: a fragment is never the whole word."""
FILLER_WORDS = ("um", "uh", "er", "erm")


@dataclass(frozen=True)
class Onset:
    """How an intended word begins: its first consonants, the vowel after them, and all its phones."""

    consonants: tuple[Phone, ...]
    vowel: Phone | None
    phones: tuple[Phone, ...]

    @property
    def first(self) -> Phone:
        """The first phone."""
        return self.phones[0]


def onset_of(word: Word) -> Onset | None:
    """Return how a word begins; None where the times of its phones are not known."""
    phones = tuple(phone for part in word.syllables if not part.event for phone in part.phones)
    if not phones or any(phone.end <= phone.start for phone in phones[:1]):
        return None
    count = next((i for i, phone in enumerate(phones) if manner(phone.name) == "vowel"), len(phones))
    return Onset(phones[:count], phones[count] if count < len(phones) else None, phones)


def _onset(word: Word, kind: str) -> Onset:
    found = onset_of(word)
    if found is None:
        raise StutterError(f"{kind}: the phones of '{word.text}' have no times")
    return found


def can_hold(word: Word) -> bool:
    """Say whether a word begins with a sound that can be held on: any but a stop, and long enough."""
    found = onset_of(word)
    return (
        found is not None
        and manner(found.first.name) in ("fricative", "voiced", "vowel")
        and found.first.end - found.first.start >= SHORTEST_HELD
    )


def can_repeat_sound(word: Word) -> bool:
    """Say whether a word has a first sound that is not the whole word, and is a stop or long enough."""
    found = onset_of(word)
    if found is None or len(found.phones) < 2 or manner(found.first.name) == "":
        return False
    return manner(found.first.name) == "plosive" or found.first.end - found.first.start >= SHORTEST_HELD


def gaps_of(text: str) -> list[float]:
    """Return the gaps that a chain writes as `20+70` (milliseconds), in seconds."""
    try:
        gaps = [float(part) / 1000 for part in text.split("+")] if text else []
    except ValueError:
        gaps = [-1.0]
    if any(not 0 <= gap <= 10 for gap in gaps):
        raise StutterError(f"gaps are milliseconds such as 20+70, not '{text[:40]}'")
    return gaps


def written_gaps(gaps: Sequence[float]) -> str:
    """Return gaps (seconds) as a chain writes them.

    >>> written_gaps([0.02, 0.0703])
    '20+70'
    """
    return "+".join(f"{1000 * gap:.0f}" for gap in gaps)


def _lasting(usual: float) -> Any:
    return parameter(usual, at_least=10, at_most=10_000)


def _check_gaps(kind: str, copies: int, gaps: str) -> None:
    if gaps and len(gaps_of(gaps)) != copies:
        raise StutterError(
            f"{kind}: {copies} copies need {copies} gaps, as in gaps={'+'.join(['70'] * copies)}"
        )


@dataclass(frozen=True)
class OnsetBlock(Operation):
    """The voice stops for `ms` before word `word`, in the closure of a stop, on the recording's own room tone.

    `phone` above 0 stops inside the first syllable instead, before that phone. `release` is how many dB louder the
    sound then breaks out, for 40 ms (a tense release).
    """

    kind: ClassVar[str] = "block"
    mode: ClassVar[str] = MODE

    word: int
    ms: float = _lasting(650.0)
    phone: int = 0
    release: float = parameter(0.0, at_least=0, at_most=12)
    seed: int = 0

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the room tone and where it goes: `round(ms * rate / 1000)` samples."""
        word = timings.words[word_position(timings, self.word, self.kind)]
        found = _onset(word, self.kind)
        if not 0 <= self.phone < len(found.phones):
            raise StutterError(f"block: '{word.text}' has no phone {self.phone}")
        phone = found.phones[self.phone]
        # Repetitions that were put in before stand between the block and the word.
        boundary = word.start if self.phone == 0 else phone.start
        cut = cut_near(samples, rate, boundary)
        if self.phone == 0 and manner(phone.name) == "plosive" and abs(phone.start - boundary) < 1e-6:
            cut = max(cut, release(samples, rate, phone))
        length = round(self.ms * rate / 1000)
        generator = np.random.Generator(np.random.PCG64(self.seed))
        tone = room_tone(samples, rate, length, generator)
        row = spliced(samples, cut, tone.astype(np.float32), rate)
        after = timings.opened(boundary, cut / rate, length / rate)
        stop = cut
        if self.release:
            stop = min(cut + round(0.04 * rate), len(samples))
            fall = np.linspace(1.0, 0.0, stop - cut) ** 2
            loud = samples[cut:stop] * (1 + (10 ** (self.release / 20) - 1) * fall)
            row = np.concatenate([row, np.clip(loud, -1, 1).astype(np.float32)])
        place = "sound" if self.phone == 0 else "syllable"
        return Edit(cut, stop, row, after, (("block", length / rate),), place)


@dataclass(frozen=True)
class HeldOnset(Operation):
    """The first sound of word `word` is held until it lasts `ms`; its transitions stay as they are."""

    kind: ClassVar[str] = "prolongation"
    mode: ClassVar[str] = MODE
    version: ClassVar[int] = 2

    word: int
    ms: float = _lasting(550.0)
    seed: int = 0

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the held sound; it lasts `ms` to within one period of the voice."""
        word = timings.words[word_position(timings, self.word, self.kind)]
        if not can_hold(word):
            raise StutterError(
                f"prolongation: '{word.text}' does not begin with a sound of at least {1000 * SHORTEST_HELD:.0f} ms"
                " that can be held on"
            )
        phone = _onset(word, self.kind).first
        more = round((self.ms / 1000 - (phone.end - phone.start)) * rate)
        if more < 0.05 * rate:
            raise StutterError(f"prolongation: '{word.text}' begins with a longer sound than {self.ms:g} ms")
        generator = np.random.Generator(np.random.PCG64(self.seed))
        start, stop, sound = held(samples, rate, phone, more, generator)
        growth = (len(sound) - (stop - start)) / rate
        if stop > start:
            after = timings.stretched(start / rate, stop / rate, growth)
        else:
            after = timings.opened(start / rate, start / rate, growth)
        length = phone.end - phone.start + growth
        return Edit(start, stop, sound.astype(np.float32), after, (("prolongation", length),))


@dataclass(frozen=True)
class OnsetRepetition(Operation):
    """The first sound of word `word` is said `copies` times before it: `w- w- weather`; never the whole word.

    A copy lasts about `ms` (0.8 to 1.15 times), a stop's with its closure; `gaps` follow each copy (ms, `20+70`).
    `consonants` of a cluster are repeated (1 or all), with `vowel` ms of the vowel after them. Copies differ in length,
    level (2 dB), pitch (3 %) and by 5 ms in where they are cut (G).
    """

    kind: ClassVar[str] = "sound_repetition"
    mode: ClassVar[str] = MODE
    version: ClassVar[int] = 2

    word: int
    ms: float = _lasting(260.0)
    copies: int = copies_of(1)
    gaps: str = ""
    consonants: int = 1
    vowel: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_gaps(self.kind, self.copies, self.gaps)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies and the gaps between them, put in before the word."""
        at = word_position(timings, self.word, self.kind)
        word = timings.words[at]
        if not can_repeat_sound(word):
            raise StutterError(
                f"sound_repetition: '{word.text}' has no first sound that is not the whole word"
            )
        found = _onset(word, self.kind)
        generator = np.random.Generator(np.random.PCG64(self.seed))
        gaps = gaps_of(self.gaps) or [0.0] * self.copies
        lengths = [round(self.ms / 1000 * generator.uniform(0.8, 1.15) * rate) for _ in gaps]
        sounds = [self._fragment(samples, rate, found, length, generator) for length in lengths]
        stop = manner(found.first.name) == "plosive"  # its closure is room tone
        before = [max(0, one - len(sound)) * stop for one, sound in zip(lengths, sounds, strict=True)]
        cut = cut_near(samples, rate, word.start)
        row, copies = _row(samples, rate, cut, sounds, gaps, before, generator)
        spans = [(a - lead, b) for (a, b), lead in zip(copies, before, strict=True)]
        after = timings.opened(word.start, cut / rate, len(row) / rate)
        text = fragment_text(word, found, self.consonants, self.vowel > 0)
        said = tuple(Syllable(text, (cut + a) / rate, (cut + b) / rate, (), self.kind) for a, b in spans)
        moved = after.words[at]
        moved = replace(moved, start=min(moved.start, said[0].start), syllables=said + moved.syllables)
        measures = [("fragment_iterations", float(self.copies))]
        measures += [("fragment", (b - a) / rate) for a, b in spans]
        measures += [("fragment_gap", gap) for gap in gaps]
        return Edit(cut, cut, row, after.with_word(at, moved), tuple(measures), "sound", copies)

    def _fragment(
        self, samples: Samples, rate: int, found: Onset, length: int, generator: np.random.Generator
    ) -> Floats:
        """Return one copy of the repeated sound, at most about `length` samples; a stop's without its closure."""
        first = found.first
        phones = found.consonants[: max(1, self.consonants)] or (first,)
        stop = manner(first.name) == "plosive"
        begin = release(samples, rate, first) if stop else round(first.start * rate)
        begin = max(begin + round(generator.uniform(-0.005, 0.005) * rate) * (begin > 0.005 * rate), 0)
        end = phones[-1].end
        if self.vowel and found.consonants and found.vowel is not None and phones[-1] is found.consonants[-1]:
            vowel = found.vowel
            end += min(self.vowel / 1000, (1 - LEAST_VOWEL) * (vowel.end - vowel.start))
        elif not found.consonants:
            end = first.start + (1 - LEAST_VOWEL) * (first.end - first.start)
        end += float(generator.uniform(-0.005, 0.0))
        last = max(round(end * rate), begin + round(0.015 * rate))
        sound = samples[begin:last].astype(np.float64)
        longest = first.end - first.start >= SHORTEST_HELD and not stop
        if longest and length > len(sound) + round(0.03 * rate):
            a, b, more = held(samples, rate, first, length - len(sound), generator)
            if begin <= a:
                sound = np.concatenate([samples[begin:a], more, samples[b : max(b, last)]])
        sound = shifted(sound, float(generator.uniform(0.97, 1.03)))
        room = round(0.03 * rate) if stop else 0
        sound = sound[: max(length - room, round(0.02 * rate))]
        return sound * 10 ** (float(generator.uniform(-2, 2)) / 20)


def _row(
    samples: Samples,
    rate: int,
    cut: int,
    sounds: Sequence[Floats],
    gaps: Sequence[float],
    before: Sequence[int],
    generator: np.random.Generator,
) -> tuple[Samples, tuple[tuple[int, int], ...]]:
    """Return copies in a row on room tone, made to fit at a cut, and where each is.

    Each has samples of room tone `before` it and a gap (seconds) behind it.
    """
    spans, end = [], 0
    for sound, gap, lead in zip(sounds, gaps, before, strict=True):
        spans.append((end + lead, end + lead + len(sound)))
        end = spans[-1][1] + round(gap * rate)
    starts = [start for start, _ in spans]
    bed = laid(samples, rate, end, zip(starts, sounds, strict=True), generator)
    return spliced(samples, cut, np.clip(bed, -1, 1).astype(np.float32), rate), tuple(spans)


def fragment_text(word: Word, found: Onset, consonants: int, vowel: bool) -> str:
    """Return the letters of a repeated sound, for showing: `w` of weather, `wea` with its vowel, `st` of stop."""
    letters = word.text
    count = next(
        (i for i, letter in enumerate(letters.lower()) if letter in "aeiouyáéíóúäöüàèìòùâêîôûå"), len(letters)
    )
    if not found.consonants or count == 0:
        return letters[: max(1, next((i for i, c in enumerate(letters.lower()) if c not in "aeiou"), 1))]
    if len(found.consonants) > consonants and not vowel:
        digraph = letters[:2].lower() in ("th", "sh", "ch", "ph", "wh")
        return letters[: 2 if digraph else 1]
    if vowel:
        rest = letters[count:].lower()
        count += max(1, next((i for i, c in enumerate(rest) if c not in "aeiou"), len(rest)))
    return letters[:count] if count < len(letters) else letters[: max(1, len(letters) - 1)]


@dataclass(frozen=True)
class WordSaidAgain(Operation):
    """Word `word` is said `copies` times before it: `the the weather`; the first copy lasts `ratio` times as long.

    `gaps` follow each copy (ms, `70+310`). Copies differ in level, pitch and length as those of sounds do.
    """

    kind: ClassVar[str] = "word_repetition"
    mode: ClassVar[str] = MODE

    word: int
    copies: int = copies_of(1)
    gaps: str = ""
    ratio: float = parameter(1.22, at_least=0.5, at_most=4)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_gaps(self.kind, self.copies, self.gaps)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the copies and the gaps between them, put in before the word."""
        at = word_position(timings, self.word, self.kind)
        word = timings.words[at]
        own = _onset(word, self.kind).first.start  # not what was put in before the word
        first, last = cut_near(samples, rate, own), cut_near(samples, rate, word.end)
        if last - first < 0.02 * rate:
            raise StutterError(f"word_repetition: there is no sound in '{word.text}' to repeat")
        generator = np.random.Generator(np.random.PCG64(self.seed))
        gaps = gaps_of(self.gaps) or [0.0] * self.copies
        sounds = []
        for number in range(self.copies):
            factor = self.ratio if number == 0 else float(generator.uniform(0.9, 1.1))
            more = round((factor - 1) * (last - first))
            begin = first + round(float(generator.uniform(-0.003, 0.003)) * rate) * (first > 0.003 * rate)
            sound = stretched(samples, begin, last, more, rate).astype(np.float64)
            sound = shifted(sound, float(generator.uniform(0.97, 1.03)))
            sounds.append(sound * 10 ** (float(generator.uniform(-2, 2)) / 20))
        cut = cut_near(samples, rate, word.start)
        row, copies = _row(samples, rate, cut, sounds, gaps, [0] * len(gaps), generator)
        after = timings.opened(word.start, cut / rate, len(row) / rate)
        plain = replace(word, event=self.kind, syllables=tuple(s for s in word.syllables if not s.event))
        span = max(word.end - own, 1e-6)

        def copy(start: int, stop: int) -> Word:
            low, scale = (cut + start) / rate, (stop - start) / rate / span

            def place(a: float, b: float) -> tuple[float, float]:
                return low + max(a - own, 0.0) * scale, low + max(min(b - own, span), 0.0) * scale

            return placed_word(plain, place)

        said = tuple(copy(*span) for span in copies)
        measures = (("word_iterations", float(self.copies)), *(("word_gap", gap) for gap in gaps))
        return Edit(cut, cut, row, after.with_words(at, said), measures, "sound", copies)


@dataclass(frozen=True)
class SaidFiller(Operation):
    """A filler before word `before` for `ms`, with `gaps` of room tone before and after it (ms, `180+240`).

    The filler is a clip, by its key: a token of um, uh, er or erm of the same speaker, or another voice brought to the
    speaker's level, and to `pitch` times its own pitch; `synthetic` is 1 where it is no person's.
    """

    kind: ClassVar[str] = "interjection"
    at: ClassVar[str] = "before"
    mode: ClassVar[str] = MODE

    before: int
    clip: str
    ms: float = _lasting(470.0)
    gaps: str = "180+240"
    pitch: float = parameter(1.0, at_least=0.4, at_most=2.5)
    synthetic: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_gaps(self.kind, 2, self.gaps)
        check_clip(self.clip)

    def edit(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> Edit:
        """Return the filler and the gaps around it, put in between two words."""
        at = word_position(timings, self.before, self.kind)
        boundary = timings.words[at].start
        clip = find_clip(clips, self.clip)
        sound = _trimmed(resample(clip.audio, rate).samples, rate)
        sound = as_loud(
            shifted(sound.astype(np.float64), self.pitch).astype(np.float32), samples, rate, timings
        )
        wanted = min(max(self.ms / 1000 * rate, 0.5 * len(sound)), 3.0 * len(sound))
        sound = stretched(sound, 0, len(sound), round(wanted) - len(sound), rate)
        before, after = gaps_of(self.gaps) or [0.0, 0.0]
        start, total = round(before * rate), round((before + after) * rate) + len(sound)
        generator = np.random.Generator(np.random.PCG64(self.seed))
        bed = laid(samples, rate, total, [(start, sound.astype(np.float64))], generator)
        cut = cut_near(samples, rate, boundary)
        row = spliced(samples, cut, bed.astype(np.float32), rate)
        opened = timings.opened(boundary, cut / rate, total / rate)
        low, high = (cut + start) / rate, (cut + start + len(sound)) / rate
        word = Word(clip.text, low, high, (Syllable(clip.text, low, high),), self.kind)
        name = "um" if clip.text.endswith("m") else "uh"
        measures = ((name, len(sound) / rate), ("gap_before_filler", before), ("gap_after_filler", after))
        return Edit(cut, cut, row, opened.with_words(at, (word,)), measures, "between")


def _trimmed(sound: Samples, rate: int) -> Samples:
    """Return a clip without the silence before and after it."""
    loud = np.flatnonzero(np.abs(sound) > 0.05 * float(np.max(np.abs(sound), initial=0.0)))
    if not len(loud) or len(sound) == 0:
        raise StutterError("interjection: the filler clip is silent")
    margin = round(0.01 * rate)
    return sound[max(loud[0] - margin, 0) : loud[-1] + margin]


REALISTIC: tuple[type[Operation], ...] = (OnsetBlock, HeldOnset, OnsetRepetition, WordSaidAgain, SaidFiller)
