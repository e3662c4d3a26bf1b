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
from voxaudit.perturb.stutter.base import Clip
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.perturb.stutter.checks import describe_event
from voxaudit.tables import read_table, require_columns, write_atomically

RECORDINGS = "recordings.parquet"
FILLERS = "fillers"
Marks = tuple[tuple[float, float, str], ...]
"""Where a recording was edited: first and last second, and what that is beside real events."""
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

    def stuttered(self, utterance: str, chain: str) -> tuple[Audio, Marks]:
        """Return the recording after a chain, the same bits as the recognizers heard, and where it was edited."""
        audio, timings = self.original(utterance), self.recordings[utterance].timings
        done = Chain.parse(chain)
        samples, spans = audio.samples, list[tuple[int, int, str]]()
        edits = done.edits(samples, audio.rate, timings, self.clips)
        for edit, operation in zip(edits, done.operations, strict=True):
            samples = edit.apply(samples)
            # An edit moves the places of those before it that lie behind it.
            spans = [
                (a + edit.growth, b + edit.growth, what) if a >= edit.stop else (a, b, what)
                for a, b, what in spans
            ]
            spans.append(
                (edit.start, edit.start + len(edit.samples), describe_event(operation.kind, edit.measures))
            )
        return Audio(samples, audio.rate), tuple(
            (a / audio.rate, b / audio.rate, what) for a, b, what in sorted(spans)
        )


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
