"""The utterances of a made-up run, with all the columns that a real run has."""

from __future__ import annotations

import polars as pl

SCHEMA = {
    **dict.fromkeys(("id", "audio", "speaker", "text"), pl.String),
    **dict.fromkeys(("start", "duration"), pl.Float64),
}


def whole(corpus: pl.DataFrame) -> pl.DataFrame:
    """Return a corpus with the columns it lacks: recordings that are not there, and nothing else known."""
    filled = pl.concat([pl.DataFrame(schema=SCHEMA), corpus], how="diagonal_relaxed")
    return filled.with_columns(pl.col("audio").fill_null("nowhere.wav"))
