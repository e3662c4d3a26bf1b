"""Speech to measure with: recordings of a folder, or the demo's synthetic speakers."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from voxaudit import audio
from voxaudit.audio import SUFFIXES, Audio
from voxaudit.corpus import Corpus, read_corpus


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()  # gone when the process ends


def synthetic_corpus() -> Corpus:
    """Return the demo's corpus of synthetic speech."""
    from voxaudit.speak.corpus import make_synthetic_corpus

    return read_corpus(make_synthetic_corpus(Path(_home().name) / "corpus"))


def files(folder: Path | None) -> list[Path]:
    """Return the recordings below a folder, or those of the synthetic corpus."""
    if folder is None:
        return [Path(utterance.audio) for utterance in synthetic_corpus()]
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not found:
        raise SystemExit(f"{folder.name}: no recordings in this folder")
    return found


def clips(folder: Path | None, count: int, rate: int = 16_000) -> list[Audio]:
    """Return some recordings, taken at equal steps."""
    found = files(folder)
    return [audio.read(path, rate=rate) for path in found[:: max(1, len(found) // count)][:count]]


def joined(folder: Path | None, lengths: np.ndarray, rate: int = 16_000) -> list[Audio]:
    """Return clips of given lengths in seconds, cut from recordings joined end to end."""
    wanted = int(lengths.sum() * rate) + 1
    parts: list[np.ndarray] = []
    for path in files(folder):
        parts.append(audio.read(path, rate=rate).samples)
        if sum(map(len, parts)) >= wanted:
            break
    samples = np.resize(np.concatenate(parts), wanted)
    ends = np.cumsum(lengths * rate).astype(int)
    return [Audio(part, rate) for part in np.split(samples, ends)[: len(lengths)]]
