"""Sources in the user's folders: the layouts of the known collections, or any folder of audio."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from voxaudit import audio
from voxaudit.audio import SUFFIXES, Samples, content_hash
from voxaudit.errors import VoxauditError
from voxaudit.perturb.sources.base import NoiseSource, Signal, digest
from voxaudit.perturb.sources.cut import KEPT, cut

NOISE, MUSIC, SPEECH, SIMULATED, REAL = "noise", "music", "speech", "simulated rooms", "real rooms"


@dataclass(frozen=True)
class Layout:
    """A collection that is recognized by what lies in its folder (patterns of names), and where it keeps what.

    Where a collection has a part for testing, that part is taken, as Speech Robust Bench does.
    """

    name: str
    marks: tuple[str, ...]
    parts: Mapping[str, str]


LAYOUTS = (
    Layout("ESC-50", ("meta/esc50.csv", "audio"), {NOISE: "audio"}),
    Layout("ESC-50", ("manifest.csv", "audio/[1-5]-*-[A-Z]-*.*"), {NOISE: "audio"}),
    Layout("MS-SNSD", ("noise_test",), {NOISE: "noise_test"}),
    Layout("MS-SNSD", ("noise_train",), {NOISE: "noise_train"}),
    Layout("MUSAN", ("noise", "music"), {NOISE: "noise", MUSIC: "music", SPEECH: "speech"}),
    Layout("WHAM!", ("tt", "tr"), {NOISE: "tt"}),
    Layout("WHAM!", ("tt", "cv"), {NOISE: "tt"}),
    Layout(
        "RIRS_NOISES",
        ("simulated_rirs",),
        {NOISE: "pointsource_noises", SIMULATED: "simulated_rirs", REAL: "real_rirs_isotropic_noises"},
    ),
    Layout(
        "RIRS_NOISES",
        ("real_rirs_isotropic_noises",),
        {NOISE: "pointsource_noises", REAL: "real_rirs_isotropic_noises"},
    ),
)


@dataclass(frozen=True)
class Found:
    """Audio files below a folder, sorted by their relative name, and what to call them."""

    title: str
    root: Path
    folder: Path
    names: tuple[str, ...]


def find_audio(path: str | Path, part: str) -> Found:
    """Return the audio files for one purpose (`NOISE`, `MUSIC` ...) in a folder of any layout.

    A missing or empty folder, or a collection without such a part, raises one line.
    """
    root = Path(path).resolve()
    if not root.is_dir():
        raise VoxauditError(f"{root}: no such folder. Give the folder of a sound collection in [sources]")
    title, folder = f"folder {root}", root
    for layout in LAYOUTS:
        if all(any(root.glob(mark)) for mark in layout.marks):
            if part not in layout.parts or not (root / layout.parts[part]).is_dir():
                missing = layout.parts.get(part)
                raise VoxauditError(
                    f"{root}: this is a folder of {layout.name}, in which there is no {part}"
                    + (f" (no folder '{missing}')" if missing else "")
                )
            title, folder = f"{layout.name} in {root}", root / layout.parts[part]
            break
    names = _audio_names(folder)
    if part == REAL and any("noise" not in Path(name).name.lower() for name in names):
        # RIRS_NOISES keeps the background noise of each room beside its impulse responses.
        names = tuple(name for name in names if "noise" not in Path(name).name.lower())
    if not names:
        raise VoxauditError(f"{folder}: no audio in this folder ({', '.join(sorted(SUFFIXES))})")
    return Found(title, root, folder, names)


def _audio_names(folder: Path) -> tuple[str, ...]:
    # Sorted by relative name: the order in which a file system lists files is not the same everywhere.
    return tuple(
        sorted(
            (Path(home) / name).relative_to(folder).as_posix()
            for home, _, names in os.walk(folder)
            for name in names
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith(".")
        )
    )


def open_recordings(path: str | Path, part: str) -> Recordings:
    """Return the recordings of a folder as a source of noise; unusable files are left out and counted."""
    found = find_audio(path, part)
    clips: list[Clip] = []
    hashes: list[str] = []
    skipped: Counter[str] = Counter()
    for name in found.names:
        file = found.folder / name
        duration = probe(file)
        if isinstance(duration, str):
            skipped[duration] += 1
            continue
        clips.append(Clip(str(file), 0.0, duration))
        hashes.append(content_hash(file))
    if not clips:
        raise unusable(found, skipped)
    left_out = tuple(sorted(skipped.items()))
    return Recordings(found.title, tuple(clips), digest(hashes), left_out, folder=str(found.root))


def probe(file: Path) -> float | str:
    """Return the duration of an audio file in seconds, or why it cannot serve as noise.

    Reading stops at the first sound, so that a large collection is checked quickly.
    """
    import soundfile

    try:
        with soundfile.SoundFile(file) as opened:
            for block in opened.blocks(65536, dtype="float32"):
                if not np.isfinite(block).all():
                    return "not finite"
                if block.any():
                    return float(opened.frames / opened.samplerate)
    except (soundfile.SoundFileError, OSError, RuntimeError, TypeError):
        return "unreadable"
    return "silent"


def unusable(found: Found, skipped: Mapping[str, int]) -> VoxauditError:
    """Return the error for a folder in which no file can be used."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return VoxauditError(
        f"{found.folder}: none of the {len(found.names)} audio files can be used ({reasons})"
    )


