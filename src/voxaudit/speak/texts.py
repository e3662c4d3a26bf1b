"""Any texts read aloud by synthetic voices: the `synthetic` role of a robustness audit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, product
from pathlib import Path

from voxaudit.audio import resample, write
from voxaudit.corpus import base_language
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.speak import made
from voxaudit.speak.base import Voice, speak

VERSION = 1
"""Raise it when the same texts and voices would give other samples."""

RATE = 16_000
MOST_CLIPS = 400

VOICES = (
    Voice(language="en-US"),
    Voice(language="en-GB"),
    Voice(language="en-US", pitch=0.75, tract=1.12),
    Voice(language="en-GB", pitch=0.75, tract=1.12),
)
"""Four native voices, two of them low."""
OTHERS = {"de": "de-DE", "es": "es-ES", "fr": "fr-FR", "it": "it-IT"}
"""The languages besides English that have a voice."""


def voices_of(language: str | None) -> tuple[Voice, ...]:
    """Return four voices of a language, English where none is named; a language without any raises one line.

    >>> [voice.language for voice in voices_of("es-MX")]
    ['es-ES', 'es-ES', 'es-ES', 'es-ES']
    """
    base = base_language(language or "en")
    if base == "en":
        return VOICES
    if base not in OTHERS:
        raise VoxauditError(
            f"no synthetic voice speaks '{one_line(str(language), 40)}': there are voices for en,"
            f" {', '.join(OTHERS)}. Give recordings (`path`) in the role synthetic"
        )
    kinds = ((1.0, 1.0), (0.75, 1.12), (1.2, 0.95), (0.85, 1.05))
    return tuple(Voice(language=OTHERS[base], pitch=pitch, tract=tract) for pitch, tract in kinds)


def speak_texts(texts: Sequence[str], folder: str | Path, *, voices: Sequence[Voice] = VOICES) -> Path:
    """Read every distinct text aloud and return the `manifest.csv` of `folder`; made once, it is not made again.

    Every voice reads every text as long as that is at most 400 clips, else each text is read by the next voice.
    16-bit WAV at 16 kHz; columns id, audio, speaker (the voice), text, voice.
    """
    said = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not said:
        raise VoxauditError("there is no text to read aloud: the synthetic role needs reference texts")
    folder = Path(folder)
    try:
        package = version("py-nanotts")
    except PackageNotFoundError as error:
        raise missing_extra("py-nanotts", "speak") from error
    parts = repr((VERSION, package, said, [str(voice) for voice in voices]))
    recipe = "texts " + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    made.begin(folder, recipe)
    rows = []
    for number, (text, voice) in enumerate(_who_reads_what(said, voices), start=1):
        name = f"audio/{number:04d}.wav"
        (folder / "audio").mkdir(exist_ok=True)
        write(folder / name, resample(speak(voices[voice], text), RATE))
        rows.append(
            {
                "id": f"{number:04d}",
                "audio": name,
                "speaker": f"voice{voice + 1}",
                "text": text,
                "voice": str(voices[voice]),
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
