"""Is there speech in a recording? WebRTC's voice activity detector, which comes inside the package pocketsphinx."""

from __future__ import annotations

import numpy as np

from voxaudit.audio import Audio, resample
from voxaudit.errors import VoxauditError

RATE = 16_000
_FRAME = 0.03  # seconds
_RUN = 4  # frames in a row that are speech before any of them counts: a click is none
_QUIET = 10.0 ** (-65.0 / 20.0)  # of full scale: nothing below it is heard


def seconds_of_speech(audio: Audio) -> float:
    """Return how many seconds of a recording hold speech.

    The detector decides every 30 ms; only stretches of 120 ms and more count, louder than -65 dB of full scale.
    """
    try:
        from pocketsphinx import Vad
    except ImportError as error:
        raise VoxauditError(
            "a voice activity detector comes with pocketsphinx: install 'voxaudit[pocketsphinx]'"
        ) from error
    low = resample(audio, RATE)
    detector = Vad(3, RATE, _FRAME)
    size = detector.frame_bytes // 2
    samples = np.clip(low.samples, -1.0, 1.0)
    count = len(samples) // size
    frames = samples[: count * size].reshape(count, size)
    loud = np.sqrt(np.mean(frames.astype(np.float64) ** 2, axis=1)) > _QUIET
    packed = (frames * 32767.0).astype("<i2")
    speech = [
        bool(one) and detector.is_speech(frame.tobytes()) for one, frame in zip(loud, packed, strict=True)
    ]
    total = run = 0
    for one in [*speech, False]:
        if one:
            run += 1
            continue
        total += run if run >= _RUN else 0
        run = 0
    return total * _FRAME
