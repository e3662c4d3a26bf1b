"""What a recording is like, measured from its samples: noise, room, bandwidth, clipping, pitch, length."""

from __future__ import annotations

import math

import numpy as np

from voxaudit.audio import Audio, Samples
from voxaudit.score.snr import SHORTEST, estimate_snr

RECORDING_MEASURES = {
    "snr": "recording quality (SNR, dB)",
    "reverberation": "reverberation (decay time, seconds)",
    "bandwidth": "bandwidth (Hz)",
    "clipping": "share of clipped samples",
    "duration": "duration (seconds)",
    "pitch": "pitch (median, Hz)",
}
"""Columns that are measured from a recording, and what they are called."""

_DECAY = 10.0  # dB that a sound falls by at least before its decay is counted
_LOUD = 20.0  # dB below the loud moments: decays that start lower are lost in noise
_ENERGY = 0.99
_RUN = 3  # samples in a row at the same extreme: one alone is a peak, not a limit
_LIMIT = 0.999
_VOICED = 0.5
_LOWEST, _HIGHEST = 60.0, 400.0  # Hz


def measure_recording(audio: Audio) -> dict[str, float | None]:
    """Return the measures of `RECORDING_MEASURES`; None where a clip is silent or under a quarter of a second.

    `snr` is `estimate_snr`; `reverberation` is the time in which sound falls by 60 dB in the faster quarter of the
    clip's decays, for a room lets none be faster than its own. On 28 clips of real speech it reads 0.20 s as
    recorded, 0.28 (women) and 0.32 (men) with a simulated decay of 0.3 s, 0.34 and 0.40 with 0.6 s, and no more beyond:
    an order, not a ruler. (SRMR, the usual measure, was 70 % higher for the women than for the men of 110 recordings.)

    `bandwidth` is the frequency below which 99 % of the energy lies once each octave has been raised by 6 dB, as speech
    falls by about as much; `clipping` the share of samples in runs at the clip's own extremes; `pitch` the median of
    voiced frames, 60 to 400 Hz.

    >>> time = np.arange(16_000) / 16_000
    >>> tone = Audio(np.sin(2 * np.pi * 200 * time).astype(np.float32), 16_000)
    >>> found = measure_recording(tone)
    >>> round(found["pitch"]), found["duration"], found["clipping"]
    (200, 1.0, 0.0)
    """
    found: dict[str, float | None] = dict.fromkeys(RECORDING_MEASURES)
    found["duration"] = audio.duration
    samples = audio.samples
    if audio.duration < SHORTEST or not samples.any():
        return found
    found["snr"] = estimate_snr(audio)
    found["reverberation"] = _reverberation(samples, audio.rate)
    found["bandwidth"] = _bandwidth(samples, audio.rate)
    found["clipping"] = _clipping(samples)
    found["pitch"] = _pitch(samples, audio.rate)
    return found


def _reverberation(samples: Samples, rate: int) -> float | None:
    size = max(2, round(0.02 * rate))
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    level = 10.0 * np.log10((frames**2).mean(axis=1) + 1e-12)
    floor, loud = np.quantile(level, [0.1, 0.95])
    falling = np.concatenate([[False], np.diff(level) < 0.0, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(falling))
    times = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        part = level[first : last + 1]
        part = part[: int((part > floor + 3.0).sum())]
        if len(part) >= 6 and part[0] - part[-1] >= _DECAY and part[0] > loud - _LOUD:
            slope = np.polyfit(np.arange(len(part)) * (size // 2) / rate, part, 1)[0]
            times.append(-60.0 / slope)
    return float(np.quantile(times, 0.25)) if len(times) >= 3 else None


def _bandwidth(samples: Samples, rate: int) -> float:
    raised = np.diff(samples.astype(np.float64))
    size = min(1024, len(raised))
    frames = raised[: len(raised) // size * size].reshape(-1, size)
    share = np.cumsum((np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)) ** 2).sum(axis=0))
    return float(np.searchsorted(share, _ENERGY * share[-1]) * rate / size)


def _clipping(samples: Samples) -> float:
    clipped = 0
    for side in (samples, -samples):
        peak = float(side.max())
        if peak <= 0.0:
            continue
        at = np.concatenate([[False], side >= _LIMIT * peak, [False]]).astype(np.int8)
        edges = np.flatnonzero(np.diff(at))
        # A slow wave lingers near its top, too: only a flat top was cut off.
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            if last - first >= _RUN and np.ptp(samples[first:last]) < 1e-6:
                clipped += int(last - first)
    return clipped / len(samples)


def _pitch(samples: Samples, rate: int) -> float | None:
    """Return the median over voiced frames (40 ms, every 20) of the lag where the autocorrelation peaks."""
    size = round(0.04 * rate)
    if len(samples) < size or rate < 2 * _HIGHEST:
        return None
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    frames = frames - frames.mean(axis=1, keepdims=True)
    energy = (frames**2).sum(axis=1)
    frames = frames[energy > 0.1 * energy.mean()]
    window = np.hanning(size)
    padded = 1 << (2 * size - 1).bit_length()

    def correlation(some: np.ndarray) -> np.ndarray:
        return np.fft.irfft(np.abs(np.fft.rfft(some, padded)) ** 2, padded)[..., :size]

    found = correlation(frames * window)
    # The window's own autocorrelation is divided out (Boersma 1993): long lags would read too low otherwise.
    shape = correlation(window)
    low, high = math.ceil(rate / _HIGHEST), min(int(rate / _LOWEST), size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        height = found[:, low:high] / found[:, :1] / (shape[low:high] / shape[0])
    # Nearly equal peaks are multiples of one period: the shortest is meant.
    best = height.max(axis=1, initial=-1.0)
    voiced = (best > _VOICED) & np.isfinite(best)
    if not voiced.any():
        return None
    near = height[voiced] >= 0.9 * best[voiced, None]
    rising = np.diff(height[voiced], axis=1, append=-np.inf) <= 0.0
    lags = low + np.argmax(near & rising, axis=1)
    return float(np.median(rate / lags))
