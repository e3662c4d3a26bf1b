"""Crosstalk from the corpus itself: other people of the same recordings, never the utterance's own speaker."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voxaudit import audio
from voxaudit.perturb.sources.base import NoiseSource, Signal, digest
from voxaudit.perturb.sources.builtin import TALKERS
from voxaudit.perturb.sources.folder import probe
from voxaudit.perturb.sources.recordings import Clip, Recordings

if TYPE_CHECKING:  # worker processes import this module and must start without the corpus's tables
    from voxaudit.corpus import Corpus

POOL = 64
"""Utterances kept as crosstalk: enough for variety, few enough to stay in memory."""

_UNKNOWN = -1


@dataclass(frozen=True, repr=False)
class OtherSpeakers(NoiseSource):
    """Utterances of several speakers; `own` says which number of `speakers` an utterance must not hear.

    An utterance whose speaker is unknown hears talkers made by formula: any of the recordings may be its own.
    """

    title: str
    clips: tuple[Clip, ...]
    speakers: tuple[int, ...]
    hashes: tuple[str, ...]
    own: Mapping[str, int] = field(compare=False)

    def describe(self) -> str:
        """Return the corpus, and how many clips of how many speakers are used."""
        return (
            f"other speakers of the corpus {self.title}: {len(self.clips)} clips of {len(set(self.speakers))}"
            " speakers, never the utterance's own"
        )

    def fingerprint(self) -> str:
        """Return the digest of all clips."""
        return f"speakers {digest(self.hashes)}"

    def for_utterance(self, utterance: str) -> NoiseSource:
        """Return the clips without those of the utterance's own speaker."""
        own = self.own.get(utterance)
        if own == _UNKNOWN:
            return TALKERS
        kept = [number for number, speaker in enumerate(self.speakers) if speaker != own]
        content = digest(self.hashes[number] for number in kept)
        return Recordings(self.describe(), tuple(self.clips[number] for number in kept), content)

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of any speaker: for audio from outside the corpus."""
        return self.for_utterance("").draw(length, rate, generator)


def other_speakers(corpus: Corpus) -> NoiseSource:
    """Return the corpus as a source of crosstalk, or talkers made by formula where it has fewer than two speakers.

    The choice follows from the ids and speakers alone: turns go round the speakers, in the order of a hash,
    until `POOL` usable utterances are found.
    """
    pool: list[tuple[Clip, str, str]] = []
    for row in _candidates(corpus):
        if len(pool) == POOL:
            break
        speaker, path = row["speaker"], row["audio"]
        clip = _clip(path, row["start"], row["duration"])
        if clip is not None:
            pool.append((clip, speaker, f"{audio.content_hash(path)} {clip.start:g} {clip.duration:g}"))
    numbers = {speaker: number for number, speaker in enumerate(dict.fromkeys(s for _, s, _ in pool))}
    if len(numbers) < 2:
        return TALKERS
    own = {
        utterance: _UNKNOWN if speaker is None else numbers[speaker]
        for utterance, speaker in corpus.table.select("id", "speaker").iter_rows()
        if speaker is None or speaker in numbers
    }
    clips, speakers, hashes = zip(*pool, strict=True)
    return OtherSpeakers(corpus.name, clips, tuple(numbers[s] for s in speakers), hashes, own)


def _candidates(corpus: Corpus) -> Iterator[dict[str, Any]]:
    rows: dict[str, list[tuple[str, int]]] = {}
    for number, (utterance, speaker) in enumerate(corpus.table.select("id", "speaker").iter_rows()):
        if speaker is not None:
            rows.setdefault(speaker, []).append((_rank(utterance), number))
    turns = [
        [number for _, number in sorted(rows[speaker])[:POOL]] for speaker in sorted(rows, key=_rank)[:POOL]
    ]
    for number in chain.from_iterable(zip_longest(*turns)):
        if number is not None:
            yield corpus.table.row(number, named=True)


def _rank(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _clip(path: str, start: float | None, duration: float | None) -> Clip | None:
    """Return the clip of an utterance, or None where it cannot be read or is silent."""
    if start is None or duration is None:
        whole = probe(Path(path))
        if isinstance(whole, str) or whole <= (start or 0.0):
            return None
        return Clip(path, start or 0.0, whole - (start or 0.0))
    try:
        heard = audio.read(path, start=start, duration=duration)
    except audio.AudioError:
        return None
    return Clip(path, start, heard.duration) if heard.samples.any() else None
