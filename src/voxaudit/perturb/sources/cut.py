"""A stretch of noise out of a clip: cut at a random place where the clip is longer, repeated where it is shorter."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress

import numpy as np

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError
from voxaudit.files import cache_folder, safe_name
from voxaudit.perturb.sources.base import Signal

QUIET = 0.01
"""A stretch whose RMS is below this share of its clip's (-40 dB) counts as silent: raised to an SNR, only the
recording's own hiss would be heard."""

TRIES = 8
"""How often another place is drawn before the loudest moment of the clip is taken."""

CACHE_BYTES = 64 * 2**20
"""Memory for clips that were read or made, per process."""


def cut(clip: Samples, length: int, generator: np.random.Generator) -> Signal:
    """Return `length` samples of a clip that is not silent, from a random place, repeated where it is too short."""
    loud = QUIET * rms(clip)
    places = len(clip) if len(clip) < length else len(clip) - length + 1
    for _ in range(TRIES):
        stretch = _from(clip, int(generator.integers(places)), length)
        if rms(stretch) >= loud:
            return stretch
    peak = int(np.argmax(np.abs(clip)))
    return _from(clip, min(peak, places - 1), length)


def _from(clip: Samples, start: int, length: int) -> Signal:
    if start + length <= len(clip):
        return clip[start : start + length].astype(np.float64)
    return np.resize(np.roll(clip, -start), length).astype(np.float64)


def rms(samples: Samples | Signal) -> float:
    """Return the root mean square of samples."""
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


class Kept:
    """The clips used last, within a number of bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.size = 0
        self._clips: OrderedDict[Hashable, Samples] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Samples]) -> Samples:
        """Return the clip of this key, made now where it is not kept."""
        with self._lock:
            if key in self._clips:
                self._clips.move_to_end(key)
                return self._clips[key]
        clip = make()
        clip.flags.writeable = False  # shared by all who ask: nobody may change it
        with self._lock:
            if key not in self._clips:
                self._clips[key] = clip
                self.size += clip.nbytes
            while self.size > self.limit and len(self._clips) > 1:
                self.size -= self._clips.popitem(last=False)[1].nbytes
        return clip


KEPT = Kept()
"""This process's clips."""


def made_once(name: str, make: Callable[[], Samples]) -> Samples:
    """Return a clip that is made by formula: out of the cache folder where any process made it before.

    A worker would else spend seconds on the built-in noise before it is of use. What cannot be read or written there
    is made anew: the folder only saves time.
    """
    path = cache_folder() / "clips" / f"{safe_name(name)}.f32"
    with suppress(OSError):
        kept = path.read_bytes()
        if kept and hashlib.sha256(kept[32:]).digest() == kept[:32]:
            return np.frombuffer(kept, "<f4", offset=32).astype(np.float32)
    from voxaudit.tables import write_atomically  # and with it polars, which a worker does without

    clip = make()
    samples = clip.astype("<f4").tobytes()
    with suppress(OSError, VoxauditError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda place: place.write_bytes(hashlib.sha256(samples).digest() + samples))
    return clip
