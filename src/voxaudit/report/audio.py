"""Audio of trials made again, as it was heard, and packed small enough to travel inside a page."""

from __future__ import annotations

import io
from dataclasses import dataclass

from voxaudit.audio import Audio, read, resample
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN, Scenario, parse_scenario
from voxaudit.perturb.sources import Source, reopen_sources
from voxaudit.run import Run

RATE = 16000
"""Hz of packed audio: what recognizers mostly hear."""

BLOCK = 8192
"""Samples that are packed at a time."""

LONGEST = 30.0
"""Seconds of a recording that are packed."""

MEDIA_TYPE = "audio/ogg"


@dataclass(frozen=True)
class CaseAudio:
    """A trial's audio, packed: as recorded and as heard; None where it could not be made."""

    original: bytes | None = None
    audio: bytes | None = None
    media_type: str = MEDIA_TYPE

    @property
    def size(self) -> int:
        """Bytes of both."""
        return len(self.original or b"") + len(self.audio or b"")


class Remaker:
    """Makes the audio of a run's trials again: the same seed, the same sources, the same bits.

    Sources whose recordings are no longer those of the run raise one line.
    """

    def __init__(self, run: Run) -> None:
        config = run.config
        self._run = run
        self._seed = int(config["seed"])
        self._roles = set(config.get("corpora", {}))
        size = int(config["corpus"]["utterances"])
        corpus = Corpus(config["corpus"]["name"], "run", run.corpus.head(size))
        self._sources: dict[str, Source] = reopen_sources(config.get("sources", {}), corpus)

    def make(self, utterance: str, scenario: str) -> CaseAudio:
        """Return a trial's audio; without what cannot be read, made or packed."""
        found = self._utterance(utterance)
        if found is None:
            return CaseAudio()
        try:
            clip = read(found.audio, start=found.start, duration=found.duration)
            heard = self._scenario(scenario).apply(clip, seed=self._seed, utterance=found.id)
            original = pack(clip)
            return CaseAudio(original, None if scenario == CLEAN else pack(heard))
        except (VoxauditError, ValueError, ImportError):
            return CaseAudio()

    def _utterance(self, id_: str) -> Utterance | None:
        import polars as pl

        rows = self._run.corpus.filter(pl.col("id") == id_).head(1)
        return next(iter(Corpus("", "run", rows)), None)

    def _scenario(self, id_: str) -> Scenario:
        return Scenario(id_, None) if id_ in self._roles else parse_scenario(id_, self._sources)


def pack(audio: Audio) -> bytes:
    """Return audio as Ogg Vorbis at 16 kHz, at most its first half minute."""
    import numpy as np
    import soundfile

    low = resample(audio, RATE)
    samples = np.clip(low.samples[: int(LONGEST * RATE)], -1.0, 1.0)
    buffer = io.BytesIO()
    try:
        with soundfile.SoundFile(buffer, "w", RATE, 1, format="OGG", subtype="VORBIS") as file:
            for first in range(0, len(samples), BLOCK):  # the encoder keeps a whole call on its stack
                file.write(samples[first : first + BLOCK])
    except (soundfile.SoundFileError, TypeError) as error:
        raise VoxauditError(f"cannot pack audio as Ogg Vorbis ({error})") from error
    return buffer.getvalue()
