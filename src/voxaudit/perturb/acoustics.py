"""What an impulse response says of its room: reverberation time and direct sound; and speech heard in that room."""

from __future__ import annotations

import numpy as np

from voxaudit.audio import Samples
from voxaudit.perturb.sources.base import Signal

DIRECT = 0.0025
"""Seconds after its arrival that count as the direct sound."""


def decay_curve(response: Signal) -> Signal:
    """Return the energy that is still to come, in dB of the whole (Schroeder 1965)."""
    energy = np.cumsum(response[::-1] ** 2)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        curve: Signal = 10.0 * np.log10(energy / energy[0])
    return curve


def measure_rt60(response: Signal, rate: int) -> float:
    """Return the time in seconds in which the sound falls by 60 dB, nan where the response is too short to tell.

    A line through the decay curve from -5 to -35 dB (T30 of ISO 3382); where the recording's noise begins
    earlier, to -25 or -15 dB. The noise, measured over the last tenth, is cut off where the decay meets it.
    """
    body = _without_floor(response, rate)
    curve = decay_curve(body)
    for lowest in (-35.0, -25.0, -15.0):
        # Near its end the curve of a cut response falls too fast: leave room below.
        if curve[int(0.95 * (len(curve) - 1))] > lowest - 3.0:
            continue
        first, last = int(np.argmax(curve <= -5.0)), int(np.argmax(curve <= lowest))
        if last - first < 8:
            continue
        time = np.arange(first, last) / rate
        slope = _slope(time, curve[first:last])
        if slope < 0.0:
            return -60.0 / slope
    return float("nan")


def _slope(x: Signal, y: Signal) -> float:
    centered = x - x.mean()
    return float(centered @ y / (centered @ centered))


def _without_floor(response: Signal, rate: int) -> Signal:
    """Return the response up to where it sinks into its noise; all of it where it does not."""
    window = max(1, rate // 100)
    power = np.add.reduceat(response**2, np.arange(0, len(response), window)) / window
    floor = float(np.mean(power[-max(1, len(power) // 10) :]))
    below = np.flatnonzero(power[int(np.argmax(power)) :] < 4.0 * floor)
    if len(below) == 0 or floor == 0.0:
        return response
    end = (int(np.argmax(power)) + int(below[0])) * window
    return response[: max(end, 2)]


def measure_drr(response: Signal, rate: int) -> float:
    """Return the direct-to-reverberant energy ratio in dB of a response that starts with the direct sound."""
    split = max(1, round(DIRECT * rate))
    rest = float(np.sum(response[split:] ** 2))
    return 10.0 * float(np.log10(np.sum(response[:split] ** 2) / rest)) if rest > 0.0 else float("inf")


def reverberate(samples: Samples, response: Signal) -> Samples:
    """Return the speech as it is heard through a response: as long and as loud (RMS) as before.

    The response starts with the direct sound, so that words stay where they were; what rings on after the
    end is cut off.
    """
    from scipy import fft

    speech = samples.astype(np.float64)
    response = response[: len(speech)]
    size = fft.next_fast_len(len(speech) + len(response) - 1, real=True)
    wet = fft.irfft(fft.rfft(speech, size) * fft.rfft(response, size), size)[: len(speech)]
    power, wet_power = float(np.mean(speech**2)), float(np.mean(wet**2))
    if power == 0.0 or wet_power == 0.0:
        return samples.copy()
    heard: Samples = (wet * np.sqrt(power / wet_power)).astype(np.float32)
    return heard
