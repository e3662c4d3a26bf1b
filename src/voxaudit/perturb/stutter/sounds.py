"""Sound to stutter with: room tone, sounds that are held on, where a stop is released, copies that differ."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from voxaudit.align import Phone, Timings
from voxaudit.align.syllables import manner
from voxaudit.audio import Samples
from voxaudit.numeric import irfft, next_fast_len, rfft
from voxaudit.perturb.stutter.base import StutterError
from voxaudit.perturb.stutter.splice import Floats, window

FRAME = 0.02
QUIETEST = 12
"""Room tone is taken from so many of the quietest frames of 20 ms."""
LEAST_LEVEL = 3e-5
"""One step of 16-bit audio: no recording is quieter than its own rounding."""
EDGE = 0.006
"""Seconds over which a sound fades into room tone."""


def room_tone(samples: Samples, rate: int, length: int, generator: np.random.Generator) -> Floats:
    """Return noise with the level and the spectrum of the recording's quietest moments that are no digital silence."""
    size = max(16, round(FRAME * rate))
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    power = np.einsum("ij,ij->i", frames, frames)
    sounding = np.flatnonzero(power > size * LEAST_LEVEL**2)
    # Where pauses are digital silence, what is quiet and no silence is the fading of words.
    if len(sounding) <= 0.95 * len(power):
        return generator.standard_normal(length) * LEAST_LEVEL
    count = min(QUIETEST, max(3, len(sounding) // 20))
    quiet = sounding[np.argpartition(power[sounding], count - 1)[:count]]
    return noise_like(frames[quiet].astype(np.float64), length, generator)


def noise_like(frames: Floats, length: int, generator: np.random.Generator) -> Floats:
    """Return noise with the mean spectrum and the mean power of frames (one per row): a hiss that never repeats."""
    if length <= 0:
        return np.zeros(0)
    shape = np.hanning(frames.shape[1] + 2)[1:-1]
    magnitude = np.sqrt(np.mean(np.abs(rfft(frames * shape)) ** 2, axis=0))
    # Transforms of arbitrary lengths can be a hundred times slower than of these.
    long = next_fast_len(max(length, frames.shape[1]))
    bins = long // 2 + 1
    wanted = np.interp(np.linspace(0, 1, bins), np.linspace(0, 1, len(magnitude)), magnitude)
    noise = irfft(wanted * (generator.standard_normal(bins) + 1j * generator.standard_normal(bins)), long)
    level, own = float(np.sqrt(np.mean(frames**2))), float(np.sqrt(np.mean(noise**2)))
    found: Floats = noise[:length] * (level / own if own > 0 else 0.0)
    return found


def steady(samples: Samples, rate: int, phone: Phone) -> tuple[int, int]:
    """Return the steady middle of a phone (first sample, one past the last): its transitions stay outside."""
    start, stop = round(phone.start * rate), min(round(phone.end * rate), len(samples))
    margin = (stop - start) // 5
    start, stop = start + margin, stop - margin
    # A boundary can lie in the sound beside it: only what is nearly as loud as the loudest 10 ms is held.
    size = max(1, round(0.005 * rate))
    power = np.add.reduceat(
        samples[start:stop].astype(np.float64) ** 2, np.arange(0, max(stop - start, 1), size)
    )
    loud = np.flatnonzero(power[:-1] > 0.25 * power.max()) if len(power) > 4 else np.zeros(0, np.int64)
    if len(loud) and (loud[-1] + 1 - loud[0]) * size >= 0.02 * rate:
        return start + int(loud[0]) * size, start + int(loud[-1] + 1) * size
    return start, stop


def held(
    samples: Samples, rate: int, phone: Phone, more: int, generator: np.random.Generator
) -> tuple[int, int, Floats]:
    """Return what makes a phone about `more` samples longer: (first, past the last, what takes the place of these).

    A hiss goes on as noise of its own spectrum. A voice goes on in pieces of the phone's steady middle, each from where
    it continues the one before best (overlap-add over 15 ms), in an order that is never the same: a loop would buzz.
    The last piece may come up to one period early or late, so that the voice closes without a seam.
    """
    first, last = steady(samples, rate, phone)
    if manner(phone.name) == "fricative":
        size = min(round(FRAME * rate), last - first)
        inside = samples[first:last].astype(np.float64)
        rows = np.lib.stride_tricks.sliding_window_view(inside, size)[:: max(1, size // 4)]
        middle = (first + last) // 2
        fade = min(round(0.01 * rate), (last - first) // 2, more // 2)
        noise = noise_like(rows, more, generator)
        rise = np.sin(np.linspace(0, np.pi / 2, fade))  # noises add by their power
        if fade:
            noise[:fade] = rise * noise[:fade] + rise[::-1] * window(samples, middle, middle + fade)
            noise[-fade:] = rise[::-1] * noise[-fade:] + rise * window(samples, middle - fade, middle)
        return middle, middle, noise
    hop = max(8, min(round(0.015 * rate), (last - first) // 3))
    reach = max(4, min(round(0.008 * rate), (last - first - hop) // 2))
    origin = first - reach
    sound = window(samples, origin, last + 2 * hop + reach)
    squares = np.concatenate([[0.0], np.cumsum(sound**2)])
    least = 1e-3 * float(squares[-1]) * hop / len(sound) + 1e-12
    rising = 0.5 - 0.5 * np.cos(np.pi * np.arange(hop) / hop)
    coarse = max(1, rate // 8000)  # what a voice is recognized by lies below 4 kHz
    pieces: list[Floats] = []
    read = first

    def join(aim: int, most: int) -> int:
        """Lead from what follows `read` to the best place near `aim`, then on for `most` samples; return the end."""
        at, low, high = read - origin, aim - reach - origin, aim + reach - origin + 1
        natural = sound[at : at + hop]
        fits = np.correlate(sound[low : high - 1 + hop : coarse], natural[::coarse], "valid")
        energy = squares[low + hop : high + hop : coarse] - squares[low:high:coarse]
        count = min(len(fits), len(energy))
        best = int(np.argmax(fits[:count] / np.sqrt(np.maximum(energy[:count], least))))
        place = low + best * coarse + hop
        end = max(place, min(place + most, last - origin))
        pieces.append(natural + rising * (sound[place - hop : place] - natural))
        pieces.append(sound[place:end])
        return end + origin

    while (left := last - first + more - sum(map(len, pieces))) > 2 * hop + (last - first) // 2:
        aim = int(generator.integers(first, max(first + 1, last - 2 * hop)))
        read = join(aim, min(last - hop - aim - hop, left - 3 * hop))
    # The rest is the phone itself, from the place where what is left has the right length.
    read = join(max(first, last - max(left, hop)), last - first)
    return first, max(read, last), _level(np.concatenate(pieces), rate)


def _level(sound: Floats, rate: int) -> Floats:
    """Return a held voice at an even level: frames of different loudness in turn would be heard as a flutter."""
    size = round(0.025 * rate)
    if len(sound) < 4 * size:
        return sound
    total = np.concatenate([[0.0], np.cumsum(np.pad(sound, size // 2, mode="reflect") ** 2)])
    level = np.sqrt(np.maximum((total[size:] - total[:-size])[: len(sound)], 1e-12))
    gain = np.clip(float(np.median(level)) / level, 0.5, 2.0)
    taper = np.minimum(1.0, np.minimum(np.arange(len(sound)), np.arange(len(sound))[::-1]) / size)
    leveled: Floats = sound * (1 + taper * (gain - 1))
    return leveled


def release(samples: Samples, rate: int, phone: Phone) -> int:
    """Return where a stop is released: the sample of the steepest rise of its level; what is before is its closure."""
    start, stop = round(phone.start * rate), min(round(phone.end * rate), len(samples))
    size = max(4, round(0.003 * rate))
    if stop - start < 4 * size:
        return start
    slope = np.diff(samples[start:stop].astype(np.float64))
    total = np.concatenate([[0.0], np.cumsum(slope**2)])
    energy = (total[size:] - total[:-size])[::8]
    lag = max(1, size // 8)
    if len(energy) <= lag:
        return start
    rise = energy[lag:] / (energy[:-lag] + 1e-3 * float(energy.max()) + 1e-12)
    return start + int(np.argmax(rise)) * 8 + size // 2


def shifted(sound: Floats, pitch: float) -> Floats:
    """Return a sound at `pitch` times its pitch, as much shorter."""
    count = max(2, round(len(sound) / pitch))
    return np.interp(np.linspace(0, len(sound) - 1, count), np.arange(len(sound)), sound)


def laid(
    samples: Samples,
    rate: int,
    length: int,
    sounds: Iterable[tuple[int, Floats]],
    generator: np.random.Generator,
) -> Floats:
    """Return room tone of a length with sounds on it, each at its place: it rises out of it and falls back into it."""
    bed = room_tone(samples, rate, length, generator)
    for at, sound in sounds:
        part = bed[at : at + len(sound)]
        fade = min(round(EDGE * rate), len(part) // 2)
        mask = np.ones(len(part))
        if fade:
            rise = 0.5 - 0.5 * np.cos(np.pi * (np.arange(fade) + 1) / (fade + 1))
            mask[:fade], mask[-fade:] = rise, rise[::-1]
        part += mask * (sound[: len(part)] - part)
    return bed


def pitch_of(sound: Samples, rate: int) -> float | None:
    """Return the median pitch in Hz of the voiced parts of a sound (60 to 400 Hz); None where none is voiced.

    >>> tone = np.sin(2 * np.pi * 120 * np.arange(16_000) / 16_000).astype(np.float32)
    >>> round(pitch_of(tone, 16_000))
    120
    """
    size = round(0.04 * rate)
    low, high = round(rate / 400), round(rate / 60)
    count = len(sound) // size
    if count < 1:
        return None
    frames = sound[: count * size].reshape(count, size).astype(np.float64)
    power = np.mean(frames**2, axis=1)
    frames = frames[power > 0.1 * power.max()][:200] if power.max() > 0 else frames[:0]
    if not len(frames):
        return None
    spectrum = rfft(frames - frames.mean(axis=1, keepdims=True), 2 * size)
    alike = irfft(np.abs(spectrum) ** 2)[:, :size]
    alike = alike / np.maximum(alike[:, :1], 1e-12) * (size / (size - np.arange(size)))
    best = alike[:, low:high]
    voiced = best.max(axis=1) > 0.5
    # Of several periods the first that fits nearly as well: else half the pitch would be found.
    near = np.argmax(best > 0.9 * best.max(axis=1, keepdims=True), axis=1) + low
    peaks = np.array([row[n : n + low].argmax() + n for row, n in zip(alike, near, strict=True)])
    return float(rate / np.median(peaks[voiced])) if voiced.any() else None


def as_loud(clip: Samples, samples: Samples, rate: int, timings: Timings) -> Samples:
    """Return a clip at the root mean square level of the recording's words, never beyond full scale."""
    spans = [
        samples[round(word.start * rate) : round(word.end * rate)] for word in timings.words if not word.event
    ]
    speech = np.concatenate(spans).astype(np.float64) if spans else np.zeros(0)
    own = float(np.sqrt(np.mean(clip.astype(np.float64) ** 2))) if len(clip) else 0.0
    if own == 0.0:
        raise StutterError("interjection: the filler clip is silent")
    wanted = float(np.sqrt(np.mean(speech**2))) if len(speech) else own
    gain = min(wanted / own, 1.0 / float(np.max(np.abs(clip))))
    return (clip * np.float32(gain)).astype(np.float32)
