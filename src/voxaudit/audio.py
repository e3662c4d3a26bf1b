"""Read, write and hash audio. One value type everywhere: float32 mono samples and their rate."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from voxaudit import files
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import Limits

Samples = NDArray[np.float32]

USUAL_RATE = 48_000
"""Hz. A recording has at most as many samples as the longest one would have at this rate."""
LOST = 0.1
"""Seconds. A recording that lacks more than this of what it promises is not used: its last words were not heard."""
BLOCK = 1 << 22
"""Samples of all channels that are decoded at a time."""


class AudioError(VoxauditError):
    """A recording that cannot be used: costs its own trials, not the run."""


@dataclass(frozen=True, slots=True, eq=False)
class Audio:
    """Mono audio: float32 samples, nominally within [-1, 1], and their rate in Hz."""

    samples: Samples
    rate: int

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate


def read(
    path: str | Path,
    *,
    rate: int | None = None,
    start: float = 0.0,
    duration: float | None = None,
    channel: int | None = None,
    fetch: Callable[[str, int], bytes] = files.read_bytes,
    limits: Limits = Limits(),
) -> Audio:
    """Read an audio file (WAV, FLAC, MP3, Ogg Vorbis or Opus, AIFF ...) as mono float32.

    Channels are averaged, unless one `channel` is chosen. `start` and `duration` (seconds) cut a segment out of a
    longer recording. With `rate` (Hz) the audio is resampled. A URL (`s3://...`) is read with `fetch`, which gets how
    many bytes it may return. What cannot be used (missing, broken, cut short, empty, not finite, beyond the `limits`)
    raises `AudioError` with one line that names the file.
    """
    import soundfile

    url = files.url_of(path)
    path = Path(path)
    source: Path | io.BytesIO = path
    name = url or str(path)
    if url is not None:
        try:
            content = fetch(url, int(limits.largest * 1e6) + 1)
        except files.RemoteError as error:
            raise AudioError(str(error)) from error
        source = io.BytesIO(content)
    elif not path.is_file():
        raise AudioError(f"{path}: no such audio file")
    try:
        # Opened by itself first: soundfile does not tell why it cannot.
        with path.open("rb") if url is None else io.BytesIO(content) as raw:
            size = raw.seek(0, os.SEEK_END)
            require_size(name, size, limits)
            counted, fault = _counts_its_frames(raw), _fault_of_pages(raw, size)
        if fault:
            raise AudioError(f"{name}: {fault}")
        with soundfile.SoundFile(source) as file:
            own_rate = int(file.samplerate)
            promised = _promised(file) if file.format != "MP3" or counted else 0
            if own_rate < limits.lowest_rate:
                raise AudioError(
                    f"{name}: has {own_rate:,} samples per second, under the limit of {limits.lowest_rate:,}"
                    " (`lowest_rate`)"
                )
            if file.frames >= _UNKNOWN:
                raise AudioError(
                    f"{name}: does not say how long it is, as where it was written to a pipe. Convert it to WAV or FLAC"
                    " first, for example with ffmpeg."
                )
            first = round(min(start * own_rate, file.frames + 1))
            if first > file.frames:
                raise AudioError(
                    f"{name}: the segment starts at {start:g} s but the file ends at {file.frames / own_rate:g} s"
                )
            if first:
                file.seek(first)
            frames = file.frames - first
            if duration is not None:
                frames = round(max(min(frames, duration * own_rate), 0))
            if frames > limits.longest * min(own_rate, USUAL_RATE):
                raise AudioError(
                    f"{name}: lasts {frames / own_rate:,.0f} s at {own_rate:,} Hz, over the limit of"
                    f" {limits.longest:,g} s at up to {USUAL_RATE:,} Hz (`longest`)"
                )
            samples = _mono(file, frames, channel)
            end = promised if duration is None else min(promised, first + duration * own_rate)
            there = first + len(samples)
            if end - there > LOST * own_rate:
                raise AudioError(
                    f"{name}: ends after {there / own_rate:.2f} s, and promises {promised / own_rate:.2f} s:"
                    " cut short, or not yet whole"
                )
    except (soundfile.SoundFileError, OSError, RuntimeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or one_line(error, 200).replace(repr(source), "''").replace(
            name, ""
        )
        reason = reason.replace("Error opening '':", "").strip(" :")
        hint = (
            ""
            if path.suffix.lower() in SUFFIXES
            else " Convert it to WAV or FLAC first, for example with ffmpeg."
        )
        raise AudioError(f"{name}: cannot read this audio ({reason.rstrip('.')}).{hint}") from error
    if len(samples) == 0:
        raise AudioError(f"{name}: no samples in this audio")
    if not np.isfinite(samples).all():
        raise AudioError(f"{name}: the audio has NaN or infinite samples")
    audio = Audio(np.ascontiguousarray(samples), own_rate)
    return audio if rate is None else resample(audio, rate)


def length(path: str | Path) -> float | None:
    """Return how many seconds a local recording lasts, as its header says; None where that is not known.

    >>> length("missing.wav") is None
    True
    """
    import soundfile

    try:
        about = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError, RuntimeError, TypeError):
        return None
    return None if about.frames >= _UNKNOWN else float(about.frames / about.samplerate)


# Recordings that were cut short. FLAC says so by itself; an MP3 file without a count of its frames cannot.


def _promised(file: Any) -> int:
    """Return how many frames a file says it has; those of PCM that are not there are in libsndfile's log only."""
    said = _SAID.search(file.extra_info)
    if said is None or not (0 < int(said[2]) < int(said[1]) < _STREAMED):
        return int(file.frames)
    return int(file.frames * int(said[1]) / int(said[2]))


