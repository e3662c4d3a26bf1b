"""Audio to check a recognizer with: speech that an installed package carries, and made-up sounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from voxaudit.audio import SUFFIXES, Audio, AudioError, read
from voxaudit.errors import VoxauditError
from voxaudit.recognize.files import package_folder
from voxaudit.recognize.pcm import split_at_pauses

RATE = 16_000
SPEECH = ("two_cities.wav", "beckett.wav", "clone-test.wav")


def check_clips() -> dict[str, Audio]:
    """Return at least 8 different clips of 1 to 5 s: speech from moonshine-voice where it is installed, and sounds."""
    return {**_packaged_speech(), **_sounds()}


def clips_of(path: str | Path | None, limit: int) -> dict[str, Audio]:
    """Return at most `limit` clips of a folder of recordings, parts of one recording, or clips of our own."""
    if path is None:
        return dict(list(check_clips().items())[:limit])
    path = Path(path)
    if not path.is_dir():
        # One recording is enough: its halves and its quieter self are other audio.
        audio = read(path)
        half = max(1, len(audio.samples) // 2)
        cuts = {
            path.name: audio.samples,
            f"{path.name}, first half": audio.samples[:half],
            f"{path.name}, second half": audio.samples[half:] * 0.5,
        }
        return {name: Audio(cut, audio.rate) for name, cut in cuts.items() if len(cut)}
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if len(files) < 2:
        raise VoxauditError(f"{path}: {len(files)} recordings there; checking takes at least 2")
    step = max(1, len(files) // limit)
    return {str(file.relative_to(path)): read(file) for file in files[::step][:limit]}


def _packaged_speech() -> dict[str, Audio]:
    folder = package_folder("moonshine_voice")
    clips: dict[str, Audio] = {}
    if folder is None:
        return clips
    for name in SPEECH:
        try:
            audio = read(folder / "assets" / name, rate=RATE)
        except AudioError:
            continue
        pieces = [piece for piece in split_at_pauses(audio.samples, RATE, 5.0) if len(piece) >= RATE]
        clips |= {f"{name} {number}": Audio(piece, RATE) for number, piece in enumerate(pieces[:4], start=1)}
    return clips


def _sounds() -> dict[str, Audio]:
    generator = np.random.default_rng(0)
    time = np.arange(2 * RATE) / RATE
    noise = generator.standard_normal(len(time))
    bursts = noise * (np.sin(2 * np.pi * 3 * time) > 0.3)
    vowel = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 30))
    sounds = {
        "tone": np.sin(2 * np.pi * 440 * time),
        "sweep": np.sin(2 * np.pi * (100 * time + 900 * time**2)),
        "buzz": vowel / 3,
        "noise": noise / 10,
        "noise bursts": bursts / 5,
        "clicks": (np.arange(len(time)) % 4000 == 0) * 0.9,
        "hum in noise": 0.3 * np.sin(2 * np.pi * 50 * time) + noise / 30,
        "fading noise": noise / 5 * np.linspace(1, 0, len(time)),
    }
    return {name: Audio((0.5 * wave).astype(np.float32), RATE) for name, wave in sounds.items()}