def spread(names: Sequence[str], limit: int) -> tuple[str, ...]:
    """Return at most `limit` names, evenly spaced over the list."""
    if len(names) <= limit:
        return tuple(names)
    return tuple(names[number * len(names) // limit] for number in range(limit))


# Noise from recordings: files, or segments of files, read when they are needed.


PIECE = 30.0
"""Seconds of a long recording that are read at a time, or as much as the utterance is long."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording or a segment of one: `start` and `duration` in seconds."""

    path: str
    start: float
    duration: float


@dataclass(frozen=True, repr=False)
class Recordings(NoiseSource):
    """Clips in a fixed order, one of which is drawn for each trial.

    `content` stands for the clips' bytes in that order. `skipped` says how many files were left out, and why.
    """

    title: str
    clips: tuple[Clip, ...]
    content: str
    skipped: tuple[tuple[str, int], ...] = ()
    folder: str = ""

    def describe(self) -> str:
        """Return the title, the number of clips and what was left out."""
        left_out = ", ".join(f"{count} {reason}" for reason, count in self.skipped)
        return f"{self.title}: {len(self.clips)} clips" + (f" (left out: {left_out})" if left_out else "")

    def fingerprint(self) -> str:
        """Return the digest of the clips' contents."""
        return f"recordings {self.content}"

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of a clip drawn at random; of a long recording only a piece is read.

        A silent piece gives way to the next one of its recording: a clip that is silent all over is not listed.
        """
        clip = self.clips[int(generator.integers(len(self.clips)))]
        span = max(PIECE, length / rate)
        pieces = max(1, math.ceil(clip.duration / span - 1e-9))
        first = int(generator.integers(pieces))
        for number in range(pieces):
            samples = _piece(clip, (first + number) % pieces, pieces, span, rate)
            if np.any(samples):
                return cut(samples, length, generator)
        raise audio.AudioError(f"{clip.path}: this noise is silent from {clip.start:g} s on")


def _piece(clip: Clip, number: int, pieces: int, span: float, rate: int) -> Samples:
    # The last piece ends with the clip, so that none is a mere rest.
    start = clip.start + (
        max(clip.duration - span, 0.0) if pieces > 1 and number == pieces - 1 else number * span
    )
    duration = min(span, clip.duration)
    key = (clip.path, start, duration, rate)
    return KEPT.get(key, lambda: audio.read(clip.path, rate=rate, start=start, duration=duration).samples)