_SAID = re.compile(r"^ *(?:data|SSND|Data Size) *: (\d+) \(should be (\d+)\)", re.MULTILINE)
_STREAMED = 0x7EFF0000
"""Bytes. A longer length was written before any was known: the largest there is, or SoX's 0x7FFFF000 (WAV) and
0x7F000000 (AIFF), in whole blocks."""
_UNKNOWN = 2**63 - 1
"""Frames, in libsndfile's words, of a FLAC file whose header has no count; it cannot be read in pieces."""


def _counts_its_frames(raw: BinaryIO) -> bool:
    """Say whether an MP3 file begins with a count of its frames: else its length is a guess from the first ones."""
    raw.seek(0)
    head = raw.read(10)
    tag = sum(byte << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=False)) + 10
    raw.seek(tag if head.startswith(b"ID3") else 0)
    first = raw.read(200)
    return b"Xing" in first or b"Info" in first


def _fault_of_pages(raw: BinaryIO, size: int) -> str | None:
    """Say why an Ogg file would be heard in part only: libsndfile reads what there is of the first stream."""
    place, begun = 0, False
    while place < size:
        raw.seek(place)
        head = raw.read(27 + 255)
        if not head.startswith(b"OggS"):
            return None  # no Ogg file, or one that libsndfile refuses
        # A page has a header of 27 bytes, the lengths of its segments, and these.
        place += size if len(head) < 27 else 27 + head[26] + sum(head[27 : 27 + head[26]])
        starts = len(head) > 5 and head[5] & 2
        if starts and begun:
            return (
                "several recordings one after the other, of which one would be heard; split it, or convert it"
            )
        begun |= not starts
    return "ends in the middle of a page: cut short, or not yet whole" if place > size else None


def require_size(name: str, size: int, limits: Limits) -> None:
    """Raise one line where an audio file of `size` bytes is larger than the limits allow."""
    if size > limits.largest * 1e6:
        raise AudioError(f"{name}: is larger than the limit of {limits.largest:,g} MB (`largest`)")


def _mono(file: Any, frames: int, channel: int | None) -> Samples:
    """Read so many frames, of one channel or the mean of all; a file of many is never in memory as a whole."""
    samples = np.empty(frames, dtype=np.float32)
    step, done = max(1, BLOCK // file.channels), 0
    while done < frames:
        data = file.read(min(step, frames - done), dtype="float32", always_2d=True)
        if len(data) == 0:  # the header promised more
            break
        one = 0 if data.shape[1] == 1 else channel
        samples[done : done + len(data)] = (
            data.mean(axis=1, dtype=np.float32) if one is None else data[:, one]
        )
        done += len(data)
    return samples[:done]


SUFFIXES = frozenset(
    {".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".sph", ".caf", ".w64"}
)
"""File endings taken for audio when a folder is searched."""


def write(path: str | Path, audio: Audio, subtype: str = "PCM_16") -> None:
    """Write audio; the ending decides the format. Integer subtypes saturate at full scale, never wrap.

    A reader never sees half a file, and a write error leaves what was there.
    """
    import soundfile

    from voxaudit.tables import write_atomically

    path = Path(path)
    samples = audio.samples if subtype in ("FLOAT", "DOUBLE") else np.clip(audio.samples, -1.0, 1.0)
    file = io.BytesIO()
    try:
        soundfile.write(file, samples, audio.rate, subtype=subtype, format=path.suffix[1:].upper())
    except (soundfile.SoundFileError, ValueError, TypeError) as error:
        raise VoxauditError(f"{path}: cannot write this audio ({one_line(error, 200)})") from error
    write_atomically(path, lambda temporary: temporary.write_bytes(file.getbuffer()))


def resample(audio: Audio, rate: int) -> Audio:
    """Resample to `rate` Hz with soxr at high quality; unchanged audio is returned as it is."""
    if rate == audio.rate:
        return audio
    import soxr

    if rate <= 0:
        raise VoxauditError(f"the sample rate must be positive, not {rate}")
    # soxr gives nothing back for a handful of samples: hold the value instead of losing the clip.
    length = max(1, round(len(audio.samples) * rate / audio.rate))
    samples = soxr.resample(audio.samples, audio.rate, rate, quality="HQ")
    if len(samples) == 0:
        samples = np.full(length, audio.samples[0], dtype=np.float32)
    return Audio(np.ascontiguousarray(samples, dtype=np.float32), rate)


def pcm16(samples: Samples) -> NDArray[np.int16]:
    """Return samples as 16-bit integers, 1.0 being full scale; what exceeds it saturates."""
    scaled = np.rint(samples * np.float32(32768.0))
    limited: NDArray[np.int16] = np.clip(scaled, -32768, 32767).astype(np.int16)
    return limited


def content_hash(path: str | Path, limits: Limits = Limits()) -> str:
    """Return the SHA-256 of a file's bytes: the identity of a recording, wherever it lies."""
    url = files.url_of(path)
    if url is not None:
        try:
            return files.content_hash(url, int(limits.largest * 1e6))
        except files.RemoteError as error:
            raise AudioError(str(error)) from error
    if Path(path).exists() and not Path(path).is_file():  # a device or a pipe would be read for ever
        raise AudioError(f"{path}: no audio file")
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AudioError(f"{path}: cannot read this audio ({error.strerror or error})") from error
