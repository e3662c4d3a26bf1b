"""Beyond the error rate: the audits of transcripts, each beside scoring the same answers with the same normalizer.

Invented words, errors that matter, waiting, and confidence (one of an answer, one of each word), from a table in
memory, with intervals over 200 speakers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from benchmarks.measure import Row, Settings, race, row_of
from benchmarks.score import realistic

import voxaudit
from voxaudit.answer import Answer
from voxaudit.score import score_transcripts

NORMALIZER = "basic"
SPEAKERS = 200


def answers(rows: int) -> pl.DataFrame:
    """Return answers with references, seconds of waiting and of audio, and confidences."""
    generator = np.random.default_rng(0)
    pairs = list(realistic(rows))
    sure = (
        [[word, 0.0, 0.0, round(float(generator.uniform(0.3, 1.0)), 3)] for word in heard.split()]
        for _, heard in pairs
    )
    return pl.DataFrame(
        {
            "utterance": [f"u{row}" for row in range(rows)],
            "speaker": [f"s{row % SPEAKERS}" for row in range(rows)],
            "reference": [said for said, _ in pairs],
            "text": [heard for _, heard in pairs],
            "duration": generator.uniform(2.0, 8.0, rows),
            "seconds": generator.exponential(1.0, rows),
            "confidence": generator.uniform(0.3, 1.0, rows),
            "word_times": [json.dumps(words) for words in sure],
        }
    )


def measure(settings: Settings) -> Iterator[Row]:
    rows, rounds = settings.pick(5_000, 100_000), settings.pick(2, 4)
    table = answers(rows)
    corpus = table.select("speaker", id="utterance", text="reference")
    transcripts = table.select(
        "utterance", "text", scenario=pl.lit("clean"), recognizer=pl.lit("r"), failure=pl.lit("")
    )
    whole = table.drop("word_times")
    calls: dict[str, Callable[[], Answer]] = {
        "invented words": lambda: voxaudit.hallucination(whole, normalizer=NORMALIZER),
        "errors that matter": lambda: voxaudit.keywords(whole, normalizer=NORMALIZER),
        "waiting": lambda: voxaudit.waiting(whole),
        "confidence of answers": lambda: voxaudit.confidence(whole, normalizer=NORMALIZER),
        "confidence of words": lambda: voxaudit.confidence(table, normalizer=NORMALIZER),
    }
    found = race({"": lambda: score_transcripts(transcripts, corpus, NORMALIZER), **calls}, rounds)
    values = {name: [1e6 * one.cpu / rows for one in each] for name, each in found.items()}
    for name in calls:
        yield row_of(
            f"{name}, {rows:,} answers",
            "CPU us per answer",
            values[name],
            values[""],
            peer="scoring the same answers",
            kind="floor",
        )
