"""What an impulse response says of its room: reverberation time and direct sound; and speech heard in that room."""

from __future__ import annotations

import numpy as np

from voxaudit.audio import Audio, Samples, resample
from voxaudit.numeric import irfft, next_fast_len, rfft
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
    speech = samples.astype(np.float64)
    response = response[: len(speech)]
    size = next_fast_len(len(speech) + len(response) - 1)
    wet = irfft(rfft(speech, size) * rfft(response, size), size)[: len(speech)]
    power, wet_power = float(np.mean(speech**2)), float(np.mean(wet**2))
    if power == 0.0 or wet_power == 0.0:
        return samples.copy()
    heard: Samples = (wet * np.sqrt(power / wet_power)).astype(np.float32)
    return heard


# SRMR: how much of a recording's modulation is speech and how much is reverberation, without a clean twin.


RATE = 16000
BANDS = 23
LOWEST = 125.0
MODULATIONS = 4.0 * 32.0 ** (np.arange(8) / 7.0)
"""Centers of the modulation filters, 4 to 128 Hz."""

_Q = 2.0
_SLOW_RATE = 1000
_FRAME, _HOP = 256, 64


def srmr(samples: Samples, rate: int) -> float:
    """Return the speech-to-reverberation modulation energy ratio (Falk, Zheng and Chan 2010); nan for silence.

    Energy of the envelopes' modulation at 4 to 18 Hz, where speech lives, over that at 29 Hz and above, which
    reverberation fills: the more reverberant, the lower. 23 gammatone bands from 125 Hz, 8 modulation filters
    with Q = 2, frames of 256 ms every 64 ms, at 16 kHz; the upper limit follows the band below which 90 %
    of the energy lies.
    """
    from scipy import fft

    heard = resample(Audio(np.asarray(samples, np.float32), rate), RATE).samples.astype(np.float64)
    if not heard.any():
        return float("nan")
    # Half a second of silence behind, so that the circular filters do not reach the start again.
    size = RATE * -(-(len(heard) + RATE // 2) // RATE) if len(heard) > RATE else 2 * RATE
    spectrum = fft.fft(heard, size)
    frequency = fft.rfftfreq(size, 1.0 / RATE)
    spectrum = spectrum[: len(frequency)]
    slow_size = size * _SLOW_RATE // RATE
    slow = frequency[: slow_size // 2 + 1]
    filters = np.array([_modulation_filter(slow, center) for center in MODULATIONS])
    length = max(1, round(len(heard) * _SLOW_RATE / RATE))
    energy = np.empty((BANDS, len(MODULATIONS)))
    widths = np.empty(BANDS)
    for number, center in enumerate(_centers()):
        widths[number] = center / 9.26449 + 24.7
        gammatone = (1.0 + 1j * (frequency - center) / (1.019 * widths[number])) ** -4
        analytic = np.zeros(size, np.complex128)
        analytic[: len(frequency)] = 2.0 * spectrum * gammatone
        envelope = fft.rfft(np.abs(fft.ifft(analytic)))[: len(slow)]
        moved = fft.irfft(envelope * filters, slow_size, axis=1)[:, :length]
        energy[number] = _mean_energy(moved)
    # Bands from low to high: the one in which the sum of energies passes 90 % sets the limit.
    share = np.cumsum(energy.sum(axis=1)) / energy.sum()
    width = widths[int(np.argmax(share > 0.9))]
    edges = MODULATIONS * (1.0 - 0.5 / _Q)
    last = 4 + max(1, int(np.sum(width > edges[4:])))
    return float(energy[:, :4].sum() / energy[:, 4:last].sum())


def _centers() -> Signal:
    """Return the centers of the gammatone bands in Hz, low to high, evenly spaced on the ERB scale."""
    offset = 9.26449 * 24.7
    top, bottom = np.log(RATE / 2 + offset), np.log(LOWEST + offset)
    centers: Signal = np.exp(bottom + (top - bottom) * np.arange(BANDS) / BANDS) - offset
    return centers


def _modulation_filter(frequency: Signal, center: float) -> np.ndarray:
    """Return the response of a resonance with Q = 2 at a modulation frequency in Hz."""
    s = 1j * frequency / center
    response: np.ndarray = (s / _Q) / (1.0 + s / _Q + s**2)
    return response


def _mean_energy(signals: Signal) -> Signal:
    """Return each row's mean energy over Hamming-windowed frames."""
    if signals.shape[1] < _FRAME:
        signals = np.pad(signals, ((0, 0), (0, _FRAME - signals.shape[1])))
    frames = np.lib.stride_tricks.sliding_window_view(signals, _FRAME, axis=1)[:, ::_HOP]
    energy: Signal = np.mean(frames**2 @ np.hamming(_FRAME) ** 2, axis=1)
    return energy
