"""Any texts read aloud by synthetic voices: the `synthetic` role of a robustness audit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice, product, zip_longest
from pathlib import Path

from voxaudit.audio import resample, write
from voxaudit.corpus import base_language
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.weights.fetch import KNOWN, fetched
from voxaudit.registry import unknown
from voxaudit.speak import kokoro, made
from voxaudit.speak.base import Voice, speak

VERSION = 2
"""Raise it when the same texts and voices would give other samples."""

RATE = 16_000
MOST_CLIPS = 400

PICO = {"en": ("en-US", "en-GB"), "de": ("de-DE",), "es": ("es-ES",), "fr": ("fr-FR",), "it": ("it-IT",)}
"""The languages that have voices, and which."""
SPEAKERS = 12
"""Speakers of a language: those of Kokoro where it was fetched, then Pico's voices in turn, each time set otherwise."""
# (pitch, speed, tract): low and long to high and short, as grown people differ. The first is the voice as it is.
_SETTINGS = (
    (1.0, 1.0, 1.0),
    (0.75, 1.0, 1.12),
    (1.2, 1.05, 0.95),
    (0.85, 1.1, 1.05),
    (1.1, 0.92, 1.0),
    (0.7, 0.95, 1.15),
    (1.3, 1.0, 0.92),
    (0.9, 0.9, 1.08),
    (1.05, 1.15, 0.97),
    (0.8, 1.08, 1.1),
    (1.25, 0.95, 0.98),
    (0.95, 1.05, 1.03),
)


def voices_of(language: str | None) -> tuple[Voice, ...]:
    """Return twelve speakers of a language, English where none is named; a language without any raises one line.

    Where `voxaudit models fetch kokoro` was asked for, they are twelve of its English speakers, or its three Spanish
    ones and Pico. Pico's are the language's voices at several pitches, vocal tracts and speeds, so they differ less
    than people do.

    >>> len(voices_of("it-CH")), [str(voice) for voice in voices_of("it")[1:2]]
    (12, ['pico it-IT pitch=0.75 speed=1 tract=1.12'])
    """
    own = _places(language)
    named = (Voice("kokoro", place, name=name) for place, name in _kokoro(own))
    return tuple(islice(chain(named, _pico(own)), SPEAKERS))


def _places(language: str | None) -> tuple[str, ...]:
    own = PICO.get(base_language(language or "en"))
    if own is None:
        raise VoxauditError(
            f"no synthetic voice speaks '{one_line(str(language), 40)}': there are voices for {', '.join(PICO)}."
            " Give recordings (`path`) in the role synthetic"
        )
    return own


def _pico(places: Sequence[str]) -> Iterator[Voice]:
    return (Voice("pico", place, *set_) for set_ in _SETTINGS for place in places)


def _kokoro(places: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the fetched speakers of a language's places, women and men of each in turn."""
    if fetched(KNOWN["kokoro"]) is None:
        return
    kinds = [
        [(place, name) for name in kokoro.VOICES.get(place, ()) if name[1] == kind]
        for kind in "fm"
        for place in places
    ]
    for row in zip_longest(*kinds):
        yield from filter(None, row)


CHANGES = {"pitch": ("low", "high"), "rate": ("slow", "fast"), "accent": ("native", "foreign")}
"""One property of a voice, and its two values: everything else stays as it is."""
STEP = 1.25
"""Pitch and rate are divided and multiplied by so much."""


def matched_voices(change: str, language: str | None) -> tuple[list[Voice], list[dict[str, str]]]:
    """Return Pico's voices of a language both ways in one property, and of each the speaker and the value.

    A foreign accent is that of a voice of another language in turn, set alike, which reads with the sounds it has.

    >>> voices, about = matched_voices("rate", "en")
    >>> [voice.speed for voice in voices[:2]], about[:2]
    ([0.8, 1.25], [{'speaker': 'voice-1', 'rate': 'slow'}, {'speaker': 'voice-1', 'rate': 'fast'}])
    """
    if change not in CHANGES:
        raise unknown("no voice changes its", change, CHANGES, there="Properties")
    own = base_language(language or "en")
    others = [names[0] for name, names in PICO.items() if name != own]
    voices: list[Voice] = []
    about: list[dict[str, str]] = []
    for number, voice in enumerate(islice(_pico(_places(language)), SPEAKERS)):
        foreign = replace(voice, language=others[number % len(others)], reads=own)
        both = {
            "pitch": (replace(voice, pitch=voice.pitch / STEP), replace(voice, pitch=voice.pitch * STEP)),
            "rate": (replace(voice, speed=voice.speed / STEP), replace(voice, speed=voice.speed * STEP)),
            "accent": (voice, foreign),
        }
        voices += both[change]
        about += [{"speaker": f"voice-{number + 1}", change: value} for value in CHANGES[change]]
    return voices, about


def speak_texts(
    texts: Sequence[str],
    folder: str | Path,
    *,
    voices: Sequence[Voice],
    about: Sequence[Mapping[str, str]] = (),
) -> Path:
    """Read every distinct text aloud and return the `manifest.csv` of `folder`; made once, it is not made again.

    Every voice reads every text as long as that is at most 400 clips, else each text is read by the next voice.
    16-bit WAV at 16 kHz; columns id, audio, speaker (its name, or the voice's language and number), text, voice (how
    it is set), and what is said `about` each voice.
    """
    said = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not said:
        raise VoxauditError("there is no text to read aloud: the synthetic role needs reference texts")
    folder = Path(folder)
    try:
        package = version("py-nanotts") if any(voice.engine == "pico" for voice in voices) else ""
    except PackageNotFoundError as error:
        raise missing_extra("py-nanotts", "speak") from error
    parts = repr((VERSION, package, said, [str(voice) for voice in voices], *map(dict, about)))
    recipe = "texts " + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    made.begin(folder, recipe)
    rows = []
    for number, (text, voice) in enumerate(_who_reads_what(said, voices), start=1):
        # Named by what it says, so that a corpus that was killed half-made goes on where it was.
        clip = hashlib.sha256(repr((VERSION, package, str(voices[voice]), text)).encode("utf-8", "replace"))
        name = f"audio/{clip.hexdigest()[:24]}.wav"
        (folder / "audio").mkdir(exist_ok=True)
        if not (folder / name).exists():
            write(folder / name, resample(speak(voices[voice], text), RATE))
        rows.append(
            {
                "id": f"{number:04d}",
                "audio": name,
                "speaker": voices[voice].name or f"{voices[voice].language}-{voice + 1}",
                "text": text,
                "voice": str(voices[voice]),
                **(about[voice] if about else {}),
            }
        )
    return made.finish(folder, recipe, rows, {"README.txt": ABOUT})


def _who_reads_what(texts: Sequence[str], voices: Sequence[Voice]) -> Iterator[tuple[str, int]]:
    if len(texts) * len(voices) <= MOST_CLIPS:
        return product(texts, range(len(voices)))
    return islice(((text, number % len(voices)) for number, text in enumerate(texts)), MOST_CLIPS)


ABOUT = """\
Synthetic speech, made on this machine by voxaudit: reference texts of a corpus, read by text-to-speech voices.
No person was recorded.
"""
