"""Traces: what recognizers said while they listened, as files that any client can write, and what a trace tells.

A trace file has one row per message (JSON lines; CSV and Parquet serve as well): `utterance`, `sent_s` (seconds of
audio sent by then), `received_s` (seconds on the clock since the speaker began), `text`, `final`; and `recognizer`,
`scenario`, `speaker`, `reference`, `duration` or attributes, where they are known.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError, one_line

COLUMNS = ("sent_s", "received_s", "text", "final")
AHEAD = 0.05
"""Seconds by which audio may be ahead of the clock at real time: clocks are rounded."""


def is_trace(names: Sequence[str]) -> bool:
    """Say whether a table with these columns is a trace."""
    return {"utterance", *COLUMNS} <= set(names)


def as_trials(table: pl.DataFrame, where: str | Path = "trace") -> pl.DataFrame:
    """Return the trials of a trace, a row each: its text (the final stretches) and the messages in order, as JSON.

    What is no time or no text raises one line with its row.

    >>> rows = [{"utterance": "a", "sent_s": 1, "received_s": 1.2, "text": "go", "final": False}]
    >>> rows += [{"utterance": "a", "sent_s": 2, "received_s": 2.1, "text": "go on", "final": True}]
    >>> as_trials(pl.DataFrame(rows)).row(0)
    ('a', 'go on', '[[1.0, 1.2, "go", false], [2.0, 2.1, "go on", true]]')
    """
    keys = [name for name in ("utterance", "scenario", "recognizer") if name in table.columns]
    others = [name for name in table.columns if name not in (*keys, *COLUMNS)]
    for name in (*keys, *COLUMNS):
        if table.schema[name].is_nested():
            raise VoxauditError(f"{where}: column '{name}' of this trace holds {table.schema[name]}")
    final = pl.col("final").cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"])
    typed = table.with_columns(
        pl.col("sent_s", "received_s").cast(pl.Float64, strict=False),
        pl.col("text").cast(pl.String).fill_null(""),
        final=final,
    )
    for name in ("sent_s", "received_s"):
        untimed = ~typed[name].is_finite().fill_null(False)
        if untimed.any():
            row = int(untimed.arg_max() or 0)
            raise VoxauditError(
                f"{where}: row {row + 1:,}, column '{name}': {one_line(repr(table[name][row]), 60)} is not a time"
            )
    typed = typed.sort("received_s", maintain_order=True)
    said = pl.col("text").filter(pl.col("final") & (pl.col("text") != "")).str.join(" ").alias("text")
    messages = pl.struct(COLUMNS).alias("trace")
    trials = typed.group_by(keys, maintain_order=True).agg(said, messages, pl.col(others).first())
    texts = [json.dumps([list(one.values()) for one in rows], ensure_ascii=False) for rows in trials["trace"]]
    return trials.with_columns(trace=pl.Series(texts, dtype=pl.String))


@dataclass(frozen=True)
class Told:
    """What a trace tells of a trial. Times are None where the audio was sent faster than it was spoken.

    `audio_s`: seconds of audio that were sent. `first_s` and `last_s`: when the first text and the last final one came,
    on the clock. `taken_back`: words that were shown and then changed or withdrawn. `words`: those of the final texts.
    `cuts`: final texts after which the speaker went on.
    """

    audio_s: float
    first_s: float | None
    last_s: float | None
    taken_back: int
    words: int
    cuts: int


def told(trace: str) -> Told:
    """Return what a stored trace tells.

    >>> told('[[1, 1.1, "so", false], [2, 2.2, "to go", false], [3, 3.3, "to go", true], [4, 4.1, "on", true]]')
    Told(audio_s=4.0, first_s=1.1, last_s=4.1, taken_back=1, words=3, cuts=1)
    """
    messages: list[list[Any]] = json.loads(trace)
    live = all(float(sent) <= float(received) + AHEAD for sent, received, *_ in messages)
    before: list[str] = []
    taken_back = words = finals = 0
    last = None
    for _, received, text, final in messages:
        now = str(text).split()
        same = next((n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), None)
        taken_back += len(before) - (min(len(before), len(now)) if same is None else same)
        before = [] if final else now
        if final and now:
            words, finals, last = words + len(now), finals + 1, float(received)
    first = next((float(received) for _, received, text, _ in messages if text), None)
    audio = max((float(sent) for sent, *_ in messages), default=0.0)
    return Told(audio, first if live else None, last if live else None, taken_back, words, max(finals - 1, 0))
