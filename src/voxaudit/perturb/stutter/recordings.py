"""Recordings that can be stuttered, kept in a folder so that the audio of a case can be made again, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import polars as pl

from voxaudit.align import Timings
from voxaudit.audio import Audio, read, write
from voxaudit.corpus import Utterance
from voxaudit.perturb.stutter.base import Clip, Edit
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.tables import read_table, require_columns, write_atomically

RECORDINGS = "recordings.parquet"
FILLERS = "fillers"
_COLUMNS = ("id", "audio", "speaker", "text", "start", "duration", "timings")


@dataclass(frozen=True)
class Recording:
    """An utterance that can be stuttered: when its words are spoken, and what the person means to say."""

    utterance: Utterance
    timings: Timings
    text: str

    def audio(self) -> Audio:
        """Return the recording as it is."""
        about = self.utterance
        return read(about.audio, start=about.start, duration=about.duration)


@dataclass(frozen=True)
class Replay:
    """Makes the audio of cases again, from the recordings and fillers that the audit used."""

    recordings: dict[str, Recording]
    clips: tuple[Clip, ...] = ()

    def original(self, utterance: str) -> Audio:
        """Return the recording as it is."""
        return self.recordings[utterance].audio()

    def stuttered(self, utterance: str, chain: str) -> tuple[Audio, list[Edit]]:
        """Return the recording after a chain, the same bits as the recognizers heard, and each operation's edit."""
        audio, timings = self.original(utterance), self.recordings[utterance].timings
        edits = Chain.parse(chain).edits(audio.samples, audio.rate, timings, self.clips)
        samples = audio.samples
        for edit in edits:
            samples = edit.apply(samples)
        return Audio(samples, audio.rate), edits


def write_recordings(folder: Path, recordings: Sequence[Recording], clips: Sequence[Clip]) -> None:
    """Write `recordings.parquet`, and the fillers as WAV of 32-bit floats: a replay needs the same samples."""
    rows = [
        (u.id, str(u.audio), u.speaker, r.text, u.start, u.duration, r.timings.to_json())
        for r in recordings
        for u in (r.utterance,)
    ]
    kinds = dict.fromkeys(_COLUMNS, pl.String) | {"start": pl.Float64, "duration": pl.Float64}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    write_atomically(folder / RECORDINGS, table.write_parquet)
    if clips:
        (folder / FILLERS).mkdir(exist_ok=True)
    for number, clip in enumerate(clips):
        write(folder / FILLERS / f"{number:03d}_{quote(clip.text, safe='')}.wav", clip.audio, subtype="FLOAT")


def read_recordings(folder: str | Path) -> Replay | None:
    """Return what `write_recordings` wrote; None where there is nothing."""
    path = Path(folder) / RECORDINGS
    if not path.exists():
        return None
    table = read_table(path)
    require_columns(table, _COLUMNS, path)
    recordings = {}
    for id_, audio, speaker, text, start, duration, timings in table.select(_COLUMNS).iter_rows():
        utterance = Utterance(id_, Path(audio), speaker, text, start or 0.0, duration)
        recordings[id_] = Recording(utterance, Timings.from_json(timings), text or "")
    files = sorted((Path(folder) / FILLERS).glob("[0-9][0-9][0-9]_*.wav"))
    return Replay(recordings, tuple(Clip(unquote(file.stem[4:]), read(file)) for file in files))
