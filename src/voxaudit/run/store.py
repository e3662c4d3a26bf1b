"""The store of a run: one SQLite file with every finished trial, written by the driver only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import polars as pl

from voxaudit.recognize.base import Message, Transcript, Word
from voxaudit.run.database import Database, marks
from voxaudit.run.trial import Outcome

TRANSCRIPT_COLUMNS = {
    "utterance": pl.String,
    "scenario": pl.String,
    "recognizer": pl.String,
    "text": pl.String,
    "confidence": pl.Float64,
    "word_times": pl.String,
    "seconds": pl.Float64,
    "failure": pl.String,
    "trace": pl.String,
}
"""The `transcripts` table. `word_times` is JSON: a list of [word, start, end, confidence], in seconds; so is `trace`,
what a recognizer said while it listened: [sent_s, received_s, text, final]."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    recognizer TEXT NOT NULL, utterance TEXT NOT NULL, scenario TEXT NOT NULL, key BLOB NOT NULL,
    text TEXT, confidence REAL, word_times TEXT, seconds REAL, failure TEXT,
    PRIMARY KEY (recognizer, utterance, scenario)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audio (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, hash TEXT NOT NULL
) WITHOUT ROWID;
"""
TRACES = "CREATE TABLE IF NOT EXISTS traces (key BLOB PRIMARY KEY, trace TEXT NOT NULL) WITHOUT ROWID;"
"""What was said while listening, by trial: a table of its own, which earlier versions do not miss."""


class Store:
    """The finished trials of a run, and the content hashes of its recordings.

    A trial counts as done while its key is the same: a recording, scenario or recognizer that changed
    is heard again. Every call that writes is one transaction; a process killed at any moment leaves
    the last finished transaction.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _SCHEMA + TRACES)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def finished(
        self, recognizer: str, utterances: Sequence[str], *, failed: bool
    ) -> dict[tuple[str, str], bytes]:
        """Return {(utterance, scenario): key} of what is done; with `failed`, recorded failures count as done."""
        rows = self._database.read(
            f"SELECT utterance, scenario, key FROM trials WHERE recognizer = ? AND utterance IN ({marks(utterances)})"
            + ("" if failed else " AND failure IS NULL"),
            [recognizer, *utterances],
        )
        return {(utterance, scenario): key for utterance, scenario, key in rows}

    def add(self, recognizer: str, outcomes: Iterable[Outcome]) -> None:
        """Record outcomes, in one transaction; what was said while listening, if anything was, before them."""
        outcomes = list(outcomes)
        write_traces(self._database, outcomes)
        self._database.write(
            "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    recognizer,
                    outcome.trial.utterance,
                    outcome.trial.scenario,
                    outcome.trial.key,
                    *transcript_row(outcome.transcript),
                    outcome.seconds,
                    outcome.failure,
                )
                for outcome in outcomes
            ],
        )

    def outcomes(self, recognizer: str) -> dict[bytes, tuple[Transcript | None, float, str | None]]:
        """Return {key: (transcript, seconds, failure)} of everything a recognizer has heard, failures too."""
        rows = self._database.read(
            "SELECT key, text, confidence, word_times, trace, seconds, failure FROM trials"
            " LEFT JOIN traces USING (key) WHERE recognizer = ?",
            [recognizer],
        )
        return {
            key: (None if text is None else transcript_from_row(text, *more), seconds, failure)
            for key, text, *more, seconds, failure in rows
        }

    def times(self, recognizer: str, most: int) -> list[tuple[str, str, float]]:
        """Return (utterance, scenario, seconds) of at most so many trials that a recognizer answered."""
        rows = self._database.read(
            "SELECT utterance, scenario, seconds FROM trials WHERE recognizer = ? AND failure IS NULL LIMIT ?",
            [recognizer, most],
        )
        return [(utterance, scenario, float(seconds)) for utterance, scenario, seconds in rows]

    def audio_hashes(self, paths: Sequence[str]) -> dict[str, tuple[int, int, str]]:
        """Return {path: (size, modified, hash)} of the recordings whose hash is known."""
        rows = self._database.read(
            f"SELECT path, size, modified, hash FROM audio WHERE path IN ({marks(paths)})", list(paths)
        )
        return {path: (size, modified, hash_) for path, size, modified, hash_ in rows}

    def add_audio_hashes(self, rows: Iterable[tuple[str, int, int, str]]) -> None:
        """Remember (path, size, modified, hash), so that a resumed run reads no recording to know it."""
        self._database.write("INSERT OR REPLACE INTO audio VALUES (?, ?, ?, ?)", rows)

    def transcripts(self, recognizers: Sequence[str], chunk: int = 100_000) -> Iterator[pl.DataFrame]:
        """Yield the `transcripts` table in chunks, ordered by recognizer, utterance and scenario."""
        for recognizer in recognizers:
            found = self._database.read(
                f"SELECT {', '.join(TRANSCRIPT_COLUMNS)} FROM trials LEFT JOIN traces USING (key)"
                " WHERE recognizer = ? ORDER BY utterance, scenario",
                [recognizer],
            )
            while rows := list(islice(found, chunk)):
                yield pl.DataFrame(rows, schema=TRANSCRIPT_COLUMNS, orient="row")


def transcript_row(transcript: Transcript | None) -> tuple[str | None, float | None, str | None]:
    """Return (text, confidence, word_times) as they are stored."""
    if transcript is None:
        return None, None, None
    times = [[word.text, word.start, word.end, word.confidence] for word in transcript.words]
    return transcript.text, transcript.confidence, json.dumps(times, ensure_ascii=False) if times else None


def trace_of(transcript: Transcript | None) -> str | None:
    """Return what was said while listening as it is stored; None where nothing was."""
    if transcript is None or not transcript.messages:
        return None
    rows = [[one.sent_s, one.received_s, one.text, one.final] for one in transcript.messages]
    return json.dumps(rows, ensure_ascii=False)


def write_traces(database: Database, outcomes: Sequence[Outcome]) -> None:
    """Keep what recognizers said while they listened, under the keys of the trials."""
    rows = [(one.trial.key, trace) for one in outcomes if (trace := trace_of(one.transcript)) is not None]
    if rows:
        database.write("INSERT OR REPLACE INTO traces VALUES (?, ?)", rows)


def transcript_from_row(
    text: str, confidence: float | None, word_times: str | None, trace: str | None = None
) -> Transcript:
    """Return the transcript that `transcript_row` and `trace_of` stored."""
    words = tuple(Word(*word) for word in json.loads(word_times or "[]"))
    return Transcript(text, words, confidence, tuple(Message(*one) for one in json.loads(trace or "[]")))
