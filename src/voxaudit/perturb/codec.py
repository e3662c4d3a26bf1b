"""Telephone lines and codecs: what is left of speech after it was sent or stored thriftily.

The recording is brought to the codec's rate, coded, decoded and brought back. The codecs' delays are taken out, so
lengths and timings stay. Digital silence stays silence. The coders are those of libsndfile (G.711, GSM 06.10, libopus,
LAME), which the soundfile package carries; another version of it may give other samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from voxaudit.audio import Audio, Samples, resample
from voxaudit.numeric import irfft, next_fast_len, rfft
from voxaudit.perturb.base import Perturbation, parameter

NARROWBAND = 8000
"""Rate of the telephone codecs, in Hz."""

WIDEBAND = 16000
"""Rate at which Opus and MP3 code, in Hz: what recognizers listen at. Nothing above 8 kHz is left."""

BAND_TAPS = 257
"""Length of the telephone's band-pass, in samples: it falls off within 100 Hz of its edges."""

MP3_DELAY = 1105
"""Delay of LAME and its decoder together, in samples: 576 + 529."""


@dataclass(frozen=True)
class Telephone(Perturbation):
    does = "Only {low:g} to {high:g} Hz, at a rate of 8 kHz: a telephone line's band, without a codec"
    units: ClassVar[Mapping[str, str]] = {"low": "Hz", "high": "Hz"}

    low: float = 300.0
    high: float = 3400.0

    def __post_init__(self) -> None:
        if not 0.0 < self.low < self.high < NARROWBAND / 2:
            raise ValueError("low and high must be frequencies in Hz with 0 < low < high < 4000")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return what lies in the band (half the amplitude at its edges); no delay."""
        return _coded(samples, rate, NARROWBAND, self._band)

    def _band(self, narrow: Samples) -> np.ndarray:
        # The difference of two windowed sincs, 1 in the middle of the band. A symmetric filter delays all frequencies
        # alike: by half its length, which is cut off.
        low, high = (frequency / (NARROWBAND / 2) for frequency in (self.low, self.high))
        place = np.arange(BAND_TAPS) - (BAND_TAPS - 1) / 2
        taps = (high * np.sinc(high * place) - low * np.sinc(low * place)) * np.hamming(BAND_TAPS)
        taps /= np.sum(taps * np.cos(np.pi * place * (low + high) / 2))
        size = next_fast_len(len(narrow) + BAND_TAPS - 1)
        spectrum = rfft(narrow.astype(np.float64), size) * rfft(taps, size)
        filtered: np.ndarray = irfft(spectrum, size)[BAND_TAPS // 2 : len(narrow) + BAND_TAPS - 1]
        return filtered


@dataclass(frozen=True)
class Mulaw(Perturbation):
    does = "G.711 mu-law at 8 kHz: a landline or a simple internet telephone in America and Japan"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples after 8 bits each, spaced logarithmically."""
        return _narrowband(samples, rate, "ULAW")


@dataclass(frozen=True)
class Alaw(Perturbation):
    does = "G.711 A-law at 8 kHz: a landline or a simple internet telephone in most of the world"

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples after 8 bits each, spaced logarithmically."""
        return _narrowband(samples, rate, "ALAW")


@dataclass(frozen=True)
class Gsm(Perturbation):
    """One pass is a mobile to a landline, two are mobile to mobile, more are calls handed on by further networks."""

    does = "GSM 06.10 full rate (13 kbit/s) at 8 kHz, coded {passes:g}x: a mobile call"
    severities = ({"passes": 1.0}, {"passes": 2.0}, {"passes": 3.0}, {"passes": 4.0})

    passes: float = 1.0

    def __post_init__(self) -> None:
        if not (1.0 <= self.passes <= 10.0 and self.passes == int(self.passes)):
            raise ValueError("passes must be a whole number from 1 to 10 (times the speech is coded)")

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples as the decoder gives them."""
        return _narrowband(samples, rate, "GSM610", int(self.passes))


@dataclass(frozen=True)
class Opus(Perturbation):
    """The rate varies with what is said; `kbps` is what the coder aims at, and speech at 16 kHz often needs less."""

    does = "Opus at {kbps:g} kbit/s: calls and voice messages on the internet"
    units: ClassVar[Mapping[str, str]] = {"kbps": "kbit/s"}
    severities = ({"kbps": 24.0}, {"kbps": 16.0}, {"kbps": 10.0}, {"kbps": 6.0})

    kbps: float = parameter(at_least=6, at_most=256)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples as the decoder gives them."""
        return _coded(samples, rate, WIDEBAND, self._codec)

    def _codec(self, wide: Samples) -> Samples:
        # libsndfile spreads its compression level, 0 to 1, over 256 to 6 kbit/s.
        level = (256.0 - self.kbps) / 250.0
        return _through(wide, WIDEBAND, format="OGG", subtype="OPUS", compression_level=level)


@dataclass(frozen=True)
class Mp3(Perturbation):
    does = "MP3 at a constant {kbps:g} kbit/s, the nearest of 16, 24, ... 160: dictation machines, podcasts, archives"
    units: ClassVar[Mapping[str, str]] = {"kbps": "kbit/s"}
    severities = ({"kbps": 64.0}, {"kbps": 32.0}, {"kbps": 24.0}, {"kbps": 16.0})

    kbps: float = parameter(at_least=16, at_most=160)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples as the decoder gives them."""
        return _coded(samples, rate, WIDEBAND, self._codec)

    def _codec(self, wide: Samples) -> Samples:
        # libsndfile spreads its compression level, 0 to 1, over 160 to 8 kbit/s at this rate.
        level = (160.0 - self.kbps) / 152.0
        layer = {"format": "MP3", "subtype": "MPEG_LAYER_III", "bitrate_mode": "CONSTANT"}
        coded = _through(wide, WIDEBAND, compression_level=level, **layer)
        # The frames of low bit rates are too small for the tag by which a decoder knows the delay.
        return coded[MP3_DELAY:] if len(coded) > len(wide) else coded


def _narrowband(samples: Samples, rate: int, subtype: str, passes: int = 1) -> Samples:
    def codec(narrow: Samples) -> Samples:
        coded = narrow
        for _ in range(passes):
            coded = _through(coded, NARROWBAND, format="WAV", subtype=subtype)[: len(narrow)]
        return coded

    return _coded(samples, rate, NARROWBAND, codec)


def _coded(samples: Samples, rate: int, codec_rate: int, codec: Callable[[Samples], np.ndarray]) -> Samples:
    """Return what `codec` leaves of the samples at its rate, at their own rate and length, within full scale."""
    if not samples.any():
        return samples.copy()
    heard = resample(Audio(samples, rate), codec_rate).samples
    coded = codec(np.clip(heard, np.float32(-1.0), np.float32(1.0)))[: len(heard)]
    back = resample(Audio(coded.astype(np.float32), codec_rate), rate).samples[: len(samples)]
    return np.pad(np.clip(back, np.float32(-1.0), np.float32(1.0)), (0, len(samples) - len(back)))


def _through(samples: Samples, rate: int, **settings: Any) -> Samples:
    """Return what libsndfile decodes of what it coded, in memory; it may be longer than `samples`."""
    import io

    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, rate, **settings)
    file.seek(0)
    decoded: Samples = soundfile.read(file, dtype="float32")[0]
    return decoded
